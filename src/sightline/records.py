"""Small frozen records that packages exchange.

`Batch` carries arrays and `Judgement` carries feedback. Paths are bytes, as file names are on
Linux; only pictures, store, collection, cli and web use them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def shown(path: bytes) -> str:
    r"""Return a path as text that is safe to print and can be turned back into the same bytes.

    Bytes that are not UTF-8, control characters, line breaks and invisible direction marks are
    written as backslash escapes.

    >>> shown("café/1.jpg".encode())
    'café/1.jpg'
    >>> shown(b"a\nb\xff.jpg")
    'a\\nb\\xff.jpg'
    """
    text = os.fsdecode(path)
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(_escaped(c) for c in text)


def _escaped(c: str) -> str:
    if c == "\\":
        return "\\\\"
    if "\udc80" <= c <= "\udcff":
        return f"\\x{ord(c) - 0xDC00:02x}"
    return c if c.isprintable() else c.encode("unicode_escape").decode()


# How reasons end for formats that are never read.
NOT_SUPPORTED = "files are not supported"
ARE_PROGRAMS = "because they can contain programs"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not indexed.

    Attributes
    ----------
    path : bytes
        Relative to the collection.
    kind : str
        One of empty, unreadable, format, broken, too-large, memory, timeout, crash, special.
    reason : str
        A message that a user can act on.
    """

    path: bytes
    kind: str
    reason: str

    @property
    def by_rule(self) -> bool:
        """Whether a rule leaves it out, such as links; otherwise it is a picture that failed."""
        return self.kind == "special" or (
            self.kind == "format" and self.reason.endswith((NOT_SUPPORTED, ARE_PROGRAMS))
        )

    def to_dict(self) -> dict[str, str]:
        """Return it as plain values; `os.fsencode` restores the path."""
        return {"path": os.fsdecode(self.path), "kind": self.kind, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Tags:
    """Words of one picture from one source.

    Attributes
    ----------
    source : str
        Where the words were read, such as "iptc" or "xmp".
    tags : tuple of str
        Separate labels, each of one or more words.
    text : str
        Running text: a caption.
    """

    source: str
    tags: tuple[str, ...] = ()
    text: str = ""


# Left, top, width and height as fractions of the upright picture.
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class ProposedWord:
    """A word that a model proposes for a picture, its probability, and its box if known."""

    word: str
    confidence: float
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judgement whether a picture is relevant to a query.

    Caption words, tags, clicks and answers in a session all become judgements.
    """

    query: str
    picture: int
    relevance: float
    source: str
    seq: int


@dataclass(frozen=True, slots=True)
class SimilarityJudgement:
    """A judgement whether a picture is similar to another picture, the query."""

    query: int
    picture: int
    similar: bool
    source: str
    seq: int


@dataclass(frozen=True, slots=True)
class ClickedList:
    """An impression: the pictures shown for a query, and which of them were clicked.

    `ranks` are the ranks at which the pictures were shown, starting at 1. `eta` is the exponent of
    the position bias: how fast the probability of examination falls with the rank.
    """

    query: str
    pictures: tuple[int, ...]
    ranks: tuple[int, ...]
    clicked: frozenset[int]
    eta: float
    session: str
    seq: int


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """One row of a feature for each picture of a batch; `name` is the feature's fingerprint."""

    name: str
    rows: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SparseRows:
    """A feature matrix in CSR form, such as counts of visual words.

    Row i has the values `value[start[i] : start[i + 1]]` in the columns
    `index[start[i] : start[i + 1]]`.
    """

    name: str
    length: int
    start: NDArray[np.int64]
    index: NDArray[np.int32]
    value: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """Pictures to be written to the store: ids, term ids, thumbnails and features."""

    ids: NDArray[np.int64]
    terms: tuple[tuple[int, ...], ...]
    thumbnails: tuple[bytes, ...]
    features: tuple[FeatureRows | SparseRows, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class QuerySet:
    """Queries over a vocabulary, each with its relevant pictures, in CSR form.

    Words are columns of the vocabulary, pictures are rows of the feature matrix. Query i has the
    words `term[start[i] : start[i + 1]]`, ascending, with their weights, and the relevant pictures
    `relevant[relevant_start[i] : relevant_start[i + 1]]`, ascending. All others are irrelevant.
    """

    start: NDArray[np.int64]
    term: NDArray[np.int64]
    weight: NDArray[np.float32]
    relevant_start: NDArray[np.int64]
    relevant: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def n_relevant(self) -> NDArray[np.int64]:
        """How many pictures are relevant, by query."""
        return self.relevant_start[1:] - self.relevant_start[:-1]

    def terms_of(self, query: int) -> NDArray[np.int64]:
        """Return the words of one query."""
        return self.term[self.start[query] : self.start[query + 1]]

    def relevant_to(self, query: int) -> NDArray[np.int64]:
        """Return the pictures relevant to one query."""
        return self.relevant[self.relevant_start[query] : self.relevant_start[query + 1]]


@dataclass(frozen=True, slots=True)
class DenseQuery:
    """Weights over one feature; pictures are ranked by the inner product with them.

    With `by` "cosine" the inner product is divided by the norm of the feature vector unless that is
    0. With "distance" pictures are ranked by 2 w.x - |x|^2, which is the order of their Euclidean
    distance to w.
    """

    feature: str
    weights: NDArray[np.float32]
    by: Literal["product", "cosine", "distance"] = "product"


@dataclass(frozen=True, slots=True)
class SparseQuery:
    """Weights over term ids; only pictures with at least one of the terms have a score.

    `forms` are the ids of all tags that count as each term; without it, those of the term alone.
    """

    terms: NDArray[np.int64]
    weights: NDArray[np.float32]
    forms: tuple[NDArray[np.int64], ...] | None = None

    @property
    def groups(self) -> tuple[NDArray[np.int64], ...]:
        """For each term the ids that count as it."""
        return _groups(self.terms, self.forms)


@dataclass(frozen=True, slots=True, eq=False)
class WordUpdate:
    """What answers since the training change in the published scores of one word.

    A picture's number moves by sum_i `coefficients[i]` k(`codes[i]`, its code), where k is
    exp(-`gamma` (1 - cos)) in the compact space of the model (`similarity.compact`).

    Attributes
    ----------
    codes : ndarray of uint8
        The pictures that were answered, as points of the space.
    coefficients : ndarray of float32
        What each adds to numbers at its own place.
    gamma : float
        Of the kernel.
    of_logits : bool
        Whether published numbers are logs of probabilities, which move by their logit.
    ids, numbers : ndarray
        Pictures, ascending, whose number is known, and these numbers.
    """

    codes: NDArray[np.uint8]
    coefficients: NDArray[np.float32]
    gamma: float
    of_logits: bool
    ids: NDArray[np.int64]
    numbers: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WordQuery:
    """Weights over words for which a model has published the scores of all pictures.

    A picture that is tagged with word i gets the score `known[i]` for it. Only pictures that the
    model has scored have a score. `forms` are the ids of all tags that count as each word; without
    it, those of the word alone. `updates` are what answers since the training change, by word.
    """

    terms: NDArray[np.int64]
    weights: NDArray[np.float32]
    known: NDArray[np.float32]
    forms: tuple[NDArray[np.int64], ...] | None = None
    updates: Mapping[int, WordUpdate] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[NDArray[np.int64], ...]:
        """For each word the ids of tags that count as it."""
        return _groups(self.terms, self.forms)


def _groups(
    terms: NDArray[np.int64], forms: tuple[NDArray[np.int64], ...] | None
) -> tuple[NDArray[np.int64], ...]:
    return tuple(terms[i : i + 1] for i in range(len(terms))) if forms is None else forms


@dataclass(frozen=True, slots=True)
class Top:
    """The best pictures for a query, best first; ties by ascending picture id."""

    ids: NDArray[np.int64]
    scores: NDArray[np.float32]


# In place of a probability, where too few held-out pictures measure a word.
NOT_YET_PROVEN = "not yet proven"
MatchKind = Literal["exact", "predicted", "partial", "suggested", "similar"]


def percent(share: float) -> str:
    """Return a probability or a share for people; only what is certain is 0 or 100.

    >>> percent(0.841), percent(0.002), percent(0.998), percent(1.0)
    ('84 %', '< 1 %', '> 99 %', '100 %')
    """
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result.

    Attributes
    ----------
    picture : int
        The id of the picture.
    path : bytes
        Relative to the collection.
    score : float
        Best first, for programs: that of an exact match is above 1, and only those of one kind of
        match compare. People are shown `label`.
    match : str
        "exact" if the picture is tagged with every word of the query, "predicted" if a model ranked
        it, "partial" if it is tagged with some of the words, "suggested" if a network trained on
        other pictures ranked it, "similar" if the query was a picture.
    root : bytes
        The folder of the collection.
    learned : bool
        Whether a model contributed to the score.
    probability : float or None
        The calibrated probability that the picture fits, of a prediction or suggestion by words
        alone; None for a word that is not yet proven.
    proven : bool
        False for a prediction by a word that too few held-out pictures have measured, so that its
        probability would claim too much.
    """

    picture: int
    path: bytes
    score: float
    match: MatchKind
    root: bytes = field(default=b"", repr=False, compare=False)
    learned: bool = field(default=False, repr=False)
    probability: float | None = None
    proven: bool = field(default=True, repr=False)

    @property
    def label(self) -> str:
        """The one thing that people are shown: the kind of match, or how sure or similar it is.

        >>> Hit(1, b"a.jpg", 1.6, "exact").label, Hit(1, b"a.jpg", 0.3, "partial").label
        ('exact', 'partial')
        >>> Hit(1, b"a.jpg", 0.8, "predicted", probability=0.841).label
        '84 %'
        >>> Hit(1, b"a.jpg", 0.8, "predicted", proven=False).label
        'not yet proven'
        >>> Hit(1, b"a.jpg", 0.8, "suggested", probability=0.8).label
        'suggested 80 %'
        >>> Hit(1, b"a.jpg", 0.8123, "similar").label
        '0.812'
        """
        if self.match == "similar":
            return f"{self.score:.3f}"
        if self.match == "predicted" and not self.proven:
            return NOT_YET_PROVEN
        if self.match == "predicted" and self.probability is not None:
            return percent(self.probability)
        if self.match == "suggested" and self.probability is not None:
            return f"suggested {percent(self.probability)}"
        return self.match

    @property
    def name(self) -> str:
        """The path as text; `os.fsencode` gives the same bytes back."""
        return os.fsdecode(self.path)

    @property
    def file(self) -> Path:
        """The path of the picture's file."""
        return Path(os.fsdecode(os.path.join(self.root, self.path)))

    @property
    def tagged(self) -> bool:
        """Whether the picture is tagged with every word of the query."""
        return self.match == "exact"

    def to_dict(self, root: bytes = b"") -> dict[str, str | int | float | bool | None]:
        """Return the hit as JSON; `path` lies below `root`.

        `picture`, `tagged` and `learnt` are names of earlier releases.
        """
        return {
            "id": self.picture, "path": os.fsdecode(os.path.join(root, self.path)),
            "score": self.score, "match": self.match, "probability": self.probability,
            "proven": self.proven,
            "picture": self.picture, "tagged": self.tagged, "learnt": self.learned,
        }  # fmt: skip
