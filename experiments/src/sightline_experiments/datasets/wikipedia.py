"""Wikipedia's featured articles: 2,866 pairs of a text and a picture, of one of 10 classes each.

Rasiwasia et al., "A new approach to cross-modal multimedia retrieval", ACM Multimedia 2010. Only
features are published: of a picture the shares of 128 visual words, of a text those of 10 topics,
but not the texts and pictures themselves. 2,173 pairs are for training and 693 for test.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from sightline._typing import Doubles, Ints
from sightline.errors import DataError
from sightline_experiments.datasets.sources import Source, open_source

NAME = "wikipedia"
TITLE = "Wikipedia"
FEATURES = "raw_features.mat"
TRAIN, TEST = "trainset_txt_img_cat.list", "testset_txt_img_cat.list"
CLASSES = "categories.list"
_MATRICES = ("I_tr", "I_te", "T_tr", "T_te")
_MOST_BYTES = 16 << 20
_MOST_CELLS = 4 << 20
_SUM = 1e-3


@dataclass(frozen=True, slots=True)
class Counts:
    """The expected size of the dataset."""

    train: int = 2173
    test: int = 693
    classes: int = 10
    picture_columns: int = 128
    text_columns: int = 10


COUNTS = Counts()


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Some pairs: rows of pictures and of texts, and the class of each pair, from 0."""

    pictures: Doubles
    texts: Doubles
    classes: Ints

    def __len__(self) -> int:
        return len(self.classes)

    def at(self, positions: Ints) -> Pairs:
        """Return some of these pairs."""
        return Pairs(self.pictures[positions], self.texts[positions], self.classes[positions])


@dataclass(frozen=True, slots=True, eq=False)
class Wikipedia:
    """The dataset: pairs for training, pairs for test, and the names of the classes."""

    train: Pairs
    test: Pairs
    classes: tuple[str, ...]

    def all(self) -> Pairs:
        """Return all pairs, those for training first."""
        parts = self.train, self.test
        return Pairs(
            np.concatenate([p.pictures for p in parts]),
            np.concatenate([p.texts for p in parts]),
            np.concatenate([p.classes for p in parts]),
        )


def load_wikipedia(data: Path, counts: Counts | None = None) -> Wikipedia | None:
    """Return the dataset in a folder; None if it is missing.

    Raises
    ------
    DataError
        The folder has another dataset, or not all of it; the message says what differs.
    """
    source = open_source(data, NAME, (FEATURES, TRAIN, TEST, CLASSES))
    if source is None:
        return None
    matrices = _matrices(source)
    names = tuple(source.read(CLASSES).decode("utf-8").split())
    dataset = Wikipedia(
        Pairs(matrices["I_tr"], matrices["T_tr"], _classes(source, TRAIN)),
        Pairs(matrices["I_te"], matrices["T_te"], _classes(source, TEST)),
        names,
    )
    wrong = differences(dataset, COUNTS if counts is None else counts)
    if wrong:
        raise DataError(f"{source.where} is not the expected Wikipedia set: {'; '.join(wrong)}.")
    return dataset


def differences(c: Wikipedia, counts: Counts) -> list[str]:
    """Return the differences from the expected dataset, a phrase each."""
    actual = Counts(
        len(c.train), len(c.test), len(c.classes), c.train.pictures.shape[1],
        c.train.texts.shape[1],
    )  # fmt: skip
    labels = {"train": "training pairs", "test": "test pairs", "picture_columns": "picture columns",
              "text_columns": "text columns"}  # fmt: skip
    wrong = [
        f"{getattr(actual, f.name):,} {labels.get(f.name, f.name)} instead of "
        f"{getattr(counts, f.name):,}"
        for f in fields(counts)
        if getattr(actual, f.name) != getattr(counts, f.name)
    ]
    for what, pairs in (("training", c.train), ("test", c.test)):
        wrong += _wrong_pairs(what, pairs, c, counts)
    return wrong


def _wrong_pairs(what: str, pairs: Pairs, c: Wikipedia, counts: Counts) -> list[str]:
    wrong = []
    for side, rows in (("pictures", pairs.pictures), ("texts", pairs.texts)):
        if len(rows) != len(pairs):
            wrong.append(f"{len(rows):,} {what} {side} for {len(pairs):,} classes")
        if rows.shape[1] != getattr(c.train, side).shape[1]:
            wrong.append(f"{what} {side} have {rows.shape[1]} columns")
        if not (np.isfinite(rows).all() and rows.min(initial=0.0) >= 0):
            wrong.append(f"{what} {side} hold numbers that are no shares")
        elif np.abs(rows.sum(axis=1) - 1).max(initial=0.0) > _SUM:
            wrong.append(f"shares of {what} {side} do not add up to 1")
    if len(set(pairs.classes.tolist())) != counts.classes:
        wrong.append(f"{what} pairs of {len(set(pairs.classes.tolist()))} classes")
    return wrong


def _matrices(source: Source) -> dict[str, Doubles]:
    """Read the matrices; scipy's reader of such files runs no code in them."""
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import MatReadError

    content = source.read(FEATURES, _MOST_BYTES)
    try:
        # Tables are compressed, so a small file may hold very large ones.
        large = [n for n, shape, _ in whosmat(io.BytesIO(content)) if np.prod(shape) > _MOST_CELLS]
        if large:
            raise DataError(f"{source.where}: {FEATURES} holds the table {large[0]}, too large.")
        tables = loadmat(io.BytesIO(content), variable_names=_MATRICES)
    except DataError:
        raise
    except (MatReadError, NotImplementedError, ValueError, TypeError, OSError, IndexError) as e:
        raise DataError(f"{source.where}: {FEATURES} is no MATLAB file to be read. {e}") from e
    matrices = {}
    for name in _MATRICES:
        table = tables.get(name)
        if table is None or table.dtype.kind not in "fiu" or table.ndim != 2:
            raise DataError(f"{source.where}: {FEATURES} has no table of numbers {name}.")
        matrices[name] = np.ascontiguousarray(table, dtype=np.float64)
    return matrices


def _classes(source: Source, name: str) -> Ints:
    classes = []
    for number, line in enumerate(source.read(name).decode("utf-8").splitlines(), 1):
        parts = line.split("\t")
        if len(parts) != 3 or not parts[2].strip().isdecimal() or int(parts[2]) < 1:
            raise DataError(f"{source.where}: line {number} of {name} names no pair and class.")
        classes.append(int(parts[2]) - 1)
    return np.array(classes, dtype=np.int64)
