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
    contribution : float
        Its contribution to the score.
    similarity : float
        The cosine similarity of the two pictures.
    """

    picture: int | None
    path: bytes
    fits: bool
    contribution: float
    similarity: float


@dataclass(frozen=True, slots=True)
class SessionExplanation:
    """The parts of a picture's score: `untrained`, `rest` and the shares in `because` add up to it.

    Attributes
    ----------
    picture : int
        Id of the explained picture.
    path : bytes
        Its path below the collection's folder.
    score : float
        The sum of all parts.
    untrained : float
        The contribution of the untrained order.
    rest : float
        The contribution of unjudged pictures.
    because : tuple of JudgementShare
        The contributions of judged pictures, the largest first.
    judged : bool or None
        Whether the picture itself was judged to fit; None if it was not judged. A judged picture is
        ranked first or last, unless it is a suspected mislabel.
    suspected_mislabel : bool
        Whether the picture's own judgement is a suspected mislabel.
    """

    picture: int
    path: bytes
    score: float
    untrained: float
    rest: float
    because: tuple[JudgementShare, ...]
    judged: bool | None
    suspected_mislabel: bool = False

    def lines(self) -> list[str]:
        """Return the explanation as text, one part per line."""
        out = [f"{self.untrained:+.3f}  the untrained order"]
        for b in self.because[:_SHOWN]:
            how = "similar to" if b.contribution > 0 else "dissimilar to"
            if b.contribution <= 0 and not b.fits:
                how = "too similar to"
            kind = "fits" if b.fits else "does not fit"
            name = shown(b.path) if b.path else "the query picture"
            part = f"{how} {name}, which {kind} (cosine {b.similarity:.2f})"
            out.append(f"{b.contribution:+.3f}  {part}")
        more = self.because[_SHOWN:]
        if more:
            out.append(
                f"{sum(b.contribution for b in more):+.3f}  {len(more)} other judged pictures"
            )
        if self.because:
            out.append(f"{self.rest:+.3f}  unjudged pictures")
        if self.judged is not None:
            kind, place = ("fits", "first") if self.judged else ("does not fit", "last")
            then = f"so it is ranked {place}"
            if self.suspected_mislabel:
                then = "which contradicts the others; to insist, judge it again"
            out.append(f"it was judged: {kind}, {then}")
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
    rest = part - sum(b.contribution for b in shares)
    return untrained, rest, tuple(sorted(shares, key=lambda b: -abs(b.contribution)))


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
