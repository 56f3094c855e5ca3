"""The loops that count patterns and colours in cells and join cells to blocks.

Blocks overlap by half, so cells of half their side are counted once and four of them summed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sightline.features.local._lbp_fast import (
    channels,
    fill_codes,
    fill_even_codes,
    mix,
    repeat_lines,
    split,
)

Bytes = NDArray[np.uint8]
Pixels = NDArray[np.uint8] | NDArray[np.uint16]
Counts = NDArray[np.int32]
Starts = NDArray[np.uint64]
Floats = NDArray[np.float32]

_COARSE, _FINE = np.uint32(0xF0), np.uint32(0x0C)
_SHIFT2, _SHIFT6, _SHIFT10 = np.uint32(2), np.uint32(6), np.uint32(10)
_ONE = np.int32(1)
_COPIES = 4


@njit(cache=True, nogil=True)
def describe(
    rgb: Bytes,
    table: Bytes,
    uniform: Bytes,
    step: int,
    lines: Starts,
    starts: Starts,
    blocks: Floats,
) -> None:
    """Write one descriptor for each block.

    Every `step`-th line and column is sampled, 1 or 2; of these samples cell row i has lines[i] to
    lines[i + 1], cell column i has starts[i] to starts[i + 1].
    """
    height, width, _ = rgb.shape
    n_lines, n_columns = (height + step - 1) // step, (width + step - 1) // step
    # An even width, so that two pixels can be seen as one number.
    padded = np.empty((height + 4, width + 4 + width % 2), np.uint8)
    codes = np.empty((n_lines, n_columns), np.uint8)
    colors = np.empty((n_lines, n_columns), np.uint8)
    cells = np.empty((lines.size - 1, starts.size - 1, blocks.shape[1]), np.float32)
    fill_grey_and_colors(rgb, table, step, padded, colors)
    if step == 2:
        fill_even_codes(padded.view(np.uint16), codes)
    else:
        fill_codes(padded, codes)
    count_cells(codes, colors, uniform, lines, starts, cells)
    join_cells(cells, lines, starts, blocks)


@njit(cache=True, nogil=True)
def fill_grey_and_colors(rgb: Bytes, table: Bytes, step: int, padded: Bytes, colors: Bytes) -> None:
    """Write the grey picture (see `fill_grey`) and the colours of the sampled pixels."""
    height, width, _ = rgb.shape
    red, green, blue = channels(width + width % 2)
    # Two pixels seen as one number of 16 bits: the bits that count are those of the first.
    red2, green2, blue2 = red.view(np.uint16), green.view(np.uint16), blue.view(np.uint16)
    kinds = np.empty(colors.shape[1], np.uint32)
    for y in range(height):
        split(rgb[y].reshape(-1), red, green, blue)
        mix(red, green, blue, padded[y + 2, : width + 4])
        if y % step == 0:
            if step == 2:
                fill_kinds(red2, green2, blue2, kinds)
            else:
                fill_kinds(red, green, blue, kinds)
            look_up(kinds, table, colors[y // step])
    repeat_lines(padded)


@njit(cache=True, nogil=True)
def fill_kinds(red: Pixels, green: Pixels, blue: Pixels, kinds: NDArray[np.uint32]) -> None:
    """Write each pixel's place in the table of 64³ colours.

    The upper four of its six bits of red, green and blue come first, then the lower two of each:
    64 neighbouring places are a cube of similar colours, which a picture needs at the same time.
    """
    for x in range(kinds.size):
        r, g, b = np.uint32(red[x]), np.uint32(green[x]), np.uint32(blue[x])
        coarse = (r & _COARSE) << _SHIFT10 | (g & _COARSE) << _SHIFT6 | (b & _COARSE) << _SHIFT2
        kinds[x] = coarse | (r & _FINE) << _SHIFT2 | (g & _FINE) | (b & _FINE) >> _SHIFT2


@njit(cache=True, nogil=True)
def look_up(kinds: NDArray[np.uint32], table: Bytes, colors: Bytes) -> None:
    """Write the colour of each kind."""
    for x in range(colors.size):
        colors[x] = table[kinds[x]]


@njit(cache=True, nogil=True)
def count_codes(codes: Bytes, starts: Starts, counts: Counts) -> None:
    """Count the codes of one line in the cells it runs through."""
    place = np.uint64(0)
    for cell in range(starts.size - 1):
        for x in range(starts[cell], starts[cell + 1]):
            counts[place + np.uint64(codes[x])] += _ONE
        place += np.uint64(256)


@njit(cache=True, nogil=True)
def count_colors(colors: Bytes, starts: Starts, n_colors: int, counts: Counts) -> None:
    """Count the colours of one line, neighbouring samples in four different copies.

    A colour is mostly followed by the same one, and adding to a number that is just being written
    takes long.
    """
    size, place = np.uint64(n_colors), np.uint64(0)
    for cell in range(starts.size - 1):
        for x in range(starts[cell], starts[cell + 1]):
            copy = x % np.uint64(_COPIES)
            counts[place + copy * size + np.uint64(colors[x])] += _ONE
        place += np.uint64(_COPIES) * size


@njit(cache=True, nogil=True)
def count_cells(
    codes: Bytes,
    colors: Bytes,
    uniform: Bytes,
    lines: Starts,
    starts: Starts,
    cells: Floats,
) -> None:
    """Write how many samples of each cell have each pattern and each colour."""
    rows, columns, length = cells.shape
    n_colors = length - uniform.size - 1
    by_code = np.empty(columns * 256, np.int32)
    by_color = np.empty(columns * _COPIES * n_colors, np.int32)
    for row in range(rows):
        by_code[:] = 0
        by_color[:] = 0
        for y in range(lines[row], lines[row + 1]):
            count_codes(codes[y], starts, by_code)
            count_colors(colors[y], starts, n_colors, by_color)
        for column in range(columns):
            width = starts[column + 1] - starts[column]
            samples = (lines[row + 1] - lines[row]) * width
            codes_here = by_code[column * 256 : (column + 1) * 256]
            colors_here = by_color[column * _COPIES * n_colors : (column + 1) * _COPIES * n_colors]
            fold(codes_here, colors_here, uniform, samples, cells[row, column])


@njit(cache=True, nogil=True)
def fold(codes: Counts, colors: Counts, uniform: Bytes, samples: int, out: Floats) -> None:
    """Write what was counted in one cell: uniform patterns, all other patterns, colours."""
    n_uniform, n_colors = uniform.size, colors.size // _COPIES
    others = np.int32(samples)
    for i in range(n_uniform):
        found = codes[uniform[i]]
        out[i] = np.float32(found)
        others = np.int32(others - found)
    out[n_uniform] = np.float32(others)
    a, b, c, d = colors, colors[n_colors:], colors[2 * n_colors :], colors[3 * n_colors :]
    rest = out[n_uniform + 1 :]
    for i in range(n_colors):
        rest[i] = np.float32(np.int32(a[i] + b[i] + c[i] + d[i]))


@njit(cache=True, nogil=True)
def join_cells(cells: Floats, lines: Starts, starts: Starts, blocks: Floats) -> None:
    """Write the blocks of four cells each, row by row, as shares of their samples."""
    rows, columns, _ = cells.shape
    for row in range(rows - 1):
        for column in range(columns - 1):
            a, b = cells[row, column], cells[row, column + 1]
            c, d = cells[row + 1, column], cells[row + 1, column + 1]
            samples = (lines[row + 2] - lines[row]) * (starts[column + 2] - starts[column])
            scale = np.float32(1.0) / np.float32(samples)
            out = blocks[row * (columns - 1) + column]
            for i in range(out.size):
                out[i] = (a[i] + b[i] + c[i] + d[i]) * scale
