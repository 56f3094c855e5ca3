"""Boxes of words in an XMP packet, as the Metadata Working Group defines regions.

An area is given by its centre, as fractions of the picture as it is stored in the file. Cameras
only note the orientation in the file, so a box of the upright picture is rotated back first. None
of the four types of the standard (Face, Pet, Focus, BarCode) fits a word, so none is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sightline.exchange.xmp_text import Node
from sightline.records import Box

_SIDEWAYS = range(5, 9)
_Point = tuple[float, float]
# From the upright picture back to the file, by EXIF orientation.
_BACK: dict[int, Callable[[float, float], _Point]] = {
    2: lambda x, y: (1 - x, y),
    3: lambda x, y: (1 - x, 1 - y),
    4: lambda x, y: (x, 1 - y),
    5: lambda x, y: (y, x),
    6: lambda x, y: (y, 1 - x),
    7: lambda x, y: (1 - y, 1 - x),
    8: lambda x, y: (1 - y, x),
}


@dataclass(frozen=True, slots=True)
class Region:
    """A named box of the upright picture."""

    name: str
    box: Box


@dataclass(frozen=True, slots=True)
class RegionFrame:
    """Size of the upright picture, and the EXIF orientation of its file."""

    width: int
    height: int
    orientation: int = 1


UNKNOWN_FRAME = RegionFrame(0, 0)


def area(box: Box, orientation: int) -> Box:
    """Return centre and size of a box of the upright picture, in the coordinates of its file.

    >>> area((0.0, 0.0, 0.5, 0.25), 1)
    (0.25, 0.125, 0.5, 0.25)
    >>> area((0.0, 0.0, 0.5, 0.25), 6)  # the camera was turned: the file's top is on the right
    (0.125, 0.75, 0.25, 0.5)
    """
    x, y, width, height = box
    centre = x + width / 2, y + height / 2
    if orientation in _BACK:
        centre = _BACK[orientation](*centre)
    sides = (height, width) if orientation in _SIDEWAYS else (width, height)
    return (*centre, *sides)


def region_node(region: Region, orientation: int) -> Node:
    """Return the entry of one region in a list of regions."""
    x, y, w, h = (f"{v:.6f}".rstrip("0").rstrip(".") for v in area(region.box, orientation))
    sides = {"stArea:x": x, "stArea:y": y, "stArea:w": w, "stArea:h": h}
    parts = (
        Node("mwg-rs:Name", text=region.name),
        Node("mwg-rs:Area", {**sides, "stArea:unit": "normalized"}),
    )
    return Node("rdf:li", {"rdf:parseType": "Resource"}, parts)


def regions_node(regions: Sequence[Region], frame: RegionFrame) -> Node:
    """Return the property that lists a picture's regions."""
    width, height = frame.width, frame.height
    if frame.orientation in _SIDEWAYS:
        width, height = height, width
    size = {"stDim:w": str(width), "stDim:h": str(height), "stDim:unit": "pixel"}
    entries = tuple(region_node(r, frame.orientation) for r in regions)
    parts = (
        Node("mwg-rs:AppliedToDimensions", size),
        Node("mwg-rs:RegionList", parts=(Node("rdf:Bag", parts=entries),)),
    )
    return Node("mwg-rs:Regions", {"rdf:parseType": "Resource"}, parts)
