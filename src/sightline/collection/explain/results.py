"""The explanation of a hit, its words, features and parts, as records, text and JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Floats
from sightline.collection.search.signed_words import BEHIND
from sightline.contracts import Json
from sightline.errors import ParameterError
from sightline.records import NOT_YET_PROVEN, Hit, percent


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """How hits are explained.

    Attributes
    ----------
    blocks : int
        Number of blocks along the longer side of a picture.
    pictures : int
        Number of hits, the first ones, that get an occlusion map.
    exact : bool
        Whether exact contributions replace losses where a score is a sum over blocks.
    predicted : bool
        Whether the search used the model.
    """

    blocks: int = 6
    pictures: int = 12
    exact: bool = True
    predicted: bool = True

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ParameterError.of("blocks", "why", "at least 1", self.blocks)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a picture, which overlap by half: each is two by two cells.

    Cells divide the picture as evenly as whole pixels allow (in Grangier and Bengio, 2008, blocks
    that do not fit at the right and bottom edge are left out). `down` and `right` are the edges of
    the cells in pixels. `height` and `width` are the picture's; the cells of a descriptor may leave
    out a strip of it.

    Examples
    --------
    >>> blocks = Blocks.of(60, 90, 5)
    >>> blocks.rows, blocks.columns, blocks.right
    (3, 5, (0, 15, 30, 45, 60, 75, 90))
    >>> Blocks.of(2, 90, 5).down
    (0, 1, 2)
    """

    height: int
    width: int
    down: tuple[int, ...]
    right: tuple[int, ...]

    @classmethod
    def of(cls, height: int, width: int, along: int) -> Blocks:
        """Return blocks of a picture, `along` of them on its longer side, about square."""
        cell = max(height, width) / (along + 1)
        return cls(height, width, _edges(height, cell), _edges(width, cell))

    @property
    def rows(self) -> int:
        """The number of rows of blocks."""
        return len(self.down) - 2

    @property
    def columns(self) -> int:
        """The number of columns of blocks."""
        return len(self.right) - 2

    def __len__(self) -> int:
        return self.rows * self.columns

    def boxes(self) -> Iterator[tuple[slice, slice]]:
        """Yield the pixels of each block, row by row."""
        for top, bottom in zip(self.down, self.down[2:], strict=False):
            for left, right in zip(self.right, self.right[2:], strict=False):
                yield slice(top, bottom), slice(left, right)

    def in_cells(self, values: NDArray[Any]) -> Floats:
        """Return the mean of the blocks that cover each cell; `values` has one per block.

        >>> Blocks.of(90, 60, 2).in_cells(np.array([[1.0], [3.0]])).tolist()
        [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
        """
        shape = self.rows + 1, self.columns + 1
        total, count = np.zeros(shape), np.zeros(shape)
        for i in (0, 1):
            for j in (0, 1):
                covered = slice(i, i + self.rows), slice(j, j + self.columns)
                total[covered] += values
                count[covered] += 1
        return (total / count).astype(np.float32)


def _edges(pixels: int, cell: float) -> tuple[int, ...]:
    """Return the edges of cells along a side; at least two cells, so that there is one block."""
    n = max(2, min(round(pixels / cell), pixels))
    return tuple(k * pixels // n for k in range(n + 1))


@dataclass(frozen=True, slots=True)
class WordShare:
    """The contribution of one word of a query to a hit.

    Attributes
    ----------
    word : str
        The normalised word.
    tagged : bool
        Whether the picture has it as a tag.
    weight, number : float
        Its weight in the query and its score; a tag of a predicted hit has the score of a picture
        known to fit it.
    contribution : float
        Their product. The contributions to a predicted hit add up to the score that its probability
        comes from; those to a hit with tags of the query add up to its cosine.
    seen : float or None
        The probability that the model predicts from the picture alone for this word; None without a
        model that has learned the word.
    learned : bool
        False if there is a model that has not learned the word; it then contributes nothing to the
        prediction.
    proven : bool
        False if too few held-out pictures measure the word; `seen` is then None.
    """

    word: str
    tagged: bool
    weight: float
    number: float
    contribution: float
    seen: float | None = None
    learned: bool = True
    proven: bool = True

    def text(self, *, predicted: bool) -> str:
        """Return the contribution as text, for a predicted hit or one with tags of the query."""
        sum_of = f"{_number(self.contribution)} = {self.weight:.3g} × {_number(self.number)}"
        likely = "" if self.seen is None else f"{percent(self.seen)} likely"
        likely = likely if self.proven else NOT_YET_PROVEN
        mark = "tagged" if self.tagged else "not tagged"
        if predicted and not self.learned:
            return f"0  not learned, so it does not count ({mark})"
        if predicted and not self.tagged:
            return f"{sum_of}  {likely}"
        return f"{sum_of}  {mark}" + (f" ({likely} by the picture alone)" if likely else "")

    def to_dict(self) -> dict[str, Json]:
        """Return the share as JSON."""
        return {
            "word": self.word, "tagged": self.tagged, "carried": self.tagged,
            "weight": _short(self.weight), "number": _short(self.number),
            "contribution": _short(self.contribution),
            "seen": None if self.seen is None else _short(self.seen), "learned": self.learned,
            "proven": self.proven,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class SignShare:
    """What a word with a plus or a minus did to a hit.

    Attributes
    ----------
    word : str
        The word without its sign.
    required : bool
        True for a plus, false for a minus.
    tagged : bool
        Whether the picture has it as a tag.
    by : {"tags", "prediction"}
        What decided: tags on pictures that have any, else the prediction of a learned word.
    probability : float or None
        The probability that the model predicts for it from the picture; None without a prediction,
        for a tag, and for a word that is not yet proven.
    cutoff : float or None
        The least probability of hits in a search for the word; None where tags decided.
    factor : float
        What the probability of the hit was multiplied by.
    proven : bool
        False if too few held-out pictures measure the word.
    """

    word: str
    required: bool
    tagged: bool
    by: Literal["tags", "prediction"]
    probability: float | None = None
    cutoff: float | None = None
    factor: float = 1.0
    proven: bool = True

    def __str__(self) -> str:
        return f"{'+' if self.required else '-'}{self.word}"

    def text(self) -> str:
        """Return what decided, as text.

        >>> SignShare("grass", False, False, "prediction", 0.07, 0.3, 0.93).text()
        'predicted: 7 % likely, so 93 % of the probability is left'
        >>> SignShare("barn", True, True, "tags").text()
        'by tags: tagged'
        """
        likely = "" if self.probability is None else f"{percent(self.probability)} likely"
        likely = likely if self.proven else NOT_YET_PROVEN
        if self.by == "tags":
            known = "tagged" if self.tagged else "not tagged"
            alone = f" ({likely} by the picture alone)" if likely and not self.tagged else ""
            return f"by tags: {known}{alone}"
        if self.factor <= BEHIND:
            return f"predicted: {likely}, so it goes behind all others"
        if not self.proven:
            return f"predicted: {likely}"
        if self.required:
            return f"predicted: {likely}, of at least {percent(self.cutoff or 0.0)}"
        return f"predicted: {likely}, so {percent(self.factor)} of the probability is left"

    def to_dict(self) -> dict[str, Json]:
        """Return the share as JSON."""
        shown = self.by == "prediction" and self.proven
        return {
            "word": self.word, "required": self.required, "tagged": self.tagged, "by": self.by,
            "probability": None if self.probability is None else _short(self.probability),
            "cutoff": _short(self.cutoff) if shown and self.cutoff is not None else None,
            "factor": _short(self.factor) if shown else None, "proven": self.proven,
            "text": self.text(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeatureShare:
    """The contribution of one feature: the loss of score without its information."""

    feature: str
    contribution: float

    def to_dict(self) -> dict[str, Json]:
        """Return the share as JSON."""
        return {"feature": self.feature, "contribution": _short(self.contribution)}


@dataclass(frozen=True, slots=True, eq=False)
class OcclusionMap:
    """The contribution of each block of a picture to the model's prediction.

    Attributes
    ----------
    blocks : Blocks
        The positions of the blocks.
    of_words : ndarray of shape (words, rows, columns)
        Contributions to the learned words of the query, in order, in units of the score.
    score : float
        The predicted score of the whole picture: the sum over words of weight times score.
    likely : tuple of float
        The predicted probabilities that the picture fits the query and each of its words.
    without : tuple of float
        The same without the block that contributes most; empty for exact contributions.
    exact : bool
        Whether the values are exact contributions, which add up to the score less `rest`, or
        losses.
    rest : float
        The part of an exact score that belongs to no block.
    held : tuple of str
        Features of the model that could not be recomputed; their effect is left out.
    """

    blocks: Blocks
    of_words: Floats
    score: float
    likely: tuple[float, ...]
    without: tuple[float, ...] = ()
    exact: bool = False
    rest: float = 0.0
    held: tuple[str, ...] = ()

    @property
    def of_query(self) -> Floats:
        """The contributions to the query's score, (rows, columns): the sum over its words."""
        out: Floats = self.of_words.sum(axis=0)
        return out

    def to_dict(self) -> dict[str, Json]:
        """Return the map as JSON; edges are fractions of the height and the width."""
        b = self.blocks
        return {
            "parts": _rows(self.of_query),
            "rows": b.rows,
            "columns": b.columns,
            "down": [_short(e / b.height) for e in b.down],
            "right": [_short(e / b.width) for e in b.right],
            "seen_score": _short(self.score),
            "exact": self.exact,
            "rest": _short(self.rest),
            "held": list[Json](self.held),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The explanation of one hit's score.

    Attributes
    ----------
    hit : Hit
        The hit itself.
    words : tuple of WordShare
        The contributions of the query's words that any picture has.
    parts : OcclusionMap or None
        The occlusion map; None if `problem` says why, and for hits beyond the limit.
    picture : ndarray of uint8 or None
        Its pixels, for drawing.
    features : tuple of FeatureShare
        The contributions of the model's features.
    signs : tuple of SignShare
        What the words with a plus or a minus did.
    model, recipe : str
        The name of the word model and its recipe; empty without one.
    """

    hit: Hit
    words: tuple[WordShare, ...]
    parts: OcclusionMap | None = None
    problem: str = ""
    picture: RGB | None = field(default=None, repr=False)
    features: tuple[FeatureShare, ...] = ()
    model: str = ""
    recipe: str = ""
    signs: tuple[SignShare, ...] = ()

    @property
    def learned(self) -> tuple[WordShare, ...]:
        """The learned words, in the order of `parts`."""
        return tuple(w for w in self.words if w.learned)

    def heat_map(self, path: str | os.PathLike[str]) -> None:
        """Draw the picture with its occlusion map, as PNG."""
        from sightline.collection.explain.drawing import save_sheet

        save_sheet([self], "", path)

    def lines(self) -> list[str]:
        """Return the contribution of each word as a line of text."""
        texts = [(w.word, w.text(predicted=self.hit.learned)) for w in self.words]
        texts += [(str(s), s.text()) for s in self.signs]
        wide = max((len(word) for word, _ in texts), default=0)
        return [f"{word:<{wide}}  {text}" for word, text in texts]

    def to_dict(self) -> dict[str, Json]:
        """Return the explanation as JSON."""
        words = [w.to_dict() for w in self.words]
        learned = [share for share, w in zip(words, self.words, strict=True) if w.learned]
        parts: dict[str, Json] = {"parts": None, "rows": 0, "columns": 0}
        if self.parts is not None:
            parts = self.parts.to_dict()
            for share, values in zip(learned, self.parts.of_words, strict=True):
                share["parts"] = _rows(values)
        return {
            "words": list[Json](words), "signs": [s.to_dict() for s in self.signs],
            "features": [f.to_dict() for f in self.features], **parts,
            "model": self.model or None, "recipe": self.recipe or None, "problem": self.problem,
        }  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 0.0005 else "0"


def _short(value: float) -> float:
    return round(float(value), 6)


def _rows(values: Floats) -> list[Json]:
    return [[_short(v) for v in row] for row in values.tolist()]
