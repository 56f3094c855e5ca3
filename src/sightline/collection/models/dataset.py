"""The data set that word models are fitted to: pictures, their words and their features.

Tags and judgements weigh the same. A picture that was judged to fit a query has the words of
that query; one that was judged not to fit a single word does not have it.

A picture without tags says nothing about ordinary words, since its owner may not have tagged it
yet. Words that were saved from a session are different: the session ranked the whole collection, so
such a word is learned against other pictures as well. Those judged not to fit are negatives, the
rest, of which some are drawn, are `unlabelled`. Both count for saved words only.

Rows of a feature are L2-normalised before they are learned from. Counts of visual words are first
weighted by tf-idf; these weights come from the training pictures and are stored with the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline import plugins
from sightline._typing import Bools, Floats, Ints
from sightline.collection.features import common_features, is_sparse
from sightline.collection.models.aliases import NO_ALIASES, Aliases, always_together
from sightline.collection.models.evidence import (
    LEAST_PICTURES,
    NO_EVIDENCE,
    Evidence,
    PicturePairs,
)
from sightline.collection.models.memory import bytes_in_memory, gigabytes
from sightline.errors import CollectionError
from sightline.measures.splits import HELD_OUT, VALIDATION, fold_of
from sightline.records import FeatureRows, Judgement, SparseRows
from sightline.store.matrices import Matrix, StoredSparseMatrix
from sightline.store.segments import OpenSegment
from sightline.store.snapshot import Snapshot
from sightline.store.stored_rows import StoredRows
from sightline.vectors import Fingerprint, l2_normalize
from sightline.words.grammar import parse
from sightline.words.term_ids import term_id

MOST_WORDS, MOST_TEXT_WORDS = 20_000, 50_000
# A model learns at most this share of them for each picture, but always `_ALWAYS`.
_SHARE_PER_PICTURE, _ALWAYS = 1 / 5_000, 1_000
# With fewer tagged pictures than this, and as many without tags, words are learned against these;
# so are words that at least this share of the tagged pictures has.
FEW_TAGGED, MOSTLY_TAGGED = 20, 0.9
# Maximum numbers of judged and of unjudged pictures that saved words are learned from.
MOST_LABELLED, MOST_UNLABELLED = 3_000, 2_000


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Pictures to learn from.

    Attributes
    ----------
    ids : ndarray of int64
        Their ids, ascending.
    terms : ndarray of int64
        Ids of the words there are to learn, ascending.
    labels : array-like
        Scipy sparse table, pictures by words, 1 where a picture has a word.
    views : dict
        Their rows of each feature, by fingerprint.
    left_out : int
        Pictures with words that lack one of these features.
    unlabelled : ndarray of bool or None
        Pictures by words, true where nobody judged whether the picture fits; None for ordinary
        words, which a tagged picture lacks unless it has them.
    saved : Dataset or None
        Pictures to learn saved words from, where there are ordinary words as well.
    aliases : Aliases
        Terms that are learned as others: forms of a word, and words always on the same pictures.
    n_words : int
        The number of words, those that are learned as others included, but not their forms.
    memory : int
        Bytes that fitting may take where rows stay on the disk.
    """

    ids: Ints
    terms: Ints
    labels: Any
    views: dict[str, View]
    left_out: int = 0
    unlabelled: Bools | None = None
    saved: Dataset | None = None
    aliases: Aliases = NO_ALIASES
    n_words: int = 0
    memory: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_streamed(self) -> bool:
        """Whether rows stay on the disk until they are asked for."""
        return any(isinstance(view, StoredRows) for view in self.views.values())

    def basis(self) -> str:
        """Return a checksum of pictures, words and features: equal data sets give equal models."""
        h = hashlib.sha256(self.ids.tobytes() + self.terms.tobytes())
        h.update(self.labels.indptr.astype(np.int64).tobytes())
        h.update(self.labels.indices.astype(np.int64).tobytes())
        h.update(" ".join(self.views).encode())
        if self.unlabelled is not None:
            h.update(np.packbits(self.unlabelled).tobytes())
        if self.saved is not None:
            h.update(self.saved.basis().encode())
        if len(self.aliases):
            h.update(self.aliases.terms.tobytes() + self.aliases.names.tobytes())
        return h.hexdigest()[:16]

    def only(self, rows: Ints | NDArray[np.bool_]) -> Dataset:
        """Return some of the pictures, without those that only saved words are learned from."""
        views = {name: view[rows] for name, view in self.views.items()}
        free = None if self.unlabelled is None else self.unlabelled[rows]
        return Dataset(
            self.ids[rows], self.terms, self.labels[rows], views, unlabelled=free,
            aliases=self.aliases, n_words=self.n_words, memory=self.memory,
        )  # fmt: skip


def aligned(dataset: Dataset, terms: Ints, aliases: Aliases = NO_ALIASES) -> Dataset:
    """Return the pictures with the words of another vocabulary, in its order.

    `aliases` are terms that go by others there.
    """
    from scipy.sparse import csr_matrix

    cells, named = dataset.labels.tocoo(), aliases.names_of(dataset.terms)
    column = np.minimum(np.searchsorted(terms, named), len(terms) - 1)
    shared = terms[column] == named
    keep = shared[cells.col]
    shape = (len(dataset), len(terms))
    labels = csr_matrix((cells.data[keep], (cells.row[keep], column[cells.col[keep]])), shape=shape)
    labels.sort_indices()
    # Words that are one in the other vocabulary count once.
    labels.data[:] = 1
    unlabelled = None
    if dataset.unlabelled is not None:
        unlabelled = np.ones(shape, np.bool_)
        unlabelled[:, column[shared]] = dataset.unlabelled[:, shared]
    return replace(dataset, terms=terms, labels=labels, unlabelled=unlabelled, saved=None)


def load_dataset(
    snapshot: Snapshot,
    judgements: Iterable[Judgement] = (),
    feature_names: Sequence[str] = (),
    most_words: int = MOST_WORDS,
    saved: Collection[int] = (),
    evidence: Evidence = NO_EVIDENCE,
    against_untagged: bool = True,
    memory: int = 0,
) -> Dataset:
    """Gather all pictures that have a word or were judged, and have features.

    `feature_names` are the features to learn from, by default all that nearly every picture has. Of
    more than `most_words` words the most frequent are learned. `saved` are terms that only sessions
    gave to pictures; where no other word can be learned, the data set is that of the saved words.
    `evidence` says what words count as. With `against_untagged`, words that tagged pictures alone
    cannot teach are learned as saved ones are: against pictures without tags. Where learning would
    take more than `memory` bytes, rows stay on the disk; 0 reads them whatever they take.
    """
    judgements, counts_as = list(judgements), evidence.counts_as
    picture, term = tagged_and_judged(snapshot, judgements, evidence)
    is_saved = np.isin(term, np.array(sorted(saved), np.int64))
    tagged, apart = np.unique(picture[~is_saved]), is_saved
    if against_untagged:
        lone = _without_contrast(picture[~is_saved], term[~is_saved], len(snapshot.ids()))
        apart = is_saved | np.isin(term, lone)
    if not apart.any():
        return _ordinary_dataset(
            snapshot, tagged, picture, term, feature_names, most_words, evidence, memory
        )
    negatives = {cell for cell, fits in term_verdicts(judgements, counts_as).items() if not fits}
    ordinary = np.unique(term[apart & ~is_saved])
    saved_options = (picture[apart], term[apart], negatives, most_words, evidence)
    if not _learnable(term[~apart], len(tagged)):
        return _saved_dataset(snapshot, *saved_options, (tagged, ordinary), feature_names)
    dataset = _ordinary_dataset(
        snapshot, tagged, picture[~apart], term[~apart], feature_names, most_words, evidence, memory
    )
    if not _learnable(term[apart], len(snapshot.ids())):
        return dataset
    views = tuple(dataset.views)
    return replace(
        dataset, saved=_saved_dataset(snapshot, *saved_options, (tagged, ordinary), (), views)
    )


def _without_contrast(picture: Ints, term: Ints, n_pictures: int) -> Ints:
    """Return terms that the tagged pictures cannot teach, where as many have no tag.

    Of few tagged pictures these are all terms, of more those that nearly all of them have.
    """
    n_tagged = len(np.unique(picture))
    if n_pictures < 2 * n_tagged:
        return np.zeros(0, np.int64)
    terms, counts = np.unique(term, return_counts=True)
    return terms[(counts >= MOSTLY_TAGGED * n_tagged) | (n_tagged < FEW_TAGGED)]


def _ordinary_dataset(
    snapshot: Snapshot,
    tagged: Ints,
    picture: Ints,
    term: Ints,
    feature_names: Sequence[str],
    most_words: int,
    evidence: Evidence,
    memory: int,
) -> Dataset:
    """Gather pictures that have words."""
    features = _features(snapshot, tagged, feature_names)
    n_words = min(len(np.unique(term)), most_words)
    ids, views = _rows(snapshot, features, tagged, n_words, memory)
    present = np.isin(picture, ids)
    terms, labels, aliases = _labels(ids, picture[present], term[present], most_words, evidence)
    left_out = len(tagged) - len(ids)
    n_words = len(terms) + int((~np.isin(aliases.terms, list(evidence.counts_as))).sum())
    return Dataset(
        ids, terms, labels, views, left_out, aliases=aliases, n_words=n_words, memory=memory
    )


def _features(snapshot: Snapshot, ids: Ints, feature_names: Sequence[str]) -> tuple[str, ...]:
    features = common_features(snapshot, ids)
    named = [f for f in features if Fingerprint.parse(f).name in plugins.expanded(feature_names)]
    return tuple(named) or features


def _learnable(term: Ints, n_pictures: int) -> bool:
    """Say whether some word is on several of the pictures, and missing on others."""
    _, counts = np.unique(term, return_counts=True)
    return bool(((counts >= LEAST_PICTURES) & (counts < n_pictures)).any())


def _saved_dataset(
    snapshot: Snapshot,
    picture: Ints,
    term: Ints,
    negatives: set[tuple[int, int]],
    most_words: int,
    evidence: Evidence,
    ordinary: tuple[Ints, Ints],
    feature_names: Sequence[str],
    features: tuple[str, ...] = (),
) -> Dataset:
    """Gather the pictures that saved words are learned from: all judged ones, and others.

    `ordinary` are tagged pictures, and those of the terms that they have as tags: a tagged picture
    without such a term is no example of it.
    """
    every = snapshot.ids()
    judged = np.array([p for p, t in negatives if t in set(term.tolist())], np.int64)
    tagged = ordinary[0] if len(ordinary[1]) else np.zeros(0, np.int64)
    labelled = np.intersect1d(np.unique(np.concatenate([picture, judged, tagged])), every)
    others = spread(np.setdiff1d(every, labelled))[:MOST_UNLABELLED]
    labelled = spread(labelled)[:MOST_LABELLED]
    chosen = np.union1d(labelled, others)
    ids, views = _rows(snapshot, features or _features(snapshot, chosen, feature_names), chosen)
    present = np.isin(picture, ids)
    terms, labels, aliases = _labels(
        ids, picture[present], term[present], most_words, evidence, saved=True
    )
    unlabelled = np.asarray(labels.todense()) == 0
    unlabelled[np.ix_(np.isin(ids, tagged), np.isin(terms, ordinary[1]))] = False
    for p, t in negatives:
        row, column = np.searchsorted(ids, p), np.searchsorted(terms, t)
        if row < len(ids) and column < len(terms) and (ids[row], terms[column]) == (p, t):
            unlabelled[row, column] = False
    left_out = len(np.unique(picture)) - len(np.intersect1d(picture, ids))
    return Dataset(
        ids, terms, labels, views, left_out, unlabelled=unlabelled, aliases=aliases,
        n_words=len(terms),
    )  # fmt: skip


def spread(ids: Ints) -> Ints:
    """Return ids in an order of chance that is the same however many others there are."""
    mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ids[np.argsort(mixed ^ (mixed >> np.uint64(29)), kind="stable")]


def tagged_and_judged(
    snapshot: Snapshot,
    judgements: Iterable[Judgement],
    evidence: Evidence = NO_EVIDENCE,
) -> tuple[Ints, Ints]:
    """Return every (picture, word) pair by words and judgements; too few to learn are refused."""
    pairs, counts_as = evidence.kept(*tag_pairs(snapshot)), evidence.counts_as
    picture, term = judged_pairs(*cleaned(*pairs, counts_as), judgements, counts_as)
    present = np.isin(picture, snapshot.ids())
    picture, term = picture[present], term[present]
    _check_enough(snapshot, picture, term)
    return picture, term


def tag_pairs(snapshot: Snapshot) -> tuple[Ints, Ints]:
    """Return every (picture, word) pair of the version."""
    pictures, words = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for s in snapshot.segments:
        row = np.repeat(np.arange(len(s.ids)), np.diff(s.base["word_start"]))
        alive = s.alive()[row]
        pictures.append(s.ids[row[alive]])
        words.append(s.base["terms"][s.base["word"][alive]])
    return np.concatenate(pictures), np.concatenate(words)


def cleaned(picture: Ints, term: Ints, counts_as: Mapping[int, int | None]) -> tuple[Ints, Ints]:
    """Return pairs of pictures and words, some of which count as others or as nothing, once."""
    if not counts_as:
        return picture, term
    terms, at = np.unique(term, return_inverse=True)
    named = [counts_as.get(t, t) for t in terms.tolist()]
    keep = np.array([t is not None for t in named], np.bool_)[at]
    now = np.array([0 if t is None else t for t in named], np.int64)[at]
    both = np.unique(np.stack([picture[keep], now[keep]], axis=1), axis=0)
    return both[:, 0], both[:, 1]


def verdicts(judgements: Iterable[Judgement]) -> dict[tuple[int, str], bool]:
    """Return for (picture, word) whether it fits by the last judgement.

    >>> verdicts([Judgement("red barn", 7, 1.0, "", 3), Judgement("red", 7, 0.0, "", 2)])
    {(7, 'red'): True, (7, 'barn'): True}
    """
    last: dict[tuple[int, str], tuple[int, bool]] = {}
    for j in judgements:
        words = [t.text for t in parse(j.query).terms]
        # Of several words it is not known which one does not fit.
        for word in words if j.relevance > 0 or len(words) == 1 else ():
            key, now = (j.picture, word), (j.seq, j.relevance > 0)
            if key not in last or last[key][0] <= j.seq:
                last[key] = now
    return {key: fits for key, (_, fits) in last.items()}


def term_verdicts(
    judgements: Iterable[Judgement], counts_as: Mapping[int, int | None]
) -> dict[tuple[int, int], bool]:
    """Return the same by terms, some of which count as others; none of those that are dropped."""
    merged = sorted(judgements, key=lambda j: j.seq)
    verdict = {}
    for j in merged:
        for (picture, word), fits in verdicts([j]).items():
            term = counts_as.get(term_id(word), term_id(word))
            if term is not None:
                verdict[picture, term] = fits
    return verdict


def judged_pairs(
    picture: Ints,
    term: Ints,
    judgements: Iterable[Judgement],
    counts_as: Mapping[int, int | None],
) -> tuple[Ints, Ints]:
    """Return pairs of pictures and words, ascending, as the last judgements changed them."""
    verdict = term_verdicts(judgements, counts_as)
    if not verdict:
        return picture, term
    fitting = PicturePairs.of(pair for pair, fits in verdict.items() if fits)
    others = PicturePairs.of(pair for pair, fits in verdict.items() if not fits)
    keep = ~others.holds(picture, term)
    picture = np.concatenate([picture[keep], fitting.picture])
    term = np.concatenate([term[keep], fitting.term])
    both = np.stack([picture, term])[:, np.lexsort((term, picture))]
    once = np.ones(both.shape[1], np.bool_)
    once[1:] = (np.diff(both) != 0).any(axis=0)
    return both[0, once], both[1, once]


def _check_enough(snapshot: Snapshot, picture: Ints, term: Ints) -> None:
    n = len(snapshot.ids())
    if n < 2:
        raise CollectionError(
            f"There is nothing to learn from {n} picture{'s' * (n != 1)}. Index more pictures."
        )
    if not len(term) and len(snapshot.with_words()):
        raise CollectionError(
            f"All words of the {n} pictures are stop words or captions in other languages, so "
            "there is nothing to learn. Give pictures other words, or name their language: "
            "sightline index --language"
        )
    if not len(term):
        raise CollectionError(
            f"None of the {n} pictures has a word, so there is nothing to learn. Add words: "
            "tags in the files, .txt files beside them, or a table with index --words. Or judge "
            "pictures, and save those that fit: sightline judge --like PICTURE --save-as WORD"
        )
    if len(np.unique(picture)) < 2:
        raise CollectionError(
            f"Only 1 of the {n} pictures has words, so there is nothing to learn. "
            "Give words to more pictures, then: sightline index. Or judge more pictures that fit, "
            "and save them as the same word: sightline judge --resume SESSION --save-as WORD"
        )


def _rows(
    snapshot: Snapshot, features: Sequence[str], ids: Ints, n_words: int = 0, memory: int = 0
) -> tuple[Ints, dict[str, View]]:
    """Return the pictures that have all features, and their rows: on the disk beyond `memory`."""
    if not features:
        raise CollectionError(
            f"No feature is on at least nine tenths of the {len(ids)} pictures with words. "
            "See: sightline doctor --features. To compute one: sightline index --features classic"
        )
    groups = snapshot.by_features(ids)
    whole = [group for have, group in groups if set(features) <= set(have)]
    complete = np.sort(np.concatenate(whole))
    length = sum(snapshot.length(f) for f in features)
    if not memory or bytes_in_memory(len(complete), length, n_words) <= memory:
        return complete, {f: as_view(snapshot.rows(f, complete)) for f in features}
    dense = [f for f in features if not is_sparse(snapshot, f)]
    if not dense:
        raise CollectionError(
            f"{len(complete)} pictures take more than the setting 'memory' allows "
            f"({gigabytes(memory)}), and rows of {', '.join(features)} are sparse, which are not "
            "learned from blocks. Raise it, or index a dense feature: sightline index --features"
        )
    return complete, {f: snapshot.stored_rows(f, complete) for f in dense}


def _labels(
    ids: Ints,
    picture: Ints,
    term: Ints,
    most_words: int,
    evidence: Evidence,
    saved: bool = False,
) -> tuple[Ints, Any, Aliases]:
    from scipy.sparse import csr_matrix

    terms, column, counts = np.unique(term, return_inverse=True, return_counts=True)
    # A word on every picture is as useless for ranking as one on a single picture.
    usable = np.flatnonzero(evidence.enough(terms, counts) & (counts < len(ids)))
    if not len(usable):
        raise CollectionError(_nothing_usable(terms, saved))
    most_words = min(most_words, max(_ALWAYS, int(most_words * _SHARE_PER_PICTURE * len(ids))))
    frequent = np.sort(usable[np.argsort(-counts[usable], kind="stable")][:most_words])
    row = np.searchsorted(ids, picture)
    ones = np.ones(len(row), np.float32)
    table = csr_matrix((ones, (row, column)), shape=(len(ids), len(terms)))[:, frequent]
    table.sort_indices()
    terms = terms[frequent]
    # Judgements against a saved word are its own, so it is learned by itself.
    together = {} if saved else always_together(table, terms, evidence.spelled)
    keep = ~np.isin(terms, list(together))
    forms = {t: together.get(n, n) for t, n in evidence.counts_as.items() if n is not None}
    aliases = Aliases.of({**forms, **together}).of_names(terms[keep])
    return terms[keep], table[:, keep], aliases


def _nothing_usable(terms: Ints, saved: bool) -> str:
    todo = "Give pictures more words."
    if saved:
        todo = (
            "Judge more pictures, some that fit and some that do not, and save them under the "
            "same word: sightline judge --resume SESSION --save-as WORD. For its name: "
            "sightline sessions"
        )
    some = "saved words" if saved else "words"
    return (
        f"Of {len(terms)} {some} none is on at least {LEAST_PICTURES} pictures and missing "
        f"from others, so there is nothing to learn. {todo}"
    )


View = Any  # a dense float32 matrix, or a scipy one in CSR form


def as_view(rows: FeatureRows | SparseRows | Matrix) -> View:
    """Return rows of the store as a matrix to compute with."""
    if isinstance(rows, FeatureRows):
        return np.asarray(rows.rows, np.float32)
    if isinstance(rows, StoredSparseMatrix):
        index, value = rows.entries()
        return _csr(value, index, rows.start - rows.start[0], rows.shape[1])
    if isinstance(rows, SparseRows):
        return _csr(rows.value, rows.index, rows.start, rows.length)
    return np.asarray(rows, np.float32)


def _csr(value: Any, index: Any, start: NDArray[np.int64], length: int) -> View:
    from scipy.sparse import csr_matrix

    parts = (np.asarray(value, np.float32), np.asarray(index, np.int32), start)
    return csr_matrix(parts, shape=(len(start) - 1, length))


def table_arrays(table: View, prefix: str) -> dict[str, NDArray[Any]]:
    """Return a table, dense or sparse, as arrays that can travel."""
    if not hasattr(table, "tocsr"):
        return {f"{prefix}dense": np.asarray(table)}
    return {
        f"{prefix}data": table.data, f"{prefix}indices": table.indices,
        f"{prefix}indptr": table.indptr, f"{prefix}shape": np.array(table.shape),
    }  # fmt: skip


def table_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> View:
    """Return the table again.

    >>> table_of(table_arrays(np.eye(2), "a."), "a.").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if f"{prefix}dense" in arrays:
        return arrays[f"{prefix}dense"]
    from scipy.sparse import csr_matrix

    parts = tuple(arrays[f"{prefix}{n}"] for n in ("data", "indices", "indptr"))
    return csr_matrix(parts, shape=tuple(arrays[f"{prefix}shape"].tolist()), copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """How the rows of one feature are weighted before they are compared.

    Without `idf`, rows are only L2-normalised; `plain` leaves rows, such as counts, as they are.
    """

    idf: Floats
    plain: bool = False

    @classmethod
    def of(cls, view: View, *, plain: bool = False) -> Weighting:
        """Learn the weights from training rows."""
        if plain or not hasattr(view, "tocsr"):
            return cls(np.zeros(0, np.float32), plain)
        from sightline.features.local.visterms import idf_of

        return cls(np.asarray(idf_of(view), np.float32))

    def __call__(self, view: View) -> View:
        """Return rows weighted and L2-normalised; a row of zeros stays so."""
        if self.plain:
            return view
        if not hasattr(view, "tocsr"):
            return l2_normalize(view)
        from sightline.features.local.visterms import weighted

        return weighted(view, self.idf)


def segment_views(segment: OpenSegment, features: Sequence[str]) -> dict[str, View] | None:
    """Return a segment's rows of some features; None if it lacks one of them."""
    if not set(features) <= set(segment.features):
        return None
    return {f: as_view(segment.features[f]) for f in features}


def split(dataset: Dataset) -> tuple[Bools, Bools]:
    """Return which pictures are held out, and which of the others are for validation."""
    fold = fold_of(dataset.ids)
    return fold == HELD_OUT, fold == VALIDATION
