"""CMTT: a table that translates visual terms into words, from pictures that hold both.

Pan, Yang, Duygulu and Faloutsos, "Automatic image captioning", ICME 2004, as used by Grangier and
Bengio, "A discriminative kernel-based model to rank images from text queries", 2008. Each word and
each visual term is a column of M over the training pictures, with weights tf log(N / df). M is
approximated by a lower rank, which removes noise, and columns t', v' of that are compared:

    P(t|v) = max(cos(t', v'), 0) / sum_u max(cos(u', v'), 0)        P(t|p) = sum_v P(t|v) n_v / n

With U the first singular directions of M over pictures, t' is U U't, so that cosines need no more
than U'M, and any basis of the same space gives the same.

Departures: the paper does not mention cosines below 0, which would be no probabilities: they count
as 0. A visual term that goes with no word has the uniform distribution over words. Visual terms
that no training picture has are dropped, and training pictures without words are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from sightline.annotators._counts import CountAnnotator, Counts, as_pairs, blocks, check_whole
from sightline.errors import ParameterError
from sightline.vectors import l2_normalize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline._typing import Doubles


Weighting = Literal["tf-idf", "tf"]
# Iterating for a few directions is faster than finding all, until they are not few.
_SMALL_SIDE, _FEW = 600, 0.1
_SPARE = 100
# A column below this share of its former length is rounding error.
_ROUNDING = 1e-8


class CMTT(CountAnnotator):
    """P(t|p) as the mean translation of the visual terms of p.

    Parameters
    ----------
    rank : int, default=50
        Directions that are kept of the pictures' space. With as many as pictures, or as words and
        visual terms, columns are compared as they are.
    clip : bool, default=True
        Let cosines below 0 count as 0. Otherwise the formula is taken as it stands: a row still
        sums to 1, but may hold negative numbers.
    weighting : {"tf-idf", "tf"}, default="tf-idf"
        "tf-idf", or "tf" to let rare and frequent terms count equally.
    random_state : int, default=0
        Seed of the first guess at the directions.

    Attributes
    ----------
    classes_ : ndarray of shape (words,)
        The label of each word; its position, where y was a table.
    translation_ : ndarray
        P(t|v), (visterms, words), float32; zeros for a visual term no training picture has.
    rank_ : int
        Directions that were kept.
    n_visterms_, n_words_ : int
        Columns of X and Y.

    Examples
    --------
    >>> X, Y = [[3, 0, 1], [0, 2, 1], [0, 3, 0]], [[1, 0], [0, 1], [0, 1]]
    >>> model = CMTT(rank=2).fit(X, Y)
    >>> model.decision_function([[2, 0, 0], [0, 1, 1], [0, 0, 0]]).round(2)
    array([[1.  , 0.  ],
           [0.31, 0.69],
           [0.5 , 0.5 ]], dtype=float32)
    """

    GRID: ClassVar[tuple[dict[str, float | int], ...]] = tuple(
        {"rank": rank} for rank in (20, 50, 100, 200, 400)
    )
    """Hyperparameters worth validating; the paper's are 50 and, of 15,000 pictures, 1,000."""

    def __init__(
        self,
        *,
        rank: int = 50,
        clip: bool = True,
        weighting: Weighting = "tf-idf",
        random_state: int = 0,
    ) -> None:
        self.rank = rank
        self.clip = clip
        self.weighting = weighting
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from counts X of visual terms and the words y pictures have, 0 or 1.

        y may also be one label for each picture, which is then a word.
        """
        from scipy.sparse import hstack

        self._check()
        counts, words, has_word, self.classes_ = as_pairs(X, y, "CMTT")
        self.n_visterms_, self.n_words_ = counts.shape[1], words.shape[1]
        M = self._weighted(hstack([words, counts[has_word]], format="csr"))
        U = _directions(M, self.rank, self.random_state)
        self.rank_ = U.shape[1]
        factors = _without_rounding(np.asarray(M.T @ U), np.sqrt((M * M).sum(axis=0)))
        self.translation_ = self._translated(factors)
        self.translation_[counts[has_word].sum(axis=0) == 0] = 0.0
        return self

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the table."""
        self._check_fitted()
        return {"translation": self.translation_}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model that `to_arrays` described; its parameters are the default ones."""
        model = cls()
        model.translation_ = arrays["translation"]
        model.n_visterms_, model.n_words_ = model.translation_.shape
        model.classes_ = np.arange(model.n_words_)
        return model

    def _weighted(self, counts: Counts) -> Counts:
        if self.weighting == "tf-idf":
            df = np.bincount(counts.indices, minlength=counts.shape[1])
            idf = np.log(counts.shape[0] / np.maximum(df, 1))
            counts.data *= idf[counts.indices]
            counts.eliminate_zeros()
        return counts

    def _translated(self, factors: Doubles) -> NDArray[np.float32]:
        """Return P(t|v), given words and then visual terms as unit vectors, or 0."""
        table = np.empty((self.n_visterms_, self.n_words_), dtype=np.float32)
        words, visterms = factors[: self.n_words_], factors[self.n_words_ :]
        for rows in blocks(len(table)):
            cosines = visterms[rows] @ words.T
            if self.clip:
                np.maximum(cosines, 0.0, out=cosines)
            size = np.abs(cosines).sum(axis=1)
            total = cosines.sum(axis=1)
            # Cosines of rounding, and sums that negative ones bring down to it, have no
            # information.
            significant = (size > _ROUNDING) & (total > _ROUNDING * size)
            table[rows] = 1.0 / self.n_words_
            table[rows][significant] = cosines[significant] / total[significant, None]
        return table

    def _probabilities(self, counts: Counts, words: NDArray[np.int64]) -> Doubles:
        # Only these rows are converted to float64, not the whole table.
        present = np.unique(counts.indices)
        counts, rows = counts[:, present], self.translation_[present]
        n_known = counts @ rows.any(axis=1).astype(np.float64)
        mixed: Doubles = counts @ rows[:, words].astype(np.float64)
        mixed /= np.where(n_known > 0, n_known, 1.0)[:, None]
        mixed[n_known == 0] = 1.0 / self.n_words_
        return mixed

    def _check(self) -> None:
        check_whole("rank", "CMTT", self.rank)
        check_whole("random_state", "CMTT", self.random_state, least=0)
        if not isinstance(self.clip, bool | np.bool_):
            raise ParameterError.of("clip", "CMTT", "True or False", self.clip)
        if self.weighting not in ("tf-idf", "tf"):
            raise ParameterError.of("weighting", "CMTT", "'tf-idf' or 'tf'", self.weighting)


def _directions(M: Counts, rank: int, random_state: int) -> Doubles:
    """Return the strongest left singular vectors of M, in falling order, (pictures, rank)."""
    small = min(M.shape)
    n_kept = min(rank, small)
    if small <= _SMALL_SIDE or n_kept > _FEW * small:
        U = _exact_directions(M, n_kept)
    else:
        from scipy.sparse.linalg import svds

        guess = np.random.default_rng(random_state).standard_normal(small)
        spare = min(n_kept + _SPARE, small - 1)
        svd = svds(M, k=n_kept, ncv=spare, v0=guess, return_singular_vectors="u")
        U = svd[0][:, ::-1]
    # A basis may point either way; this is the same on every machine.
    largest = np.abs(U).argmax(axis=0)
    return np.asarray(U * np.sign(U[largest, np.arange(U.shape[1])]))


def _exact_directions(M: Counts, n_kept: int) -> Doubles:
    from scipy.linalg import eigh

    tall = M.shape[0] > M.shape[1]
    gram = (M.T @ M if tall else M @ M.T).toarray()
    n = len(gram)
    _, vectors = eigh(gram, subset_by_index=[n - n_kept, n - 1], overwrite_a=True)
    strongest: Doubles = vectors[:, ::-1]
    if not tall:
        return strongest
    left = M @ strongest
    lengths = np.sqrt(np.square(left).sum(axis=0))
    real = lengths > _ROUNDING * max(lengths.max(initial=0.0), np.finfo(np.float64).tiny)
    return np.asarray(left[:, real] / lengths[real])


def _without_rounding(rows: Doubles, norms_before: Doubles) -> Doubles:
    """Return L2-normalised rows; those of which only rounding is left are 0."""
    norms = np.linalg.norm(rows, axis=1)
    norms[norms <= _ROUNDING * norms_before] = 0.0
    rows[norms == 0] = 0.0
    return np.asarray(l2_normalize(rows, norms, dtype=np.float64))
