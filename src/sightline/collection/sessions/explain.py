"""Explain the score of a picture in a session: contributions of the query and of each judgement.

The learned weights are a linear combination of judged and unjudged rows. A picture's score is
therefore a sum over the judged pictures, coefficient times cosine similarity, plus a remainder that
is due to unjudged pictures. Near-duplicates get equal coefficients: the difference between two
nearly equal rows goes into the remainder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline._typing import Doubles
from sightline.collection.sessions.model import SessionContext, SessionModel
from sightline.collection.sessions.ranking import parts_of
from sightline.records import shown

_SHOWN = 5
# Unit vectors with a cosine above .98 are closer than this.
_APART = 0.2


@dataclass(frozen=True, slots=True)
class JudgementShare:
    """The contribution of one judged picture to the score of another.

    Attributes
    ----------
    picture : int or None
        Id of the judged picture; None for one outside the collection.
    path : bytes
        Its path; empty for a picture outside the collection.
    fits : bool
        Whether it was judged to fit.
    adds : float
        Its contribution to the score.
    alike : float
        The cosine similarity of the two pictures.
    """

    picture: int | None
    path: bytes
    fits: bool
    adds: float
    alike: float


@dataclass(frozen=True, slots=True)
class SessionExplanation:
    """The parts of a picture's score: `untouched`, `rest` and the shares in `because` add up to it.

    Attributes
    ----------
    picture : int
        Id of the explained picture.
    path : bytes
        Its path below the collection's folder.
    score : float
        The sum of all parts.
    untouched : float
        The contribution of the untrained order.
    rest : float
        The contribution of unjudged pictures.
    because : tuple of JudgementShare
        The contributions of judged pictures, the largest first.
    judged : bool or None
        Whether the picture itself was judged to fit; None if it was not judged. A judged picture is
        ranked first or last, unless it is a suspected mislabel.
    slip : bool
        Whether the picture's own judgement is a suspected mislabel.
    """

    picture: int
    path: bytes
    score: float
    untouched: float
    rest: float
    because: tuple[JudgementShare, ...]
    judged: bool | None
    slip: bool = False

    def lines(self) -> list[str]:
        """Return the explanation as text, one part per line."""
        out = [f"{self.untouched:+.3f}  the ranking as it was"]
        for b in self.because[:_SHOWN]:
            what = "like" if b.adds > 0 else "too like" if not b.fits else "unlike"
            kind = "fits" if b.fits else "does not fit"
            name = shown(b.path) if b.path else "the picture asked for"
            out.append(f"{b.adds:+.3f}  {what} {name}, which {kind} (cosine {b.alike:.2f})")
        more = self.because[_SHOWN:]
        if more:
            out.append(f"{sum(b.adds for b in more):+.3f}  {len(more)} other judged pictures")
        if self.because:
            out.append(f"{self.rest:+.3f}  unlike pictures nobody judged")
        if self.judged is not None:
            kind, place = ("fits", "first") if self.judged else ("does not fit", "last")
            then = f"so it stands {place}"
            if self.slip:
                then = "which contradicts the others; to insist, judge it again"
            out.append(f"you said that it {kind}, {then}")
        return out


def explain_picture(
    context: SessionContext,
    model: SessionModel,
    picture: int,
    paths: dict[int, bytes],
    judged: bool = False,
) -> tuple[float, float, tuple[JudgementShare, ...]]:
    """Return the contributions of the untrained order, of the remainder and of each judgement."""
    one, space = np.array([picture]), context.space
    untrained, part = (float(p[0]) for p in parts_of(context, model, one, judged))
    if space is None or model.weights is None or not space.has(one).all():
        return untrained, 0.0, ()
    x = np.asarray(space.rows([picture])[0], np.float64)
    rows = np.asarray(model.rows, np.float64)
    counts = _counts(rows, model.weights)
    similarities = rows @ x
    shares = [
        JudgementShare(
            p, b"" if p is None else paths.get(p, b""), bool(fits), float(c * a), float(a)
        )
        for p, fits, c, a in zip(model.pictures, model.fits, counts, similarities, strict=True)
    ]
    rest = part - sum(b.adds for b in shares)
    return untrained, rest, tuple(sorted(shares, key=lambda b: -abs(b.adds)))


def _counts(rows: Doubles, weights: Doubles) -> Doubles:
    """Return the coefficients of rows that approximate the weights, the minimum-norm solution.

    >>> _counts(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).round(3).tolist()
    [2.0, -1.0]
    >>> _counts(np.array([[1.0, 0.0], [1.0, 1e-7]]), np.array([2.0, -1.0])).round(3).tolist()
    [1.0, 1.0]
    """
    u, s, vt = np.linalg.svd(rows.T, full_matrices=False)
    # Two unit rows at distance d have a singular value of d / sqrt(2).
    keep = s > _APART / np.sqrt(2)
    return np.asarray(vt[keep].T @ ((u.T @ weights)[keep] / s[keep]))
