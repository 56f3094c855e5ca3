"""Why a picture stands where it does in a session: the query's share, and each judgement's.

The weights that were learnt are a sum of judged rows and of rows nobody judged, so what they give a
picture is a sum over judged pictures, how much each of them counts times how alike the two are, and
a rest that is owed to what the collection looks like elsewhere. Pictures that are nearly the same
count alike: a difference between two rows that is too small to see is owed to the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.collection.sessions.feature_space import Doubles
from sightline.collection.sessions.model import SessionContext, SessionModel
from sightline.collection.sessions.ranking import parts_of
from sightline.records import shown

_SHOWN = 5
# Unit rows whose cosine is above .98 differ by less than this.
_APART = 0.2


@dataclass(frozen=True, slots=True)
class JudgementShare:
    """What one judged picture adds to the score of another; `picture` is None for one outside."""

    picture: int | None
    path: bytes
    fits: bool
    adds: float
    alike: float


@dataclass(frozen=True, slots=True)
class SessionExplanation:
    """Why a picture has its score: `untouched`, `rest` and the shares in `because` add up to it.

    `rest` is how it stands out from pictures nobody judged. `judged` says whether the picture
    itself was judged to fit, None if it was not judged; then it stands first or last, unless the
    judgement is taken for a `slip`.
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
        """Return it in words, the largest shares first."""
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
    """Return what the untouched ranking adds to a score, what the rest does, and each judgement."""
    one, space = np.array([picture]), context.space
    own, part = (float(p[0]) for p in parts_of(context, model, one, judged))
    if space is None or model.weights is None or not space.has(one).all():
        return own, 0.0, ()
    x = np.asarray(space.rows([picture])[0], np.float64)
    rows = np.asarray(model.rows, np.float64)
    counts = _counts(rows, model.weights)
    alike = rows @ x
    found = [
        JudgementShare(
            p, b"" if p is None else paths.get(p, b""), bool(fits), float(c * a), float(a)
        )
        for p, fits, c, a in zip(model.pictures, model.fits, counts, alike, strict=True)
    ]
    rest = part - sum(b.adds for b in found)
    return own, rest, tuple(sorted(found, key=lambda b: -abs(b.adds)))


def _counts(rows: Doubles, weights: Doubles) -> Doubles:
    """Return how much each row counts in weights, the least sum of squares that gives their part.

    >>> _counts(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])).round(3).tolist()
    [2.0, -1.0]
    >>> _counts(np.array([[1.0, 0.0], [1.0, 1e-7]]), np.array([2.0, -1.0])).round(3).tolist()
    [1.0, 1.0]
    """
    u, s, vt = np.linalg.svd(rows.T, full_matrices=False)
    # Two rows at a distance d have a singular value of d / sqrt(2).
    keep = s > _APART / np.sqrt(2)
    return np.asarray(vt[keep].T @ ((u.T @ weights)[keep] / s[keep]))
