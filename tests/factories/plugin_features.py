"""Features as a plugin would have them: two valid ones, and one for each violated requirement."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json

Row = NDArray[np.float32]
RGB = NDArray[np.uint8]


class MeanColour:
    """The mean of each colour, from 0 to 1."""

    name = "mean-colour"
    version = 1
    length = 3

    @property
    def parameters(self) -> dict[str, Json]:
        return {"scale": 255}

    def describe(self, rgb: RGB) -> Row:
        return np.asarray(rgb.reshape(-1, 3).mean(axis=0) / 255, np.float32)


class Size(MeanColour):
    """Height and width, as the describe worker saw them."""

    name = "size"
    length = 2

    def describe(self, rgb: RGB) -> Row:
        return np.array(rgb.shape[:2], np.float32)


def red(rgb: RGB) -> bool:
    """Return whether the features below fail on a picture."""
    return bool(rgb[..., 0].mean() > 200 and rgb[..., 1].mean() < 50)


class RaisesAtRed(MeanColour):
    name = "raises-at-red"

    def describe(self, rgb: RGB) -> Row:
        if red(rgb):
            raise RuntimeError("I do not like red")
        return super().describe(rgb)


class NotFiniteAtRed(MeanColour):
    name = "not-finite-at-red"

    def describe(self, rgb: RGB) -> Row:
        row = super().describe(rgb)
        return row * np.float32(np.nan) if red(rgb) else row


class WrongShapeAtRed(MeanColour):
    name = "wrong-shape-at-red"

    def describe(self, rgb: RGB) -> Row:
        row = super().describe(rgb)
        return row[:2] if red(rgb) else row


# -- one for each requirement that check_feature has to find violated ----------------------------


class NoName(MeanColour):
    name = ""


class BadName(MeanColour):
    name = "mean/colour"


class NoLength(MeanColour):
    length = 0


class TextVersion(MeanColour):
    version: Any = "one"


class OddParameters(MeanColour):
    @property
    def parameters(self) -> dict[str, Any]:
        return {"scale": {1, 2}}


class NanParameters(MeanColour):
    @property
    def parameters(self) -> dict[str, Json]:
        return {"scale": float("nan")}


class RestlessParameters(MeanColour):
    def __init__(self) -> None:
        self._count = itertools.count()

    @property
    def parameters(self) -> dict[str, Json]:
        return {"scale": next(self._count)}


class Double(MeanColour):
    def describe(self, rgb: RGB) -> Any:
        return super().describe(rgb).astype(np.float64)


class PlainList(MeanColour):
    def describe(self, rgb: RGB) -> Any:
        return super().describe(rgb).tolist()


class WrongShape(MeanColour):
    def describe(self, rgb: RGB) -> Row:
        return super().describe(rgb)[None]


class ShapeOfSize(MeanColour):
    """Violates a requirement only for small pictures."""

    def describe(self, rgb: RGB) -> Row:
        row = super().describe(rgb)
        return row if min(rgb.shape[:2]) > 16 else row[:1]


class NotFinite(MeanColour):
    def describe(self, rgb: RGB) -> Row:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(super().describe(rgb))  # Minus infinity for black.


class Writes(MeanColour):
    def describe(self, rgb: RGB) -> Row:
        rgb[0, 0] = 0
        return super().describe(rgb)


class WritesByForce(MeanColour):
    def describe(self, rgb: RGB) -> Row:
        row = super().describe(rgb)
        rgb.flags.writeable = True
        rgb[0, 0] += 1
        return row


class Restless(MeanColour):
    def __init__(self) -> None:
        self._random = np.random.default_rng(0)

    def describe(self, rgb: RGB) -> Row:
        return super().describe(rgb) + self._random.random(3, np.float32)


class Remembers(MeanColour):
    """Mixes in a little of the picture it saw before."""

    def __init__(self) -> None:
        self._last = np.zeros(3, np.float32)

    def describe(self, rgb: RGB) -> Row:
        row = super().describe(rgb)
        mixed = row + self._last / 8
        self._last = row
        return mixed.astype(np.float32)


class SaysNothing(MeanColour):
    def describe(self, rgb: RGB) -> Row:
        return np.ones(3, np.float32)


class Fails(MeanColour):
    def describe(self, rgb: RGB) -> Row:
        raise IndexError("out of range")


class NoDescribe:
    name, version, length = "half", 1, 3
    parameters: dict[str, Json] = {}  # noqa: RUF012
