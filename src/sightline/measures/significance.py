"""Paired tests of two rankers over the same queries.

Both tests are two-sided and drop queries on which the two do not differ. A query without a value
(NaN) for either is left out: it is NaN for both, since it has no relevant picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.errors import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Equal measures summed in another order differ in the last bits; that is no difference.
_DECIMALS = 12
_CELLS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The outcome of a paired test.

    Attributes
    ----------
    test : str
        "wilcoxon" or "randomisation".
    n : int
        Queries used, those that differ.
    p : float
        Two-sided; 1 if nothing differs.
    helped, harmed : int
        Queries on which the new values are above, below the old.
    difference : float
        Mean of new - old over all queries that have a value.
    """

    test: str
    n: int
    p: float
    helped: int
    harmed: int
    difference: float

    @property
    def significant(self) -> bool:
        """True at the 95 % level."""
        return self.p < 0.05


def p_text(p: float) -> str:
    """Return a p-value for people.

    >>> p_text(0.0), p_text(0.04123)
    ('< .0001', '.0412')
    """
    return "< .0001" if p < 1e-4 else f"{p:.4f}".removeprefix("0")


def wilcoxon(new: ArrayLike, old: ArrayLike) -> PairedTest:
    """Run the Wilcoxon signed-rank test on per-query values.

    Parameters
    ----------
    new, old : array-like
        One value per query, in the same order, such as `Measured.values`.

    Examples
    --------
    >>> found = wilcoxon([0.5, 0.6, 0.7, 0.8, 0.9, 0.3], [0.4, 0.4, 0.4, 0.4, 0.4, 0.3])
    >>> found.n, found.p, found.helped, found.harmed
    (5, 0.0625, 5, 0)
    """
    differences = _differences(new, old)
    used = differences[differences != 0]
    return _outcome("wilcoxon", differences, _wilcoxon_p(used) if used.size else 1.0)


def randomisation(
    new: ArrayLike, old: ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> PairedTest:
    """Run Fisher's randomisation test on the mean difference.

    If the two rankers were equally good, each query's difference could have either sign. All 2^n
    sign patterns are tried when there are at most `permutations` of them; otherwise that many are
    drawn.

    Parameters
    ----------
    new, old : array-like
        One value per query, in the same order.
    permutations : int, default=10000
        Sign patterns to try at most.
    seed : int, default=0
        Of the drawing; the same seed gives the same p.

    Examples
    --------
    >>> randomisation([0.5, 0.6, 0.7], [0.4, 0.4, 0.4]).p
    0.25
    """
    if isinstance(permutations, bool) or permutations < 1:
        raise ParameterError.of("permutations", "randomisation", "at least 1", permutations)
    differences = _differences(new, old)
    used = differences[differences != 0]
    return _outcome("randomisation", differences, _sign_flip_p(used, permutations, seed))


def _differences(new: ArrayLike, old: ArrayLike) -> NDArray[np.float64]:
    a, b = np.asarray(new, dtype=np.float64), np.asarray(old, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(
            "Paired values must be two rows of one length, one value for each query. "
            f"Got shapes {a.shape} and {b.shape}."
        )
    odd = np.flatnonzero((np.isnan(a) != np.isnan(b)) | np.isinf(a) | np.isinf(b))
    if odd.size:
        raise DataError(
            f"Query {odd[0]} has a value for only one of the two, or an infinite one: "
            f"{a[odd[0]]} and {b[odd[0]]}. Evaluate both on the same queries."
        )
    return np.round((a - b)[~np.isnan(a)], _DECIMALS)


def _outcome(test: str, differences: NDArray[np.float64], p: float) -> PairedTest:
    helped, harmed = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    mean = float(differences.mean()) if differences.size else 0.0
    return PairedTest(test, helped + harmed, p, helped, harmed, mean)


def _wilcoxon_p(used: NDArray[np.float64]) -> float:
    # scipy.stats takes most of a second to import; searching never needs it.
    from scipy import stats

    return float(stats.wilcoxon(used, method="auto").pvalue)


def _sign_flip_p(used: NDArray[np.float64], permutations: int, seed: int) -> float:
    n = used.size
    observed = abs(used.sum())
    # Sums of the same numbers in another order may fall just short of the observed one.
    bar = observed - 1e-9 * np.abs(used).sum()
    if n < 63 and 2**n <= permutations:
        sums = _all_signs(n) @ used
        return float(np.mean(np.abs(sums) >= bar))
    reached = sum(int(np.sum(np.abs(s) >= bar)) for s in _drawn_sums(used, permutations, seed))
    # The observed pattern is one of the possible ones, so p is never 0.
    return (1 + reached) / (1 + permutations)


def _all_signs(n: int) -> NDArray[np.float64]:
    bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    return np.where(bits == 1, -1.0, 1.0)


def _drawn_sums(
    used: NDArray[np.float64], permutations: int, seed: int
) -> list[NDArray[np.float64]]:
    generator = np.random.default_rng(seed)
    rows = max(1, _CELLS_AT_ONCE // used.size)
    sums = []
    for start in range(0, permutations, rows):
        shape = (min(rows, permutations - start), used.size)
        sums.append((1.0 - 2.0 * generator.integers(0, 2, shape)) @ used)
    return sums
