"""The loops that count patterns and colours in cells and join cells to blocks.

Blocks overlap by half, so cells of half their side are counted once and four of them summed. A
picture is worked through in strips of one row of cells, so that grey lines and codes stay in the
nearest cache and the decoder's memory is not pushed out of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightline._njit_fast import njit
from sightline._typing import Bytes, Floats, Int32s, UInt64s
from sightline.features.local._lbp_fast import (
    channels,
    fill_codes,
    fill_even_codes,
    mix,
    split,
)

Pixels = NDArray[np.uint8] | NDArray[np.uint32]

_COARSE, _FINE = np.uint32(0xF0), np.uint32(0x0C)
_SHIFT2, _SHIFT6, _SHIFT10 = np.uint32(2), np.uint32(6), np.uint32(10)
_ONE = np.int32(1)
_COPIES = 4


@njit(cache=True, nogil=True)
def describe(
    rgb: Bytes,
    table: Bytes,
    uniform: Bytes,
    cell: int,
    step: int,
    rows: UInt64s,
    columns: UInt64s,
    color_rows: UInt64s,
    color_columns: UInt64s,
    blocks: Floats,
) -> None:
    """Write one descriptor for each block.

    The patterns and colours of every pixel are counted (step 1), or the patterns of every second
    and the colours of every fourth in each direction (step 2). Of these samples row i of the cells
    has the lines rows[i] to rows[i + 1], or color_rows; columns likewise.
    """
    height, width, _ = rgb.shape
    apart = step * step
    n_colors = blocks.shape[1] - uniform.size - 1
    # An even width, so that two pixels can be seen as one number.
    strip = np.empty((cell + 4, width + 4 + width % 2), np.uint8)
    pairs = strip.view(np.uint16)
    codes = np.empty((cell, -(-width // step)), np.uint8)
    colors = np.empty((-(-height // apart), -(-width // apart)), np.uint8)
    patterns = np.empty((rows.size - 1, columns.size - 1, uniform.size + 1), np.float32)
    tints = np.empty((rows.size - 1, columns.size - 1, n_colors), np.float32)
    for row in range(rows.size - 1):
        top = row * cell
        advance(rgb, table, apart, top, strip, colors)
        here = codes[: rows[row + 1] - rows[row]]
        if step == 2:
            fill_even_codes(pairs, top % 2, here)
        else:
            fill_codes(strip, here)
        count_codes(here, uniform, columns, patterns[row])
    count_colors(colors, color_rows, color_columns, tints)
    join_cells(patterns, rows, columns, 0, blocks)
    join_cells(tints, color_rows, color_columns, uniform.size + 1, blocks)


@njit(cache=True, nogil=True)
def advance(rgb: Bytes, table: Bytes, apart: int, top: int, strip: Bytes, colors: Bytes) -> None:
    """Move the strip of padded grey lines one cell down, so that line `top` is its third.

    The four lines that the next strip shares with this one are not made again. Of lines that are
    made, the colours of every pixel or every fourth are written too.
    """
    height, width, _ = rgb.shape
    red, green, blue = channels(width + -width % 4)
    # Four pixels seen as one number: the bits that count are those of the first.
    red4, green4, blue4 = red.view(np.uint32), green.view(np.uint32), blue.view(np.uint32)
    kinds = np.empty(colors.shape[1], np.uint32)
    if top:
        for i in range(4):
            copy(strip[strip.shape[0] - 4 + i], strip[i])
    for i in range(4 if top else 2, strip.shape[0]):
        y = top - 2 + i
        if y >= height:
            copy(strip[i - 1], strip[i])
            continue
        split(rgb[y].reshape(-1), red, green, blue)
        mix(red, green, blue, strip[i, : width + 4])
        if y % apart == 0:
            if apart == 4:
                fill_kinds(red4, green4, blue4, kinds)
            else:
                fill_kinds(red, green, blue, kinds)
            look_up(kinds, table, colors[y // apart])
    if not top:
        copy(strip[2], strip[0])
        copy(strip[2], strip[1])


@njit(cache=True, nogil=True)
def copy(line: Bytes, to: Bytes) -> None:
    """Write a line again."""
    for x in range(line.size):
        to[x] = line[x]


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
def count_codes(codes: Bytes, uniform: Bytes, columns: UInt64s, cells: Floats) -> None:
    """Write for each cell of a row how many samples have each uniform pattern, and another."""
    counts = np.zeros(256 * (columns.size - 1), np.int32)
    for y in range(codes.shape[0]):
        count_codes_of_line(codes[y], columns, counts)
    for column in range(columns.size - 1):
        here, out = counts[256 * column :], cells[column]
        others = np.int32(codes.shape[0]) * np.int32(columns[column + 1] - columns[column])
        for i in range(uniform.size):
            count = here[uniform[i]]
            out[i] = np.float32(count)
            others = np.int32(others - count)
        out[uniform.size] = np.float32(others)


@njit(cache=True, nogil=True)
def count_codes_of_line(codes: Bytes, columns: UInt64s, counts: Int32s) -> None:
    """Count the codes of one line in the cells it runs through."""
    place = np.uint64(0)
    for cell in range(columns.size - 1):
        for x in range(columns[cell], columns[cell + 1]):
            counts[place + np.uint64(codes[x])] += _ONE
        place += np.uint64(256)


@njit(cache=True, nogil=True)
def count_colors(colors: Bytes, rows: UInt64s, columns: UInt64s, cells: Floats) -> None:
    """Write for each cell how many samples have each colour."""
    n_colors = cells.shape[2]
    size = _COPIES * n_colors
    counts = np.empty(size * (columns.size - 1), np.int32)
    for row in range(rows.size - 1):
        counts[:] = 0
        for y in range(rows[row], rows[row + 1]):
            count_colors_of_line(colors[y], columns, n_colors, counts)
        for column in range(columns.size - 1):
            a, out = counts[size * column :], cells[row, column]
            b, c, d = a[n_colors:], a[2 * n_colors :], a[3 * n_colors :]
            for i in range(n_colors):
                out[i] = np.float32(np.int32(a[i] + b[i] + c[i] + d[i]))


@njit(cache=True, nogil=True)
def count_colors_of_line(colors: Bytes, columns: UInt64s, n_colors: int, counts: Int32s) -> None:
    """Count the colours of one line, neighbouring samples in four different copies.

    A colour is mostly followed by the same one, and adding to a number that is just being written
    takes long.
    """
    size, place = np.uint64(n_colors), np.uint64(0)
    for cell in range(columns.size - 1):
        for x in range(columns[cell], columns[cell + 1]):
            lane = x % np.uint64(_COPIES)
            counts[place + lane * size + np.uint64(colors[x])] += _ONE
        place += np.uint64(_COPIES) * size


@njit(cache=True, nogil=True)
def join_cells(cells: Floats, rows: UInt64s, columns: UInt64s, start: int, blocks: Floats) -> None:
    """Write, from `start` on, the blocks of four cells each as shares of their samples."""
    n_columns, length = columns.size - 2, cells.shape[2]
    for row in range(rows.size - 2):
        for column in range(n_columns):
            a, b = cells[row, column], cells[row, column + 1]
            c, d = cells[row + 1, column], cells[row + 1, column + 1]
            samples = (rows[row + 2] - rows[row]) * (columns[column + 2] - columns[column])
            scale = np.float32(1.0) / np.float32(samples)
            out = blocks[row * n_columns + column, start : start + length]
            for i in range(length):
                out[i] = (a[i] + b[i] + c[i] + d[i]) * scale
