"""The expected likelihood kernel: how likely one picture's descriptors are under the other's model.

Each picture is a Gaussian, or a mixture of some, of its descriptors, and

    k(p, p') = integral of p(v) p'(v) dv = sum_a sum_b w_a w'_b N(m_a; m'_b, S_a + S'_b)

with diagonal covariances S (Jebara and Kondor, "Bhattacharyya and expected likelihood kernels",
2003; Grangier and Bengio, 2008, found one Gaussian best). It is positive definite. With `temper`
rho it is the probability product kernel, the integral of p^rho p'^rho (Jebara, Kondor and Howard,
2004): rho = 1/2 is Bhattacharyya's. `normalised` divides by sqrt(k(p, p) k(p', p')).

One Gaussian has the mean and the variance of the descriptors, no less than a ten-thousandth of the
variance of all pictures'. Mixtures are found by EM from k-means: the result depends on the start,
so two similar pictures may get dissimilar mixtures. That makes mixtures an unstable choice, and one
Gaussian the default.

Departures. Products of densities over a hundred dimensions are extreme: of block descriptors of
photographs, half of the normalised kernels are below exp(-50), and the matrix is nearly the
identity. Tempering reduces the effect of means only, not that of variances, so k can also be raised
to a `power` below 1; `of` estimates one. With it, kernel PAMIR ranked 500 photographs with an AvgP
of .21 after 1,500 others, and of .09 without. But it is no longer guaranteed to be positive
definite: of 600 photographs the least eigenvalue was -0.0017 of the largest. Of mixtures, `temper`
is applied to each pair of components, since the integral has no closed form. Everything is computed
in logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline.errors import DataError, ParameterError
from sightline.similarity._mixtures import mixture

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from sightline.similarity.bags import Bags

_FLOOR = 1e-4
_BUDGET = 32 << 20


@dataclass(frozen=True, slots=True, eq=False)
class GaussianBags:
    """Pictures as mixtures of Gaussians with diagonal covariances.

    Attributes
    ----------
    log_weight : ndarray of shape (pictures, components)
        Minus infinity where a picture has fewer components.
    mean, variance : ndarray of shape (pictures, components, numbers of a descriptor)
        Of the Gaussians.
    floor : ndarray of float64
        The least variance, for each number of a descriptor.

    Examples
    --------
    >>> from sightline.similarity.bags import Bags
    >>> bags = Bags.from_list([[[0.0], [2.0]], [[4.0]]])
    >>> pictures = GaussianBags.of(bags)
    >>> pictures.mean.ravel().tolist(), pictures.variance.ravel().round(6).tolist()
    ([1.0, 4.0], [1.0, 0.000267])
    """

    log_weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    floor: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        bags: Bags,
        n_components: int = 1,
        *,
        floor: ArrayLike | None = None,
        n_iter: int = 50,
        random_state: int = 0,
    ) -> GaussianBags:
        """Return the pictures' Gaussians, or mixtures of `n_components` by `n_iter` steps of EM.

        Pictures to be compared with others should be given those others' `floor`.
        """
        if isinstance(n_components, bool) or not n_components >= 1:
            raise ParameterError.of("n_components", "GaussianBags", "at least 1", n_components)
        least = variance_floor(bags) if floor is None else _checked_floor(floor, bags.dim)
        shape = (len(bags), n_components)
        log_weight = np.full(shape, -np.inf)
        mean, variance = np.zeros((*shape, bags.dim)), np.ones((*shape, bags.dim)) * least
        for i, bag in enumerate(bags):
            if len(bag):
                w, m, v = mixture(bag.astype(np.float64), n_components, least, n_iter, random_state)
                log_weight[i, : len(w)], mean[i, : len(w)], variance[i, : len(w)] = w, m, v
        return cls(log_weight, mean, variance, least)

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> GaussianBags:
        return GaussianBags(self.log_weight[rows], self.mean[rows], self.variance[rows], self.floor)


def variance_floor(bags: Bags) -> NDArray[np.float64]:
    """Return the least variance of each number: a ten-thousandth of that of all descriptors.

    A number that never varies takes the mean of the others', and 1 if none does.
    """
    if not len(bags.values):
        return np.full(bags.dim, _FLOOR)
    spread = bags.values.var(axis=0, dtype=np.float64)
    usual = float(spread[spread > 0].mean()) if spread.any() else 1.0
    return _FLOOR * np.where(spread > 0, spread, usual)


def gaussian_rows(bags: Bags, floor: ArrayLike | None = None) -> NDArray[np.float32]:
    """Return each picture's one Gaussian as a row, [means | logarithms of variances].

    Rows of one length can be used by any kernel or learner of rows. A picture without descriptors
    has zeros.

    >>> from sightline.similarity.bags import Bags
    >>> gaussian_rows(Bags.from_list([[[0.0], [2.0]], []])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    pictures = GaussianBags.of(bags, floor=floor)
    rows = np.hstack([pictures.mean[:, 0], np.log(pictures.variance[:, 0])]).astype(np.float32)
    rows[bags.sizes == 0] = 0.0
    return rows


@dataclass(frozen=True, slots=True)
class LikelihoodKernel:
    """The expected likelihood kernel of pictures that are Gaussians or mixtures.

    Parameters
    ----------
    temper : float
        rho, greater than 0; 1 is the expected likelihood, 1/2 Bhattacharyya's kernel.
    normalised : bool
        Make k(p, p) 1.
    power : float
        The exponent of k, greater than 0; `of` estimates one.

    Examples
    --------
    >>> from sightline.similarity.bags import Bags
    >>> pictures = GaussianBags.of(Bags.from_list([[[-1.0], [1.0]], [[1.0], [3.0]], []]))
    >>> LikelihoodKernel()(pictures).round(3)
    array([[1.   , 0.368, 0.   ],
           [0.368, 1.   , 0.   ],
           [0.   , 0.   , 0.   ]], dtype=float32)
    """

    temper: float = 1.0
    normalised: bool = True
    power: float = 1.0

    def __post_init__(self) -> None:
        for name in ("temper", "power"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise ParameterError.of(name, "LikelihoodKernel", "greater than 0", value)

    @classmethod
    def of(
        cls,
        pictures: GaussianBags,
        *,
        temper: float = 1.0,
        factor: float = 1.0,
        sample: int = 500,
        random_state: int = 0,
    ) -> LikelihoodKernel:
        """Return the kernel that is exp(-factor) for the median of a seeded sample of pairs."""
        if not 0 < factor < np.inf:
            raise ParameterError.of("factor", "LikelihoodKernel", "greater than 0", factor)
        rows = np.flatnonzero(np.isfinite(pictures.log_weight).any(axis=1))
        if len(rows) > sample:
            rng = np.random.default_rng(random_state)
            rows = np.sort(rng.choice(rows, sample, replace=False))
        logs = cls(temper).logs(pictures[rows])[np.triu_indices(len(rows), 1)]
        usual = -float(np.median(logs)) if logs.size else 0.0
        return cls(temper, True, factor / usual if usual > 0 else 1.0)

    def logs(
        self, pictures: GaussianBags, others: GaussianBags | None = None, *, budget: int = _BUDGET
    ) -> NDArray[np.float64]:
        """Return the logarithm of the kernel, (pictures, others); minus infinity for an empty one.

        `budget` is the most bytes of pairs of components in memory.
        """
        right = pictures if others is None else others
        if pictures.mean.shape[2] != right.mean.shape[2]:
            raise DataError(
                "Descriptors must be of one length on both sides. "
                f"Got {pictures.mean.shape[2]} and {right.mean.shape[2]}."
            )
        out = np.empty((len(pictures), len(right)))
        each = max(pictures.mean.shape[1], right.mean.shape[1])
        side = max(1, int((budget / 24) ** 0.5) // each)
        for rows in _blocks(len(pictures), side):
            for columns in _blocks(len(right), side):
                if others is None and columns.start < rows.start:
                    out[rows, columns] = out[columns, rows].T
                else:
                    out[rows, columns] = self._block(pictures[rows], right[columns])
        if others is None:
            for rows in _blocks(len(pictures), side):
                square = out[rows, rows]
                lower = np.tril_indices(len(square), -1)
                square[lower] = square.T[lower]
        if self.normalised:
            self._normalise(out, pictures, others)
        return out * self.power

    def __call__(
        self, pictures: GaussianBags, others: GaussianBags | None = None, *, budget: int = _BUDGET
    ) -> NDArray[np.float32]:
        """Return similarities, (pictures, others); without others, of the pictures themselves."""
        with np.errstate(over="ignore"):
            similarities = np.exp(self.logs(pictures, others, budget=budget)).astype(np.float32)
        if not np.isfinite(similarities).all():
            raise DataError(
                "Densities are too large for float32. Set normalised=True, or use `logs`."
            )
        return similarities

    def _normalise(
        self, out: NDArray[np.float64], pictures: GaussianBags, others: GaussianBags | None
    ) -> None:
        self_similarity = self._own(pictures)
        out -= 0.5 * self_similarity[:, None]
        out -= 0.5 * (self_similarity if others is None else self._own(others))[None, :]
        if others is None:
            np.fill_diagonal(out, np.where(np.isneginf(out.diagonal()), -np.inf, 0.0))
        # No two pictures are more similar than either is to itself (Cauchy and Schwarz).
        np.minimum(out, 0.0, out=out)

    def _own(self, pictures: GaussianBags) -> NDArray[np.float64]:
        """Return log k(p, p) of each picture; 0 for an empty one, whose kernel stays 0."""
        rows = (pictures[i : i + 1] for i in range(len(pictures)))
        self_similarity = np.array([self._block(p, p)[0, 0] for p in rows]).reshape(len(pictures))
        return np.where(np.isneginf(self_similarity), 0.0, self_similarity)

    def _block(self, a: GaussianBags, b: GaussianBags) -> NDArray[np.float64]:
        from sightline.similarity._likelihood_fast import log_overlaps

        (n, each, dim), (m, other, _) = a.mean.shape, b.mean.shape
        pairs = np.empty((n * each, m * other))
        log_overlaps(
            a.mean.reshape(-1, dim),
            a.variance.reshape(-1, dim),
            b.mean.reshape(-1, dim),
            b.variance.reshape(-1, dim),
            self.temper,
            pairs,
        )
        pairs += self._share(a)[:, None]
        pairs += self._share(b)[None, :]
        if each == other == 1:
            return pairs
        return _log_sum(pairs.reshape(n, each, m, other).transpose(0, 2, 1, 3).reshape(n, m, -1))

    def _share(self, pictures: GaussianBags) -> NDArray[np.float64]:
        """Return the logarithm of each component's weight and half of its normalisation."""
        v, rho = pictures.variance, self.temper
        constant = 0.5 * (1 - 2 * rho) * np.log(2 * np.pi) - 0.5 * np.log(rho)
        each = constant + 0.5 * np.log(v / 2) - rho * np.log(v)
        shares: NDArray[np.float64] = rho * pictures.log_weight + 0.5 * each.sum(axis=2)
        return shares.reshape(-1)


def _log_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(sum(exp)) over the last axis; minus infinity where all are.

    >>> _log_sum(np.array([[-1000.0, -1000.0], [-np.inf, -np.inf]])).round(3).tolist()
    [-999.307, -inf]
    """
    largest = values.max(axis=-1)
    base = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.asarray(base + np.log(np.exp(values - base[..., None]).sum(axis=-1)))


def _checked_floor(floor: ArrayLike, dim: int) -> NDArray[np.float64]:
    least = np.broadcast_to(np.asarray(floor, dtype=np.float64), (dim,)).copy()
    if not (np.isfinite(least) & (least > 0)).all():
        raise ParameterError.of("floor", "GaussianBags", "greater than 0", floor)
    return least


def _blocks(n: int, side: int) -> Iterator[slice]:
    for start in range(0, n, side):
        yield slice(start, min(start + side, n))
