"""NUS-WIDE: 269,648 pictures of Flickr, their tags, and which of 81 concepts they show.

Chua et al., "NUS-WIDE: a real-world web image database from National University of Singapore",
CIVR 2009. The data are published as text: for each concept a 0 or 1 for every picture, for each
picture a 0 or 1 for each of the 1,000 most frequent tags, and how often it has each of 500 visual
words. Pictures with a tag and a concept are kept. The files are those of the archives ConceptsList,
Groundtruth, NUS_WID_Tags and NUS_WID_Low_Level_Features, beside each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightline._typing import Bools, Ints
from sightline.contracts import Progress
from sightline.errors import DataError
from sightline.progress import NoProgress
from sightline_experiments.datasets.numbers import Table, read_table
from sightline_experiments.datasets.sources import Source, open_source

NAME = "nuswide"
TITLE = "NUS-WIDE"
CONCEPTS = "ConceptsList/Concepts81.txt"
LABELS = "Groundtruth/AllLabels/Labels_{}.txt"
TAGS = "NUS_WID_Tags/AllTags1k.txt"
# Places of the visual words in unpacked archives.
VISUAL_WORDS = (
    "NUS_WID_Low_Level_Features/Low_Level_Features/BoW_int.dat",
    "NUS_WID_Low_Level_Features/BoW_int.dat",
    "Low_Level_Features/BoW_int.dat",
    "BoW_int.dat",
)
_LARGEST_COUNT = 1_000_000
_SILENT = NoProgress()


@dataclass(frozen=True, slots=True)
class Counts:
    """The expected size of the files, before any picture is left out."""

    pictures: int = 269_648
    concepts: int = 81
    tags: int = 1000
    visual_words: int = 500


COUNTS = Counts()


@dataclass(frozen=True, slots=True, eq=False)
class NusWide:
    """The pictures that have a tag and a concept, a row each.

    Attributes
    ----------
    pictures : counts of visual words; scipy's CSR.
    tags : 1 for each tag; scipy's CSR.
    concepts : a column for each concept.
    names : of the concepts.
    positions : positions of the pictures in the published lists, from 0.
    """

    pictures: Any
    tags: Any
    concepts: Bools
    names: tuple[str, ...]
    positions: Ints

    def __len__(self) -> int:
        return len(self.positions)


def load_nuswide(
    data: Path, counts: Counts | None = None, progress: Progress = _SILENT
) -> NusWide | None:
    """Return the dataset in a folder; None if it is missing.

    Raises
    ------
    DataError
        The folder has another dataset, or not all of it; the message says what differs,
        and in which line of which file.
    """
    source = open_source(data, NAME, (CONCEPTS, TAGS))
    if source is None:
        return None
    counts = COUNTS if counts is None else counts
    words = _visual_words(source)
    names = _names(source, counts.concepts)
    concepts = _concepts(source, names, counts, progress)
    has_concept: Bools = np.asarray(concepts.any(axis=1))
    tags = _read(source, Table(TAGS, counts.pictures, counts.tags, 1), has_concept, progress)
    tagged = np.diff(tags.indptr) > 0
    selected = has_concept.copy()
    selected[has_concept] = tagged
    if not selected.any():
        raise DataError(f"{source.where}: no picture has both a tag and a concept.")
    table = Table(words, counts.pictures, counts.visual_words, _LARGEST_COUNT)
    pictures = _read(source, table, selected, progress)
    return NusWide(pictures, tags[tagged], concepts[selected], names, np.flatnonzero(selected))


def _visual_words(source: Source) -> str:
    files = set(source.names())
    for name in VISUAL_WORDS:
        if name in files:
            return name
    raise DataError(
        f"{source.where} holds no visual words of pictures. They are looked for in "
        f"{', '.join(VISUAL_WORDS)}."
    )


def _names(source: Source, n: int) -> tuple[str, ...]:
    try:
        names = tuple(source.read(CONCEPTS).decode("utf-8").split())
    except UnicodeDecodeError as e:
        raise DataError(f"{source.where}: {CONCEPTS} is no text. {e}") from e
    if len(set(names)) != n or len(names) != n:
        raise DataError(
            f"{source.where} is not the expected NUS-WIDE: {CONCEPTS} names {len(names)} concepts, "
            f"{len(set(names))} of them different, instead of {n}."
        )
    files = set(source.names())
    missing = [LABELS.format(name) for name in names if LABELS.format(name) not in files]
    if missing:
        raise DataError(
            f"{source.where} is not the expected NUS-WIDE: it has no {missing[0]}"
            + (f", and {len(missing) - 1} more are missing." if len(missing) > 1 else ".")
        )
    return names


def _concepts(source: Source, names: tuple[str, ...], counts: Counts, progress: Progress) -> Bools:
    flags = np.zeros((counts.pictures, len(names)), dtype=np.bool_)
    progress.start("NUS-WIDE, concepts", len(names))
    for i, name in enumerate(names):
        rows = read_table(source, Table(LABELS.format(name), counts.pictures, 1, 1))
        flags[:, i] = np.diff(rows.indptr) > 0
        progress.advance()
    progress.finish()
    return flags


def _read(source: Source, table: Table, selected: Bools, progress: Progress) -> Any:
    progress.start(f"NUS-WIDE, {table.name.rpartition('/')[2]}", table.n_rows)
    rows = read_table(source, table, selected, progress)
    progress.finish()
    return rows
