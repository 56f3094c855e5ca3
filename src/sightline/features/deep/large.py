"""The same features from larger networks, EfficientNet-lite1 and lite2, trained on ImageNet.

Both have 21 blocks instead of 16 and were trained on larger pictures; lite2 is also wider. Blocks
4, 7, 11, 14, 15 and 20 correspond to 3, 5, 8, 10, 11 and 15 of the smallest network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sightline.features.deep.network import LITE1, LITE2, Network
from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepVector


class DeepLarge(DeepVector):
    """The mean of the last map of the largest network, 1280 numbers.

    The network was trained on ImageNet. Parameters as of `DeepVector`; by default pictures are as
    large as those it was trained on.
    """

    name = "deep-large"
    version = 1
    network: ClassVar[Network] = LITE2

    def __init__(
        self,
        sizes: Sequence[int] | None = None,
        flips: bool = True,
        join: str = "mean",
        framing: str = "area",
    ) -> None:
        super().__init__((self.network.size,) if sizes is None else sizes, flips, join, framing)


class DeepLargeStages(DeepStages):
    """Square roots of the mean activations of middle blocks of the largest network.

    The network was trained on ImageNet. Parameters as of `DeepStages`; by default pictures are as
    large as those it was trained on.
    """

    name = "deep-large-stages"
    version = 1
    network: ClassVar[Network] = LITE2

    def __init__(
        self,
        blocks: Sequence[int] = (11, 14, 15, 20),
        size: int | None = None,
        flips: bool = True,
        framing: str = "area",
    ) -> None:
        super().__init__(blocks, self.network.size if size is None else size, flips, framing)


class DeepLargePeaks(DeepPeaks):
    """The largest activations of middle blocks of the largest network.

    The network was trained on ImageNet. Parameters as of `DeepLargeStages`.
    """

    name = "deep-large-peaks"
    version = 1
    network: ClassVar[Network] = LITE2

    def __init__(
        self,
        blocks: Sequence[int] = (11, 14, 15),
        size: int | None = None,
        flips: bool = True,
        framing: str = "area",
    ) -> None:
        super().__init__(blocks, self.network.size if size is None else size, flips, framing)


class DeepMedium(DeepLarge):
    """As `DeepLarge`, by the network between the smallest and the largest."""

    name = "deep-medium"
    version = 1
    network: ClassVar[Network] = LITE1


class DeepMediumStages(DeepLargeStages):
    """As `DeepLargeStages`, by the network between the smallest and the largest."""

    name = "deep-medium-stages"
    version = 1
    network: ClassVar[Network] = LITE1


class DeepMediumPeaks(DeepLargePeaks):
    """As `DeepLargePeaks`, by the network between the smallest and the largest."""

    name = "deep-medium-peaks"
    version = 1
    network: ClassVar[Network] = LITE1
