"""Visual terms by name: `b64_k10000` counts the terms of 64-pixel blocks in a codebook of 10,000.

A name is `b` and block sides, `k` and the size of each codebook and, where parts of the picture are
counted separately, `s` and the number of parts a side: `b32+64_k2000_s1+2`. Sides are relative to
a picture of 384 pixels, as in the paper; pictures of half that size have blocks of half the side.
The class of a name is an attribute of this module, so that a worker can import it.

Departure from `features.local.visterms`: a codebook may have as many terms as a fourth of the
blocks there are, since the paper has 3,000 terms of 13,500 blocks.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from sightline._typing import RGB, Floats
from sightline.errors import ParameterError
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.codebook import ReducedCodebook, codebook
from sightline.features.local.color import choose_colors, color_table, sample_pixels
from sightline.features.local.gaussians import Gaussians
from sightline.features.local.visterms import Visterms

_NAME = re.compile(r"b(\d+(?:\+\d+)*)_k(\d+)(?:_s(\d+(?:\+\d+)*))?")
_GAUSSIANS = re.compile(r"g(\d+(?:\+\d+)*)")
_SAMPLE = 400_000  # blocks; as many take 170 MB
_LEAST_BLOCKS = 4  # for each term


class BlockGaussians(Gaussians):
    """Means and variances of blocks, every pixel of a block counted."""

    every = 1


class BlockTerms(Visterms):
    """Counts of visual terms, every pixel of a block counted."""

    every = 1


def is_terms(name: str) -> bool:
    """Return whether a name is one of visual terms."""
    return _NAME.fullmatch(name) is not None


def is_gaussians(name: str) -> bool:
    """Return whether a name is one of means and variances of blocks."""
    return _GAUSSIANS.fullmatch(name) is not None


@cache
def gaussians_class(name: str) -> type[BlockGaussians]:
    """Return the class of a name.

    >>> gaussians_class("g32+64").blocks
    (32, 64)
    """
    match = _GAUSSIANS.fullmatch(name)
    if match is None:
        raise ParameterError.of("name", "gaussians_class", "such as 'g64'", name)
    blocks = tuple(int(b) for b in match[1].split("+"))
    return type(name, (BlockGaussians,), {"name": name, "blocks": blocks, "__module__": __name__})


@cache
def terms_class(name: str) -> type[BlockTerms]:
    """Return the class of a name.

    >>> terms_class("b32+64_k2000_s1+2").blocks
    (32, 64)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ParameterError.of("name", "terms_class", "such as 'b64_k10000'", name)
    blocks, n_centers, spatial = match.groups()
    settings: dict[str, Any] = {
        "name": name,
        "blocks": tuple(int(b) for b in blocks.split("+")),
        "n_centers": int(n_centers),
        "spatial": tuple(int(s) for s in (spatial or "1").split("+")),
        "__module__": __name__,
    }
    return type(name, (BlockTerms,), settings)


def __getattr__(name: str) -> Any:
    if is_terms(name):
        return terms_class(name)
    if is_gaussians(name):
        return gaussians_class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def fit_colors(pictures: Sequence[RGB], seed: int = 0) -> Floats:
    """Return the 50 colours that blocks are described by."""
    return choose_colors(sample_pixels(pictures, seed=seed), BlockTerms.n_colors, seed)


def fit_terms(
    name: str, pictures: Sequence[RGB], colors: Floats, seed: int = 0
) -> Mapping[str, Floats]:
    """Return the arrays of a name's class: colours, and for each block size what it is fitted."""
    if is_gaussians(name):
        return gaussians_class(name).fit_floors(pictures, colors)
    kind = terms_class(name)
    arrays = {"colors": colors}
    for block in kind.blocks:
        points = _blocks(pictures, block, colors, seed)
        n = max(2, min(kind.n_centers, len(points) // _LEAST_BLOCKS))
        with warnings.catch_warnings():
            # Few different blocks make fewer terms, which a row's length says.
            warnings.simplefilter("ignore", ReducedCodebook)
            arrays[f"centers{block}"] = codebook(points, n, seed)
    return arrays


def _blocks(pictures: Sequence[RGB], block: int, colors: Floats, seed: int) -> Floats:
    """Return the blocks of all pictures, or a sample of them, as many of each picture."""
    rng = np.random.default_rng(seed)
    table, most = color_table(colors), max(1, _SAMPLE // len(pictures))
    parts = []
    for rgb in pictures:
        ((_, points),) = block_descriptors(rgb, table, len(colors), (block,), every=1)
        if len(points) > most:
            points = points[np.sort(rng.choice(len(points), most, replace=False))]
        parts.append(points)
    return np.concatenate(parts)
