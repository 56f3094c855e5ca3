"""The same features from EfficientNet-lite2, a larger network, trained on ImageNet.

It has 21 blocks instead of 16, wider ones, and was trained on larger pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sightline.features.deep.network import LITE2, Network
from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepVector


class DeepLarge(DeepVector):
    """The mean of the last map of the larger network, 1280 numbers.

    The network was trained on ImageNet. Parameters as of `DeepVector`.
    """

    name = "deep-large"
    version = 1
    network: ClassVar[Network] = LITE2

    def __init__(
        self,
        sizes: Sequence[int] = (260,),
        flips: bool = True,
        join: str = "mean",
        framing: str = "area",
    ) -> None:
        super().__init__(sizes, flips, join, framing)


class DeepLargeStages(DeepStages):
    """Square roots of the mean activations of middle blocks of the larger network.

    Its blocks 4, 7, 11, 14, 15 and 20 stand where 3, 5, 8, 10, 11 and 15 stand in the smaller one.
    The network was trained on ImageNet. Parameters as of `DeepStages`.
    """

    name = "deep-large-stages"
    version = 1
    network: ClassVar[Network] = LITE2

    def __init__(
        self,
        blocks: Sequence[int] = (11, 14, 15, 20),
        size: int = 260,
        flips: bool = True,
        framing: str = "area",
    ) -> None:
        super().__init__(blocks, size, flips, framing)


class DeepLargePeaks(DeepPeaks):
    """The largest activations of middle blocks of the larger network.

    The network was trained on ImageNet. Parameters as of `DeepLargeStages`.
    """

    name = "deep-large-peaks"
    version = 1
    network: ClassVar[Network] = LITE2

    def __init__(
        self,
        blocks: Sequence[int] = (11, 14, 15),
        size: int = 260,
        flips: bool = True,
        framing: str = "area",
    ) -> None:
        super().__init__(blocks, size, flips, framing)
