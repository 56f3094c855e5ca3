"""What is said of a hit: its words, the parts of its picture, as records, text and JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightline.collection.explain.blocks import Blocks
from sightline.contracts import Json
from sightline.errors import ParameterError
from sightline.records import Hit

Float = NDArray[np.float32]
RGB = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """How hits are explained.

    Attributes
    ----------
    blocks : int
        How many lie along a picture's longer side.
    pictures : int
        How many hits, the first ones, are looked at part by part.
    exact : bool
        Whether shares are given in place of losses where a score is a sum over blocks.
    learnt : bool
        Whether the search used the model.
    """

    blocks: int = 6
    pictures: int = 12
    exact: bool = True
    learnt: bool = True

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ParameterError.of("blocks", "why", "at least 1", self.blocks)


@dataclass(frozen=True, slots=True)
class WordShare:
    """What one word of a query did for a hit.

    Attributes
    ----------
    word : str
        As it was understood.
    carried : bool
        Whether the picture carries it.
    weight, number : float
        Its weight in the query and the number it counts with; a carried word of a learnt hit counts
        with that of a picture known to carry it.
    contribution : float
        Their product. Those of a learnt hit add up to the score from which its probability comes;
        those of a hit that carries words add up to its cosine.
    seen : float or None
        What the model sees in the picture alone, as the probability with which the picture would be
        found by this word alone; None without a model that has learned the word.
    learned : bool
        False if there is a model and it has not learned the word, which then counts nothing in what
        is predicted.
    """

    word: str
    carried: bool
    weight: float
    number: float
    contribution: float
    seen: float | None = None
    learned: bool = True

    def text(self, *, predicted: bool) -> str:
        """Say what the word did for a hit that a model found, or that carries words."""
        sum_of = f"{_number(self.contribution)} = {self.weight:.3g} × {_number(self.number)}"
        likely = "" if self.seen is None else f"{self.seen:.0%} likely"
        mark = "carried" if self.carried else "not carried"
        if predicted and not self.learned:
            return f"0  not learned, so it does not count ({mark})"
        if predicted and not self.carried:
            return f"{sum_of}  {likely}"
        return f"{sum_of}  {mark}" + (f" ({likely} by the picture alone)" if likely else "")

    def as_json(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {
            "word": self.word, "carried": self.carried, "weight": _short(self.weight),
            "number": _short(self.number), "contribution": _short(self.contribution),
            "seen": None if self.seen is None else _short(self.seen), "learned": self.learned,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeatureShare:
    """What one descriptor did: what the score would lose if it told nothing of the picture."""

    feature: str
    contribution: float

    def as_json(self) -> dict[str, Json]:
        """Return it as plain values."""
        return {"feature": self.feature, "contribution": _short(self.contribution)}


@dataclass(frozen=True, slots=True, eq=False)
class OcclusionMap:
    """What each block of a picture contributes to what the model sees in it.

    Attributes
    ----------
    blocks : Blocks
        Where they lie.
    of_words : ndarray of shape (words, rows, columns)
        In the order of the query's words that were learned, in units of the score.
    score : float
        Of the whole picture, as the model sees it: the sum over words of weight times number.
    likely : tuple of float
        How likely the picture, as the model sees it, fits the query and each of its words.
    without : tuple of float
        The same without the part that contributes most; empty for exact shares.
    exact : bool
        Whether they are shares, that add up to the score less `rest`, or losses.
    rest : float
        Of exact shares, what belongs to no block.
    held : tuple of str
        Features the model sees that could not be computed again; what they see is left out.
    """

    blocks: Blocks
    of_words: Float
    score: float
    likely: tuple[float, ...]
    without: tuple[float, ...] = ()
    exact: bool = False
    rest: float = 0.0
    held: tuple[str, ...] = ()

    @property
    def of_query(self) -> Float:
        """The contributions to the query's score, (rows, columns): the sum over its words."""
        out: Float = self.of_words.sum(axis=0)
        return out

    def as_json(self) -> dict[str, Json]:
        """Return it as plain values; edges are in shares of the height and the width."""
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
    """What made the score of one hit.

    Attributes
    ----------
    hit : Hit
        The hit itself.
    words : tuple of WordShare
        What each of the query's words did that any picture carries.
    parts : OcclusionMap or None
        What each part of the picture did; None where `problem` says why not, and for hits that come
        too late to be looked at.
    picture : ndarray of uint8 or None
        Its pixels, for drawing.
    features : tuple of FeatureShare
        What each descriptor that the model sees did.
    model, recipe : str
        The name of the model that saw it and how it was made; empty without one.
    """

    hit: Hit
    words: tuple[WordShare, ...]
    parts: OcclusionMap | None = None
    problem: str = ""
    picture: RGB | None = field(default=None, repr=False)
    features: tuple[FeatureShare, ...] = ()
    model: str = ""
    recipe: str = ""

    @property
    def learned(self) -> tuple[WordShare, ...]:
        """The words that `parts` tell of, in their order."""
        return tuple(w for w in self.words if w.learned)

    def heat_map(self, path: str | os.PathLike[str]) -> None:
        """Draw the picture with what its parts did, as PNG."""
        from sightline.collection.explain.drawing import save_sheet

        save_sheet([self], "", path)

    def lines(self) -> list[str]:
        """Return what each word did, a line for each."""
        wide = max((len(w.word) for w in self.words), default=0)
        return [f"{w.word:<{wide}}  {w.text(predicted=self.hit.learned)}" for w in self.words]

    def as_json(self) -> dict[str, Json]:
        """Return it as plain values."""
        words = [w.as_json() for w in self.words]
        learned = [said for said, w in zip(words, self.words, strict=True) if w.learned]
        seen: dict[str, Json] = {"parts": None, "rows": 0, "columns": 0}
        if self.parts is not None:
            seen = self.parts.as_json()
            for said, values in zip(learned, self.parts.of_words, strict=True):
                said["parts"] = _rows(values)
        return {
            "words": list[Json](words), "features": [f.as_json() for f in self.features], **seen,
            "model": self.model or None, "recipe": self.recipe or None, "problem": self.problem,
        }  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) >= 0.0005 else "0"


def _short(value: float) -> float:
    return round(float(value), 6)


def _rows(values: Float) -> list[Json]:
    return [[_short(v) for v in row] for row in values.tolist()]
