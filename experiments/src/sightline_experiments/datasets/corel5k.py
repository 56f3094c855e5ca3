"""Corel5K: 5,000 photographs with up to five words each, the set that paper A calls CorelSmall.

4,500 pictures are for development and 500 for test (Duygulu, Barnard, de Freitas and Forsyth,
"Object recognition as machine translation", 2002). One test picture, 161092, is listed twice, so
499 are distinct, and 4,999 of the 5,000 pictures have words. Pictures are identified by their
number; their words are positions in `words`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from sightline.errors import DataError
from sightline.words.queries import caption_queries
from sightline_experiments.datasets.sources import Source, open_source

NAME = "corel5k"
WORDS, DEVELOPMENT, TEST = "labels/words", "labels/training_label", "labels/test_label"
QUERIES = "queries/test_queries.tsv"
# The paper uses words of at least so many test pictures; there are 179.
LEAST_TEST_PICTURES = 2
_PICTURE_BYTES = 4 << 20

Query = tuple[tuple[str, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Counts:
    """The expected size of the dataset."""

    development: int = 4500
    test: int = 500
    distinct_test: int = 499
    words: int = 374
    pictures: int = 5000
    queries: int = 2241


COUNTS = Counts()


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the labels: a picture's number and the positions of its words, ascending."""

    picture: int
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Corel5K:
    """The dataset: its words, its labels and its picture files."""

    words: tuple[str, ...]
    development: tuple[Row, ...]
    test: tuple[Row, ...]
    files: Mapping[int, str]
    source: Source

    def read(self, picture: int) -> bytes:
        """Return the file of a picture."""
        return self.source.read(self.files[picture], _PICTURE_BYTES)

    def numbers(self) -> tuple[int, ...]:
        """Return all distinct pictures with words, those for development first."""
        return tuple(dict.fromkeys(r.picture for r in (*self.development, *self.test)))

    def checksum(self) -> str:
        """Return the SHA-256 of the pictures with words, in their order.

        It is the same for an archive and for a folder; labels are not part of it, since no feature
        depends on them.
        """
        digest = hashlib.sha256()
        for picture in self.numbers():
            content = self.read(picture)
            digest.update(f"{picture} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()


def load_corel5k(data: Path, counts: Counts | None = None) -> Corel5K | None:
    """Return the dataset in a folder; None if it is missing.

    Raises
    ------
    DataError
        The folder has another dataset, or not all of it; the message says what differs.
    """
    source = open_source(data, NAME, (WORDS, DEVELOPMENT, TEST))
    if source is None:
        return None
    words = tuple(source.read(WORDS).decode("utf-8").split())
    dataset = Corel5K(
        words,
        _rows(source, DEVELOPMENT, len(words)),
        _rows(source, TEST, len(words)),
        _pictures(source.names()),
        source,
    )
    wrong = differences(dataset, COUNTS if counts is None else counts)
    if wrong:
        raise DataError(f"{source.where} is not the expected Corel5K: {'; '.join(wrong)}.")
    return dataset


def differences(c: Corel5K, counts: Counts) -> list[str]:
    """Return the differences from the expected dataset, a phrase each."""
    queries = queries_of(c)
    actual = {
        "development": len(c.development),
        "test": len(c.test),
        "distinct_test": len({r.picture for r in c.test}),
        "words": len(c.words),
        "pictures": len(c.files),
        "queries": len(queries),
    }
    labels = {"development": "development rows", "test": "test rows",
              "distinct_test": "distinct test pictures", "queries": "test queries"}  # fmt: skip
    wrong = [
        f"{actual[f.name]:,} {labels.get(f.name, f.name)} instead of {getattr(counts, f.name):,}"
        for f in fields(counts)
        if actual[f.name] != getattr(counts, f.name)
    ]
    without = [p for p in c.numbers() if p not in c.files]
    if without:
        wrong.append(f"{len(without):,} labelled pictures have no file, such as {without[0]}")
    both = {r.picture for r in c.development} & {r.picture for r in c.test}
    if both:
        wrong.append(f"{len(both):,} pictures are in both lists, such as {min(both)}")
    return wrong + _other_queries(c, queries)


def _other_queries(c: Corel5K, queries: Sequence[Query]) -> list[str]:
    if QUERIES not in c.source.names():
        return []
    listed = _listed_queries(c.source)
    derived = {frozenset(words): frozenset(pictures) for words, pictures in queries}
    differ = [q for q in derived.keys() | listed.keys() if derived.get(q) != listed.get(q)]
    if not differ:
        return []
    first = " ".join(sorted(min(differ, key=sorted)))
    return [f"{len(differ):,} queries differ from {QUERIES}, such as {first!r}"]


def vocabulary(c: Corel5K) -> tuple[str, ...]:
    """Return the words of the paper's queries, sorted: those of at least two test pictures.

    It is taken from test captions, which a search engine could not do, because it is the vocabulary
    of the paper, whose figures could not be compared otherwise.
    """
    count = dict.fromkeys(c.words, 0)
    for words in {r.picture: r.words for r in c.test}.values():
        for w in words:
            count[c.words[w]] += 1
    return tuple(sorted(w for w, n in count.items() if n >= LEAST_TEST_PICTURES))


def captions(c: Corel5K, rows: Iterable[Row]) -> list[tuple[int, list[str]]]:
    """Return pictures with their words spelled out."""
    return [(r.picture, [c.words[w] for w in r.words]) for r in rows]


def queries_of(c: Corel5K) -> list[Query]:
    """Return the test queries with the distinct pictures relevant to each.

    They are all sets of words of the vocabulary in the caption of a test picture.
    """
    distinct = {r.picture: r for r in c.test}.values()
    queries = caption_queries(captions(c, distinct), frozenset(vocabulary(c)))
    return [(words, tuple(pictures)) for words, pictures in queries]


def _rows(source: Source, name: str, n_words: int) -> tuple[Row, ...]:
    rows = []
    for number, line in enumerate(source.read(name).decode("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            picture, *words = (int(part) for part in line.split())
        except ValueError:
            raise DataError(
                f"{source.where}: line {number} of {name} is no row of numbers."
            ) from None
        if any(not 1 <= w <= n_words for w in words):
            raise DataError(
                f"{source.where}: line {number} of {name} names a word outside 1 to {n_words}."
            )
        rows.append(Row(picture, tuple(sorted({w - 1 for w in words}))))
    return tuple(rows)


def _pictures(names: Sequence[str]) -> dict[int, str]:
    files = {}
    for name in names:
        stem, _, kind = name.rpartition("/")[2].rpartition(".")
        if name.startswith("images/") and kind.lower() in ("jpeg", "jpg") and stem.isdecimal():
            files[int(stem)] = name
    return files


def _listed_queries(source: Source) -> dict[frozenset[str], frozenset[int]]:
    queries = {}
    for number, line in enumerate(source.read(QUERIES).decode("utf-8").splitlines(), 1):
        words, _, pictures = line.partition("\t")
        try:
            queries[frozenset(words.split())] = frozenset(int(p) for p in pictures.split())
        except ValueError:
            raise DataError(f"{source.where}: line {number} of {QUERIES} is no query.") from None
    return queries
