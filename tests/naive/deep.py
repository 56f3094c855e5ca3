"""A slow, plain twin of EfficientNet-lite: one picture, float64, batch norm not folded."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
# (blocks, stride of the first, channels) of each group, from the table in the EfficientNet paper.
GROUPS = ((1, 1, 16), (2, 2, 24), (2, 2, 40), (3, 2, 80), (3, 1, 112), (4, 2, 192), (1, 1, 320))


def repeats(depth: float) -> tuple[int, ...]:
    """Return the blocks of each group; the lite variants leave the first and the last as it is."""
    first, *middle, last = (blocks for blocks, _, _ in GROUPS)
    return (first, *(ceil(depth * blocks) for blocks in middle), last)


def widths(width: float) -> tuple[int, ...]:
    """Return the channels of each group: the nearest multiple of 8 that loses at most a tenth."""
    found = []
    for _, _, channels in GROUPS:
        wanted = channels * width
        near = max(8, int(wanted + 4) // 8 * 8)
        found.append(near if near >= 0.9 * wanted else near + 8)
    return tuple(found)


def padded(x: Real, kernel: int, stride: int) -> Real:
    """Pad (channels, height, width) with zeros as TensorFlow's "same" does: the odd one last."""
    widths = [(0, 0)]
    for n in x.shape[1:]:
        total = max((-(-n // stride) - 1) * stride + kernel - n, 0)
        widths.append((total // 2, total - total // 2))
    return np.pad(x, widths)


def conv(x: Real, kernel: Real, stride: int) -> Real:
    """Slide the kernel over every place; a kernel of one input channel filters each by itself."""
    n_out, n_in, size, _ = kernel.shape
    big = padded(x, size, stride)
    height, width = (-(-n // stride) for n in x.shape[1:])
    found = np.zeros((n_out, height, width))
    for r in range(height):
        for c in range(width):
            top, left = r * stride, c * stride
            patch = big[:, top : top + size, left : left + size]
            if n_in == 1:
                found[:, r, c] = (patch * kernel[:, 0]).sum(axis=(1, 2))
            else:
                found[:, r, c] = np.tensordot(kernel, patch, 3)
    return found


def batch_norm(x: Real, weights: Mapping[str, NDArray[np.float32]], name: str) -> Real:
    """Subtract the mean, divide by the deviation, scale and shift."""
    mean, variance, scale, shift = (
        weights[f"{name}.{part}"].astype(np.float64)[:, None, None]
        for part in ("running_mean", "running_var", "weight", "bias")
    )
    normed: Real = (x - mean) / np.sqrt(variance + 1e-3) * scale + shift
    return normed


def relu6(x: Real) -> Real:
    """Cut off below 0 and above 6."""
    return np.minimum(np.maximum(x, 0), 6)


def forward(
    pixels: NDArray[np.uint8], weights: Mapping[str, NDArray[np.float32]], depth: float = 1.0
) -> dict[str, Real]:
    """Return what `sightline.features.deep.graph` gives for one picture."""

    def layer(x: Real, conv_name: str, norm: str, stride: int = 1) -> Real:
        kernel = weights[f"{conv_name}.weight"].astype(np.float64)
        return batch_norm(conv(x, kernel, stride), weights, norm)

    x = (pixels.astype(np.float64).transpose(2, 0, 1) - 127) / 128
    x = relu6(layer(x, "_conv_stem", "_bn0", 2))
    shown, i = [], 0
    outputs: dict[str, Real] = {}
    for group, blocks in enumerate(repeats(depth)):
        for j in range(blocks):
            name, inner = f"_blocks.{i}", x
            if i > 0:
                inner = relu6(layer(inner, f"{name}._expand_conv", f"{name}._bn0"))
            if (group, j) == (5, 0):
                outputs["fine_map"] = inner
            wide, stride = inner, GROUPS[group][1] if j == 0 else 1
            inner = relu6(layer(inner, f"{name}._depthwise_conv", f"{name}._bn1", stride))
            if group >= 2 and j == 0:
                shown.append(wide)
            elif group == 4 and j == blocks - 1:
                shown.append(inner)
            inner = layer(inner, f"{name}._project_conv", f"{name}._bn2")
            x = inner + x if j > 0 else inner
            i += 1
    last = relu6(layer(x, "_conv_head", "_bn1"))
    vector = last.mean(axis=(1, 2))
    logits = weights["_fc.weight"].astype(np.float64) @ vector + weights["_fc.bias"]
    return {
        **outputs,
        "map": last,
        "vector": vector,
        "logits": logits,
        "stages": np.concatenate([m.mean(axis=(1, 2)) for m in shown]),
        "peaks": np.concatenate([m.max(axis=(1, 2)) for m in shown]),
    }


def cell_means(values: NDArray[np.float32], cells: int) -> Real:
    """Cut every cell of a map into cells x cells equal parts, so that borders meet, and average."""
    fine = values.astype(np.float64).repeat(cells, axis=0).repeat(cells, axis=1)
    rows, columns = values.shape[:2]
    return np.array(
        [
            [
                fine[a * rows : (a + 1) * rows, b * columns : (b + 1) * columns].mean(axis=(0, 1))
                for b in range(cells)
            ]
            for a in range(cells)
        ]
    )
