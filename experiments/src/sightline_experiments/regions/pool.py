"""Regions of all pictures and their descriptors, computed in worker processes and cached.

Regions are those of `regions.segment`. Descriptors of texture need textons of training pictures, so
they are computed for every half; vectors of a network need no training here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Arrays, Floats, Int32s
from sightline.contracts import Compute, Done, Job, Json, Progress
from sightline.errors import DataError
from sightline.features.deep import session
from sightline.features.deep.network import LITE2
from sightline.regions.deep import region_vectors
from sightline.regions.descriptors import (
    Described,
    choose_textons,
    colours,
    region_positions,
    shapes,
    textures,
)
from sightline.regions.segment import Segmenter
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.msrc import MSRC, TITLE
from sightline_experiments.extraction import decoded

NETWORK, SIZE = LITE2, 320
TASK = "sightline_experiments.regions.pool:describe_regions"
_TEXTON_PICTURES = 80


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """The regions of one picture and their descriptors.

    Attributes
    ----------
    labels : the region of each pixel.
    arrays : shape, colour and place of regions, or the vectors of a network: a row of `deep` for
        each region and one of `whole` for the picture.
    """

    labels: Int32s
    arrays: Arrays

    def described(self, texture: Floats) -> Described:
        """Return the classic descriptors with textures."""
        a = self.arrays
        return Described(a["shape"], texture, a["colour"], a["place"])


class Pool:
    """Segments and describes pictures, and caches the result."""

    def __init__(self, c: MSRC, compute: Compute, cache: ArrayCache, progress: Progress) -> None:
        self.c, self.compute, self.cache, self.progress = c, compute, cache, progress

    def classic(self, cut: Segmenter) -> list[Cut]:
        """Return regions with their shapes, colours and places."""
        return self._segmented(cut, "classic", {})

    def deep(self, cut: Segmenter) -> list[Cut]:
        """Return regions with vectors of the network."""
        session.require(NETWORK)
        return self._segmented(cut, f"deep-{NETWORK.name}-{SIZE}", {})

    def textures(self, cuts: Sequence[Cut], pictures: NDArray[np.int64], key: str) -> list[Floats]:
        """Return textures of all pictures' regions by textons of some pictures."""
        some = np.sort(np.random.default_rng(0).permutation(pictures)[:_TEXTON_PICTURES])
        textons = choose_textons(list(decoded(self.c, some.tolist(), self.compute)))
        extra = {"textons": textons}
        texture_arrays = self._run("texture", cuts, extra, f"textures {key}")
        return [a["texture"] for a in texture_arrays]

    def _segmented(self, cut: Segmenter, what: str, extra: Arrays) -> list[Cut]:
        key = f"regions-{what}-{cut.scale:g}-{cut.sigma:g}-{cut.smallest:g}-{cut.most}"
        cached = self.cache.get(key)
        if cached is not None and int(cached["pictures"][0]) == len(self.c):
            return _unpacked(cached)
        args: dict[str, Json] = {
            "scale": cut.scale, "sigma": cut.sigma, "smallest": cut.smallest, "most": cut.most,
        }  # fmt: skip
        kind = "classic" if what == "classic" else "deep"
        pictures = self._run(kind, None, extra, f"cut into regions, {kind}", args)
        packed = _packed(pictures)
        self.cache.put(key, packed)
        return _unpacked(packed)

    def _run(
        self,
        kind: str,
        cuts: Sequence[Cut] | None,
        extra: Arrays,
        label: str,
        more: dict[str, Json] | None = None,
    ) -> list[Arrays]:
        n = len(self.c)
        self.progress.start(f"{TITLE}: {label}", n)
        answers = []
        args: dict[str, Json] = {"kind": kind, **(more or {})}
        try:
            for at, answer in enumerate(
                self.compute.run(TASK, self._jobs(cuts, extra, args), "describe")
            ):
                if not isinstance(answer, Done):
                    name = f"{self.c.source.where}: {self.c.files[at]}"
                    raise DataError(f"{name} has no regions: {answer.reason}.")
                answers.append(_load(answer.blob))
                self.progress.advance()
        finally:
            self.progress.finish()
        return answers

    def _jobs(
        self, cuts: Sequence[Cut] | None, extra: Arrays, args: dict[str, Json]
    ) -> Iterator[Job]:
        pictures = decoded(self.c, range(len(self.c)), self.compute)
        for at, rgb in enumerate(pictures):
            labels = {} if cuts is None else {"labels": cuts[at].labels}
            blob = _save({"rgb": rgb, **labels, **extra})
            yield Job(self.c.files[at].encode(), dict(args), blob)


def describe_regions(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Segment a picture, unless it has regions, and describe them (runs in a worker)."""
    received = _load(bytes(blob))
    rgb = received["rgb"]
    if args["kind"] == "texture":
        labels = received["labels"]
        n = int(labels.max()) + 1
        return Done({}, _save({"texture": textures(rgb, labels, n, received["textons"])}))
    cut = Segmenter(
        float(str(args["scale"])), float(str(args["sigma"])), float(str(args["smallest"])),
        int(str(args["most"])),
    )  # fmt: skip
    labels = cut.cut(rgb)
    n = int(labels.max()) + 1
    if args["kind"] == "classic":
        descriptors: Arrays = {
            "shape": shapes(labels, n), "colour": colours(rgb, labels, n),
            "place": region_positions(labels, n),
        }  # fmt: skip
    else:
        descriptors = {
            "deep": region_vectors(rgb, labels, NETWORK, SIZE),
            "whole": region_vectors(rgb, np.zeros_like(labels), NETWORK, SIZE),
        }
    return Done({}, _save({"labels": labels, **descriptors}))


def _save(arrays: Arrays) -> bytes:
    from safetensors.numpy import save

    content: bytes = save({k: np.ascontiguousarray(a) for k, a in arrays.items()})
    return content


def _load(content: bytes) -> Arrays:
    from safetensors.numpy import load

    arrays: Arrays = load(content)
    return arrays


def _packed(pictures: Sequence[Arrays]) -> Arrays:
    """Concatenate the arrays of many pictures, with the number of rows of each."""
    packed: Arrays = {
        "pictures": np.array([len(pictures)]),
        "size": np.array([a["labels"].shape for a in pictures], np.int64),
        # There are at most 50 regions in a picture.
        "labels": np.concatenate([a["labels"].ravel() for a in pictures]).astype(np.uint8),
    }
    for name in pictures[0]:
        if name != "labels":
            packed[f"rows.{name}"] = np.concatenate([a[name] for a in pictures])
            packed[f"count.{name}"] = np.array([len(a[name]) for a in pictures], np.int64)
    return packed


def _unpacked(packed: Arrays) -> list[Cut]:
    sizes = packed["size"]
    pixels = np.split(packed["labels"], np.cumsum(sizes.prod(axis=1))[:-1])
    names = [k.removeprefix("rows.") for k in packed if k.startswith("rows.")]
    rows: dict[str, list[NDArray[Any]]] = {
        n: np.split(packed[f"rows.{n}"], np.cumsum(packed[f"count.{n}"])[:-1]) for n in names
    }
    return [
        Cut(p.reshape(size).astype(np.int32), {n: rows[n][i] for n in names})
        for i, (p, size) in enumerate(zip(pixels, sizes.tolist(), strict=True))
    ]
