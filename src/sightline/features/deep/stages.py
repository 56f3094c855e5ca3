"""Features of the network's middle blocks: textures, parts and colours.

The middle blocks keep what the last map has discarded, since ImageNet's classes do not depend on
it: they distinguish drawings, symbols and styles better. The network is EfficientNet-lite0, trained
on ImageNet.
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


class DeepStages:
    """Square roots of the mean activations of middle blocks, each block L2-normalised, joined.

    The root keeps a few strong channels from dominating the many weak ones; activations are never
    negative here. The network was trained on ImageNet.

    Parameters
    ----------
    blocks : sequence of int
        Which blocks, among 3, 5, 8, 10, 11 and 15; early ones detect colours and edges.
    size : int
        Side of the square the picture is scaled to, in pixels.
    flips : bool
        Average over the picture and its mirror image, at twice the cost.
    framing : str, default="area"
        {"pad", "squash", "area"} See `sightline.features.deep.framing`.
    """

    name = "deep-stages"
    version = 1
    network: ClassVar[Network] = LITE0

    def __init__(
        self,
        blocks: Sequence[int] = (8, 10, 11, 15),
        size: int = 256,
        flips: bool = False,
        framing: str = "area",
    ) -> None:
        session.require(self.network)
        check_sizes(type(self).__name__, (size,), framing)
        known = list(self.network.parts)
        if not blocks or not set(blocks) <= set(known):
            raise ParameterError.of("blocks", type(self).__name__, f"some of {known}", blocks)
        self.blocks, self.size, self.flips, self.framing = tuple(blocks), size, flips, framing
        parts = [self.network.parts[b] for b in self.blocks]
        self.length = sum(part.stop - part.start for part in parts)

    @property
    def parameters(self) -> dict[str, Json]:
        """What the vectors depend on besides name and version."""
        return {
            **identity(self.network),
            "blocks": list(self.blocks),
            "size": self.size,
            "flips": self.flips,
            "framing": self.framing,
        }

    def describe(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the activations of all blocks, joined and L2-normalised."""
        values = self._values(rgb)
        of_blocks = [unit_vector(values[self.network.parts[b]]) for b in self.blocks]
        return unit_vector(np.concatenate(of_blocks))

    def _values(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        outputs = outputs_of(self.network, rgb, self.size, self.framing, self.flips)
        # Rounding may leave a mean slightly below zero.
        roots: NDArray[np.float32] = np.sqrt(np.maximum(np.mean([o.stages for o in outputs], 0), 0))
        return roots


class DeepPeaks(DeepStages):
    """The largest activations of middle blocks: whatever is in the picture, however small.

    Parameters as of `DeepStages`. The network was trained on ImageNet.
    """

    name = "deep-peaks"
    version = 1

    def __init__(
        self,
        blocks: Sequence[int] = (8, 10, 11),
        size: int = 256,
        flips: bool = False,
        framing: str = "area",
    ) -> None:
        super().__init__(blocks, size, flips, framing)

    def _values(self, rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        outputs = outputs_of(self.network, rgb, self.size, self.framing, self.flips)
        mean: NDArray[np.float32] = np.mean([o.peaks for o in outputs], axis=0)
        return mean
