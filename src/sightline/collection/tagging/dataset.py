"""The data set of the region model: stored regions of pictures, and their words.

Words come from tags and judgements, mapped by the owner's list. A word is learned if at least three
pictures have it and others do not. Of more than 60 words the most frequent are learned, since with
four times the words exact inference takes twenty times as long.

The paper merges synonyms and drops words that no region can show. Only the owner knows which these
are: they are in the owner's list (`synonyms`). Forms of one word are one, and stop words are none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.collection.lexicon import word_forms
from sightline.collection.models.dataset import tagged_and_judged
from sightline.collection.models.evidence import NO_EVIDENCE, Evidence
from sightline.collection.synonyms import load_synonyms
from sightline.errors import CollectionError
from sightline.records import Judgement, SparseRows
from sightline.regions.cut_picture import CutPicture, unpacked
from sightline.registry import NO_VECTORS
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint
from sightline.words.term_ids import term_id

LEAST_PICTURES = 3
MOST_WORDS = 60
MOST_PICTURES = 4_000
_BLOCK = 256
_BEST_FIRST = ("regions-deep", "regions")


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Pictures as inputs of `ScoredRegionModel`: X, whole, areas."""

    X: list[NDArray[np.float32]]
    whole: NDArray[np.float32] | None
    areas: list[Doubles]

    @classmethod
    def of(cls, cuts: Iterable[CutPicture]) -> Inputs:
        """Return the inputs of some pictures."""
        pictures = list(cuts)
        has_whole = pictures and len(pictures[0].whole)
        whole = np.stack([c.whole for c in pictures]) if has_whole else None
        return cls([c.rows for c in pictures], whole, [c.areas for c in pictures])

    def marks(self) -> Ints:
        """Return a digest of each picture's regions, to notice changed ones."""
        digests = [
            hashlib.blake2b(x.tobytes() + a.tobytes(), digest_size=8).digest()
            for x, a in zip(self.X, self.areas, strict=True)
        ]
        return np.frombuffer(b"".join(digests), np.int64).copy()

    def only(self, at: Ints) -> Inputs:
        """Return some of the pictures."""
        whole = None if self.whole is None else self.whole[at]
        return Inputs([self.X[i] for i in at], whole, [self.areas[i] for i in at])


@dataclass(frozen=True, slots=True, eq=False)
class RegionDataset:
    """The training pictures of the region model.

    Attributes
    ----------
    ids : ndarray of int64
        Ids of the pictures, ascending.
    terms : ndarray of int64
        The words that are learned, ascending.
    labels : ndarray of shape (pictures, words)
        Which picture has which word.
    inputs : Inputs
        Regions of the pictures.
    feature : str
        The fingerprint under which regions are stored.
    without_regions : int
        Pictures with words whose regions are not stored.
    left_out : int
        Pictures with words beyond the largest size of the data set.
    rare, frequent : int
        Number of words on too few pictures, and of those beyond the most frequent.
    """

    ids: Ints
    terms: Ints
    labels: Bools
    inputs: Inputs
    feature: str
    without_regions: int
    left_out: int
    rare: int
    frequent: int

    def __len__(self) -> int:
        return len(self.ids)


def load_region_dataset(
    snapshot: Snapshot,
    judgements: Iterable[Judgement],
    counts_as: Mapping[int, int | None],
    kind: str = "",
    evidence: Evidence = NO_EVIDENCE,
) -> RegionDataset:
    """Load all pictures that have a word and have regions, of one kind if it is named."""
    picture, term = tagged_and_judged(
        snapshot, judgements, replace(evidence, counts_as={**evidence.counts_as, **counts_as})
    )
    tagged = np.unique(picture)
    feature = region_feature(snapshot, tagged, kind)
    ids = kept_ids(snapshot, feature, tagged)
    without, left_out = len(tagged) - len(ids), max(0, len(ids) - MOST_PICTURES)
    if left_out:
        ids = np.sort(np.random.default_rng(0).permutation(ids)[:MOST_PICTURES])
    present = np.isin(picture, ids)
    terms, labels, rare, frequent = _labels(ids, picture[present], term[present])
    inputs = Inputs.of(cuts(snapshot, feature, ids))
    return RegionDataset(ids, terms, labels, inputs, feature, without, left_out, rare, frequent)


def region_feature(snapshot: Snapshot, pictures: Ints, kind: str = "") -> str:
    """Return the fingerprint of the regions that most of some pictures have; deep ones first.

    If a kind is named, `regions` or `regions-deep`, only its fingerprints count.
    """
    count: dict[str, int] = {}
    for features, ids in snapshot.by_features(pictures):
        for f in features:
            if Fingerprint.parse(f).name in ([kind] if kind else NO_VECTORS):
                count[f] = count.get(f, 0) + len(ids)
    if not count:
        raise CollectionError(
            "No picture has been cut into regions yet. Run: sightline train regions"
        )
    rank = {name: i for i, name in enumerate(_BEST_FIRST)}
    return min(count, key=lambda f: (-count[f], rank.get(Fingerprint.parse(f).name, 9), f))


def kept_ids(snapshot: Snapshot, feature: str, pictures: Ints) -> Ints:
    """Return those of some pictures, ids ascending, whose regions are stored."""
    groups = [ids for have, ids in snapshot.by_features(pictures) if feature in have]
    return np.sort(np.concatenate([*groups, np.zeros(0, np.int64)]))


def cut_otherwise(snapshot: Snapshot, feature: str, pictures: Ints) -> Ints:
    """Return those of some pictures, ids ascending, that have regions of other fingerprints only.

    `index --refit` computes the regions of all pictures again.
    """
    groups = [
        ids
        for have, ids in snapshot.by_features(pictures)
        if feature not in have and any(Fingerprint.parse(f).name in NO_VECTORS for f in have)
    ]
    return np.sort(np.concatenate([*groups, np.zeros(0, np.int64)]))


def cuts(snapshot: Snapshot, feature: str, ids: Ints) -> Iterator[CutPicture]:
    """Yield the regions of pictures, ids ascending."""
    for begin in range(0, len(ids), _BLOCK):
        rows = snapshot.rows(feature, ids[begin : begin + _BLOCK])
        assert isinstance(rows, SparseRows)
        for a, b in zip(rows.start[:-1], rows.start[1:], strict=True):
            yield unpacked(rows.index[a:b], rows.value[a:b])


def table(ids: Ints, terms: Ints, picture: Ints, term: Ints) -> Bools:
    """Return which pictures have which words, by pairs; both lists ascending.

    >>> one = np.array([1])
    >>> table(np.array([1, 2]), np.array([7, 9]), one, np.array([9])).tolist()
    [[False, True], [False, False]]
    """
    tagged = np.zeros((len(ids), len(terms)), np.bool_)
    present = np.isin(picture, ids) & np.isin(term, terms)
    tagged[np.searchsorted(ids, picture[present]), np.searchsorted(terms, term[present])] = True
    return tagged


def _labels(ids: Ints, picture: Ints, term: Ints) -> tuple[Ints, Bools, int, int]:
    every, counts = np.unique(term, return_counts=True)
    usable = np.flatnonzero((counts >= LEAST_PICTURES) & (counts < len(ids)))
    if not len(usable):
        raise CollectionError(
            f"Of {len(every)} words none is on at least {LEAST_PICTURES} pictures and missing from "
            "others, so the region model has nothing to learn. Give pictures more words."
        )
    chosen = usable[np.argsort(-counts[usable], kind="stable")][:MOST_WORDS]
    terms = every[np.sort(chosen)]
    rare = int((counts < LEAST_PICTURES).sum())
    return terms, table(ids, terms, picture, term), rare, len(usable) - len(chosen)


def spelled(terms: Ints, known: Iterable[tuple[int, str]], words: WordList) -> Sequence[str]:
    """Return the spellings of terms; terms that only the owner's list has, as written there."""
    names = {**{term_id(w): w for _, w in words.merge}, **dict(known)}
    return [names[int(t)] for t in terms]


@dataclass(frozen=True, slots=True)
class WordList:
    """Dropped words, and merged words as pairs (synonym, word)."""

    drop: tuple[str, ...] = ()
    merge: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.drop or self.merge)

    def __str__(self) -> str:
        if not self:
            return "none"
        joined = [f"{synonym} = {word}" for synonym, word in self.merge]
        dropped = [f"dropped: {', '.join(self.drop)}"] if self.drop else []
        return "; ".join([*joined, *dropped])

    def counts_as(self) -> dict[int, int | None]:
        """Return the term that each term of the list counts as; None for a dropped one.

        >>> counts_as = WordList(("2019",), (("bike", "bicycle"),)).counts_as()
        >>> counts_as[term_id("2019")] is None, counts_as[term_id("bike")] == term_id("bicycle")
        (True, True)
        """
        merged: dict[int, int | None] = {term_id(a): term_id(b) for a, b in self.merge}
        return {**merged, **{term_id(w): None for w in self.drop}}


def load_list(folder: Path) -> WordList:
    """Return the owner's list of a store; an empty one if there is no file."""
    owner = load_synonyms(folder)
    merge = ((word, group[0]) for group in owner.synonyms.groups for word in group[1:])
    return WordList(owner.not_in_regions, tuple(sorted(merge)))


def region_words(reader: Reader) -> WordList:
    """Return the owner's list with the forms of words that are folded, and without stop words."""
    table, owner = word_forms(reader), load_list(reader.store_folder.path)
    merge = dict(owner.merge)
    for lexeme in table.lexicon.lexemes():
        merge |= {form: lexeme.name for form in lexeme.forms if form != lexeme.name}
    stop_words = (w for w in table.counts if table.lexicon.is_stop_word(w))
    drop = {*owner.drop, *stop_words}
    return WordList(tuple(sorted(drop)), tuple(sorted(merge.items())))


def default_regions() -> str:
    """Return the best kind of regions that is installed."""
    from sightline.features.deep.network import LITE2
    from sightline.features.deep.session import is_available

    return "regions-deep" if is_available(LITE2) else "regions"
