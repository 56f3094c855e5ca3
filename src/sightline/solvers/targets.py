"""Training targets: queries over a matrix of pictures, from tags or judgements.

Three forms are understood: a table of pictures and words (each word, or each set of words that a
caption holds, is a query), judgements of one row each for a query, and a `QuerySet`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Ints
from sightline.errors import DataError, ParameterError
from sightline.records import QuerySet
from sightline.solvers.graded import Graded, Grading, graded
from sightline.words.queries import caption_queries
from sightline.words.tfidf import idf, query_values

Terms = tuple[int, ...]
_NONE: Ints = np.zeros(0, dtype=np.int64)


class QueryWords(NamedTuple):
    """The vocabulary of a learner: the idf of each word in a query, and its name if it has one.

    The product of a word's idf and its weight in a query, made a unit vector, is the query vector.
    """

    idf: Doubles
    words: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Queries over the rows of a matrix.

    Attributes
    ----------
    queries : QuerySet
        Their words, weights and relevant pictures.
    n_pictures : int
        Rows of the matrix.
    vocabulary : QueryWords
        The vocabulary.
    negative_start, negative : ndarray of int64
        The pictures judged not relevant to query i are `negative[negative_start[i] :
        negative_start[i + 1]]`. Both are empty if all pictures that are not relevant are negative.
    graded : Graded or None
        The pairs of rows with different grades, if grades count; `negative` are then still the rows
        without relevance.
    """

    queries: QuerySet
    n_pictures: int
    vocabulary: QueryWords
    negative_start: Ints = field(default_factory=lambda: _NONE)
    negative: Ints = field(default_factory=lambda: _NONE)
    graded: Graded | None = None

    @property
    def n_words(self) -> int:
        """The size of the vocabulary."""
        return len(self.vocabulary.idf)

    @property
    def n_negative(self) -> Ints:
        """How many pictures are not relevant, by query."""
        if len(self.negative_start):
            return np.diff(self.negative_start)
        return self.n_pictures - np.diff(self.queries.relevant_start)

    @property
    def n_triplets(self) -> Ints:
        """How many triplets can be drawn, by query."""
        if self.graded is not None:
            return self.graded.n_pairs
        return np.diff(self.queries.relevant_start) * self.n_negative


def from_queries(queries: QuerySet, n_pictures: int, n_words: int | None = None) -> Targets:
    """Return targets of given queries, with the weights of words that these have."""
    least = max(int(queries.term.max(initial=-1)) + 1, 1)
    n = least if n_words is None else n_words
    if n < least:
        raise ParameterError.of("n_words", "fit", f"at least {least}", n_words)
    if queries.relevant.max(initial=-1) >= n_pictures or queries.relevant.min(initial=0) < 0:
        wrong = queries.relevant[(queries.relevant < 0) | (queries.relevant >= n_pictures)][0]
        raise DataError(f"A query names picture {wrong}, but the rows of X are {n_pictures}.")
    falls = np.flatnonzero(np.diff(queries.relevant) <= 0) + 1
    if not np.isin(falls, queries.relevant_start).all():
        raise DataError("The pictures of a query must be in ascending order, each of them once.")
    falls = np.flatnonzero(np.diff(queries.term) <= 0) + 1
    if not np.isin(falls, queries.start).all():
        raise DataError("The words of a query must be in ascending order, each of them once.")
    return Targets(queries, n_pictures, QueryWords(np.ones(n)))


def from_indicator(
    y: Any, n_pictures: int, max_len: int = 1, vocabulary: QueryWords | None = None
) -> Targets:
    """Return targets of a table with a row a picture and a column a word, 1 where it fits.

    Every set of at most `max_len` words that a picture has is a query, and all pictures that have
    them are relevant to it. Its words are weighted by their idf in this table or in `vocabulary`.

    >>> t = from_indicator([[1, 1], [0, 1], [0, 0]], 3, max_len=2)
    >>> t.queries.term.tolist(), t.queries.relevant.tolist()
    ([0, 0, 1, 1], [0, 0, 0, 1])
    """
    picture, word, shape = _cells(y)
    if shape[0] != n_pictures:
        raise DataError(
            f"X and y must have a row for each picture. Got {n_pictures} and {shape[0]}."
        )
    if not len(word):
        raise DataError("No picture has a word: y must hold a 1 somewhere.")
    if vocabulary is None:
        vocabulary = QueryWords(idf(np.bincount(word, minlength=shape[1]), n_pictures))
    if len(vocabulary.idf) != shape[1]:
        raise DataError(f"y must have {len(vocabulary.idf)} columns, a word each. Got {shape[1]}.")
    if max_len == 1:
        query_words = _single_words(picture, word)
    else:
        query_words = _word_sets(picture, word, n_pictures, max_len)
    return Targets(query_set(query_words, vocabulary.idf), n_pictures, vocabulary)


def from_judgements(
    y: Any,
    qid: Any,
    n_pictures: int,
    vocabulary: QueryWords | None = None,
    strict: bool = False,
    grades: Grading = "binary",
    unit: float | None = None,
) -> Targets:
    """Return targets of rows that are judged for one query each; above 0 is relevant.

    Parameters
    ----------
    y : array-like
        The relevance of each row.
    qid : array-like
        The query of each row: a number, which is then a word of its own, or a string of words.
    n_pictures : int
        How many rows there should be.
    vocabulary : QueryWords, optional
        The vocabulary; the words of all queries, with equal weights, by default.
    strict : bool, default=False
        Whether a query with other words is an error; else these are ignored.
    grades : {"binary", "linear", "exponential"}, default="binary"
        "binary" asks whether a row is relevant; "linear" and "exponential" also compare relevant
        rows of different grades (`solvers.graded`).
    unit : float, optional
        What differences of grades are measured in; the largest one by default.

    Examples
    --------
    >>> t = from_judgements([1, 0, 1, 0], ["sea", "sea", "red sea", "red sea"], 4)
    >>> t.vocabulary.words, t.queries.term.tolist()
    (('red', 'sea'), [0, 1, 1])
    >>> t.queries.relevant.tolist(), t.negative.tolist()
    ([2, 0], [3, 1])
    """
    judged, names = _grades(y), _names(qid)
    if judged.shape != (n_pictures,) or names.shape != (n_pictures,):
        lengths = f"{n_pictures}, {judged.shape} and {names.shape}"
        raise DataError(f"X, y and qid must be of one length. Got {lengths}.")
    unique, which = np.unique(names, return_inverse=True)
    if names.dtype.kind == "U":
        terms, vocabulary = _worded(unique, vocabulary, strict)
    else:
        terms, vocabulary = _numbered(unique, vocabulary, strict)
    fits = judged > 0
    relevant = _grouped(which[fits], np.flatnonzero(fits), len(unique))
    start, other = _flat(_grouped(which[~fits], np.flatnonzero(~fits), len(unique)))
    queries = query_set(zip(terms, relevant, strict=True), vocabulary.idf)
    pairs = None if grades == "binary" else graded(judged, which, len(unique), grades, unit)
    return Targets(queries, n_pictures, vocabulary, start, other, pairs)


def query_set(queries: Iterable[tuple[Iterable[int], Iterable[int]]], idf: Doubles) -> QuerySet:
    """Return queries, each given as its words and its relevant pictures, as unit vectors."""
    terms, fits = [], []
    for words, pictures in queries:
        terms.append(sorted(set(words)))
        fits.append(np.fromiter(pictures, dtype=np.int64))
    start = np.zeros(len(terms) + 1, dtype=np.int64)
    np.cumsum([len(words) for words in terms], out=start[1:])
    term = np.fromiter((t for words in terms for t in words), np.int64, int(start[-1]))
    if len(term) and not (term.min() >= 0 and term.max() < len(idf)):
        wrong = int(term.min() if term.min() < 0 else term.max())
        raise ParameterError.of("words", "query_set", f"below {len(idf)}, not negative", wrong)
    weight = query_values(start, np.asarray(idf)[term])
    # Words that count nothing are left out.
    kept = weight > 0
    start = _counted(kept)[start]
    relevant_start, fit = _flat(fits)
    return QuerySet(start, term[kept], weight[kept], relevant_start, fit)


def _counted(kept: NDArray[np.bool_]) -> Ints:
    """Return how many are kept before each position, and after the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)])


def _cells(y: Any) -> tuple[Ints, Ints, tuple[int, int]]:
    """Return row and column of every cell that is not 0, by rows, and the shape."""
    if hasattr(y, "tocsr"):
        table = y.tocsr()
        table.sum_duplicates()
        rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        filled = table.data != 0
        picture, word, values = rows[filled], table.indices[filled], table.data[filled]
        shape = table.shape
    else:
        dense = np.asarray(y)
        if dense.ndim != 2:
            raise DataError(
                "y must be a table of pictures and words, or come with a qid for each row. "
                f"Got shape {dense.shape}."
            )
        picture, word = np.nonzero(dense)
        values, shape = dense[picture, word], dense.shape
    if not np.equal(values, 1).all():
        raise DataError("y must hold 0 and 1 alone where it is a table of pictures and words.")
    return picture.astype(np.int64), word.astype(np.int64), (int(shape[0]), int(shape[1]))


def _single_words(picture: Ints, word: Ints) -> list[tuple[Terms, Ints]]:
    order = np.lexsort((picture, word))
    words, first = np.unique(word[order], return_index=True)
    parts = np.split(picture[order], first[1:])
    return [((int(w),), p) for w, p in zip(words, parts, strict=True)]


def _word_sets(
    picture: Ints, word: Ints, n_pictures: int, max_len: int
) -> list[tuple[Terms, Ints]]:
    # Names of one width sort as their numbers do, and queries come in the order of their names.
    captions: list[list[str]] = [[] for _ in range(n_pictures)]
    for p, w in zip(picture.tolist(), word.tolist(), strict=True):
        captions[p].append(f"{w:09d}")
    return [
        (tuple(int(name) for name in names), np.array(pictures, dtype=np.int64))
        for names, pictures in caption_queries(enumerate(captions), max_len=max_len)
    ]


def _grades(y: Any) -> Doubles:
    try:
        grades = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("y must be numbers, one for each row, where there is a qid.") from error
    if not np.isfinite(grades).all():
        raise DataError("Every relevance in y must be finite.")
    return grades


def _names(qid: Any) -> NDArray[Any]:
    names = np.asarray(qid)
    if names.dtype.kind == "O" and all(isinstance(name, str) for name in names.flat):
        names = names.astype(np.str_)
    if names.dtype.kind not in "iuU":
        raise DataError(f"qid must be whole numbers or strings. Got {names.dtype}.")
    return names


def _numbered(
    unique: NDArray[Any], vocabulary: QueryWords | None, strict: bool
) -> tuple[list[Terms], QueryWords]:
    """Return queries that are a word each, and the vocabulary."""
    numbers: list[int] = unique.tolist()
    if min(numbers, default=0) < 0:
        raise DataError(f"A qid that is a number must not be negative. Got {min(numbers)}.")
    if vocabulary is None:
        vocabulary = QueryWords(np.ones(max(numbers, default=-1) + 1))
    n = len(vocabulary.idf)
    _check_words([q for q in numbers if q >= n], strict)
    return [(q,) if q < n else () for q in numbers], vocabulary


def _worded(
    unique: NDArray[Any], vocabulary: QueryWords | None, strict: bool
) -> tuple[list[Terms], QueryWords]:
    """Return queries of words as positions, and the vocabulary."""
    split = [str(q).split() for q in unique]
    names = sorted({word for words in split for word in words})
    if vocabulary is None:
        vocabulary = QueryWords(np.ones(len(names)), tuple(names))
    if vocabulary.words is None:
        raise DataError("qid must be numbers, as in the first fit, where words had no names.")
    position = {word: i for i, word in enumerate(vocabulary.words)}
    _check_words([word for word in names if word not in position], strict)
    return [tuple(position[w] for w in words if w in position) for words in split], vocabulary


def _check_words(unknown: Sequence[object], strict: bool) -> None:
    if strict and unknown:
        raise DataError(
            f"{unknown[0]!r} is none of the words of the first fit ({len(unknown)} such in all). "
            "Fit again to learn new words."
        )


def _grouped(group: Ints, value: Ints, n_groups: int) -> list[Ints]:
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
    return list(np.split(value[order], ends))


def _flat(parts: Sequence[Ints]) -> tuple[Ints, Ints]:
    start = np.zeros(len(parts) + 1, dtype=np.int64)
    start[1:] = np.cumsum([len(p) for p in parts])
    return start, np.concatenate(parts).astype(np.int64) if parts else _NONE
