"""Whole pictures as vectors of EfficientNet-lite0, trained on ImageNet.

A picture is described by the mean of the network's last map, at one or several sizes, averaged with
its mirror image on request, and L2-normalised. One pass at 256 pixels ranks pictures better than
the mean of a picture and its mirror image at 224, the definition of earlier versions, and takes two
thirds of its time. Since the network was trained on ImageNet, results
with it are not comparable to those of features fitted without labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sightline.contracts import Json
from sightline.errors import ParameterError
from sightline.features.deep import session
from sightline.features.deep.network import LITE0, Network
from sightline.features.deep.outputs import check_sizes, identity, outputs_of, unit_vector

JOINS = ("mean", "concat")


class DeepVector:
    """The mean of the last map, 1280 numbers; the network was trained on ImageNet.

    Parameters
    ----------
    sizes : sequence of int
        Sides of the squares the picture is scaled to, in pixels.
    flips : bool
        Average over the picture and its mirror image, at twice the cost.
    join : str, default="mean"
        {"mean", "concat"} How the unit vectors of several sizes become one.
    framing : str, default="area"
        {"pad", "squash", "area"} See `sightline.features.deep.framing`.

    Examples
    --------
    >>> import numpy as np
    >>> row = DeepVector().describe(np.zeros((48, 64, 3), np.uint8))
    >>> row.shape, float(np.linalg.norm(row).round(4))
    ((1280,), 1.0)
    """

    name = "deep"
    version = 1
    network: ClassVar[Network] = LITE0

    def __init__(
        self,
        sizes: Sequence[int] = (256,),
        flips: bool = False,
        join: str = "mean",
        framing: str = "area",
    ) -> None:
        session.require(self.network)
        check_sizes(type(self).__name__, tuple(sizes), framing)
        if join not in JOINS:
            raise ParameterError.of("join", type(self).__name__, "'mean' or 'concat'", join)
        self.sizes, self.flips, self.join, self.framing = tuple(sizes), flips, join, framing
        self.length = self.network.outputs["vector"] * (len(self.sizes) if join == "concat" else 1)

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {
            **identity(self.network),
            "sizes": list(self.sizes),
            "flips": self.flips,
            "join": self.join,
            "framing": self.framing,
        }

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the picture's unit vector."""
        parts = [unit_vector(self._at(rgb, size)) for size in self.sizes]
        joined = np.concatenate(parts) if self.join == "concat" else np.mean(parts, axis=0)
        return unit_vector(joined)

    def _at(self, rgb: NDArray[np.uint8], size: int) -> NDArray[np.float32]:
        outputs = outputs_of(self.network, rgb, size, self.framing, self.flips)
        mean: NDArray[np.float32] = np.mean([o.vector for o in outputs], axis=0)
        return mean


class DeepScales(DeepVector):
    """The vectors of three sizes, averaged: slower, and steadier where things vary in size.

    The network was trained on ImageNet. Parameters as of `DeepVector`.
    """

    name = "deep-scales"
    version = 1

    def __init__(
        self,
        sizes: Sequence[int] = (160, 224, 288),
        flips: bool = True,
        join: str = "mean",
        framing: str = "area",
    ) -> None:
        super().__init__(sizes, flips, join, framing)
