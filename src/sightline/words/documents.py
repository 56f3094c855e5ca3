"""Texts as rows of weighted words, for rankers between texts and pictures.

The value of word i is tf_i idf_i, and rows are L2-normalised (paper C, section 4.1, which leaves
the rest open). If there are more than `n_words` words, the most frequent are kept. Departure: there
is no stop-word list, which would be of one language; words in more than half of the texts, or in
only one, are left out instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Estimator
from sightline.errors import DataError, ParameterError
from sightline.vectors import l2_normalize
from sightline.words.tfidf import idf
from sightline.words.tokens import tokens


class Documents(Estimator):
    """Rows of weighted words, with the vocabulary of the texts it was fitted to.

    Parameters
    ----------
    n_words : int, default=50000
        The most words.
    least_texts : int, default=2
        Minimum number of texts that contain a word.
    most_share : float, default=0.5
        Maximum share of texts that contain a word.
    sublinear : bool, default=False
        Use 1 + log of a word's count in a text, in place of the count.

    Attributes
    ----------
    words_ : tuple of str
        The words in alphabetical order, which is that of columns.
    idf_ : ndarray of float64
        The idf of each word.

    Examples
    --------
    >>> texts = ["the red barn", "the red sea", "a calm sea", "a barn, a sea and the barn"]
    >>> documents = Documents().fit(texts)
    >>> documents.words_
    ('a', 'barn', 'red')
    >>> documents.transform(["Barn! Barn, red", "unknown words"]).toarray().round(2).tolist()
    [[0.0, 0.89, 0.45], [0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        *,
        n_words: int = 50_000,
        least_texts: int = 2,
        most_share: float = 0.5,
        sublinear: bool = False,
    ) -> None:
        self.n_words = n_words
        self.least_texts = least_texts
        self.most_share = most_share
        self.sublinear = sublinear

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Choose words and learn how rare each is. `y` is ignored."""
        self._check()
        holding: Counter[str] = Counter()
        n = 0
        for text in texts:
            holding.update(set(tokens(text)))
            n += 1
        usable = [
            w for w, c in holding.items() if self.least_texts <= c <= max(1, self.most_share * n)
        ]
        if not usable:
            raise DataError(
                f"Of {len(holding)} words of {n} texts none is in at least {self.least_texts} and "
                f"in at most {self.most_share:.0%} of them, so texts cannot be distinguished."
            )
        # The most frequent first, and of equally frequent ones the first in the alphabet.
        most_frequent = sorted(usable, key=lambda w: (-holding[w], w))[: self.n_words]
        self.words_ = tuple(sorted(most_frequent))
        self.idf_: NDArray[np.float64] = idf([holding[w] for w in self.words_], n)
        return self

    def transform(self, texts: Sequence[str]) -> Any:
        """Return a row for each text, scipy's CSR; a text of unknown words alone is all zeros."""
        from scipy.sparse import csr_matrix

        self._check_fitted()
        column = {w: i for i, w in enumerate(self.words_)}
        start, index, value = [0], [], []
        for text in texts:
            counts = Counter(column[w] for w in tokens(text) if w in column)
            times = np.array(list(counts.values()), np.float64)
            if self.sublinear:
                times = 1.0 + np.log(times)
            weights = times * self.idf_[list(counts)]
            value.append(l2_normalize(weights, np.linalg.norm(weights), dtype=np.float64))
            index += list(counts)
            start.append(len(index))
        values = np.concatenate([np.zeros(0), *value])
        rows = csr_matrix((values, index, start), shape=(len(start) - 1, len(column)))
        rows.sort_indices()
        return rows

    def fit_transform(self, texts: Sequence[str], y: object = None) -> Any:
        """Choose words by some texts, and return their rows."""
        return self.fit(texts).transform(texts)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether words were chosen."""
        return hasattr(self, "words_")

    def _check(self) -> None:
        for name in ("n_words", "least_texts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ParameterError.of(name, "Documents", "a whole number of at least 1", value)
        if not 0 < self.most_share <= 1:
            raise ParameterError.of(
                "most_share", "Documents", "above 0 and at most 1", self.most_share
            )
