"""Tables of whole numbers as text, read block by block into sparse rows.

A line is a row of numbers separated by white space. A table of some hundred million numbers, most
of them zero, is never in memory as a whole: of each block only numbers above zero are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Bytes, Ints
from sightline.contracts import Progress
from sightline.errors import DataError
from sightline.progress import NoProgress
from sightline_experiments.datasets.sources import Source

MOST_BYTES = 4 << 30
_LONGEST_LINE = 1 << 20
_LONGEST_NUMBER = 9
_SILENT = NoProgress()
_ZERO = ord("0")
_DIGIT, _SPACE, _END, _ELSE = range(4)
_KIND: Bytes = np.full(256, _ELSE, dtype=np.uint8)
_KIND[_ZERO : _ZERO + 10] = _DIGIT
_KIND[list(b" \t\r")] = _SPACE
_KIND[ord("\n")] = _END


@dataclass(frozen=True, slots=True)
class Table:
    """What a table must have: its file, its rows and columns, and its largest number."""

    name: str
    n_rows: int
    n_columns: int
    largest: int


def read_table(
    source: Source, table: Table, selected: Bools | None = None, progress: Progress = _SILENT
) -> Any:
    """Return the rows of a table, scipy's CSR of float32.

    Parameters
    ----------
    source : the source of the file.
    table : what it must have.
    selected : which rows to read; all by default.
    progress : advanced by each row.

    Raises
    ------
    DataError
        The file holds something else; the message names the line.
    """
    from scipy.sparse import csr_array

    per_row, columns, values = [], [], []
    n = 0
    for line, chunk in _whole_lines(source, table):
        parsed = _Parsed(source, table, line, chunk).cells(n)
        wanted = None if selected is None else selected[n : n + parsed.n_rows]
        counts, column, value = parsed.of(wanted)
        per_row.append(counts)
        columns.append(column)
        values.append(value)
        n += parsed.n_rows
        progress.advance(parsed.n_rows)
    if n != table.n_rows:
        raise DataError(f"{source.where}: {table.name} has {n:,} rows instead of {table.n_rows:,}.")
    start = np.concatenate([[0], np.cumsum(np.concatenate(per_row))])
    cells = np.concatenate(values), np.concatenate(columns), start
    return csr_array(cells, shape=(len(start) - 1, table.n_columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Numbers above zero of some rows, the first of which is row 0."""

    n_rows: int
    row: Ints
    column: Ints
    value: Ints

    def of(self, rows: Bools | None) -> tuple[Ints, NDArray[np.int32], NDArray[np.float32]]:
        """Return the count of numbers in each selected row, their columns and values."""
        counts = np.bincount(self.row, minlength=self.n_rows)
        column, value = self.column.astype(np.int32), self.value.astype(np.float32)
        if rows is None:
            return counts, column, value
        here = rows[self.row]
        return counts[rows], column[here], value[here]


class _Parsed:
    """Some complete lines of a table, and the number of the first."""

    def __init__(self, source: Source, table: Table, line: int, chunk: bytes) -> None:
        self.where, self.table, self.line = source.where, table, line
        self.text: Bytes = np.frombuffer(chunk, dtype=np.uint8)
        self.kind: Bytes = _KIND[self.text]

    def cells(self, n_before: int) -> _Cells:
        """Return the numbers above zero; `n_before` rows came before."""
        wrong = np.flatnonzero(self.kind == _ELSE)
        if len(wrong):
            raise self._error(self._line_of(wrong[0]), "holds something that is no whole number")
        digit = np.concatenate([[False], self.kind == _DIGIT, [False]])
        change = np.flatnonzero(digit[1:] != digit[:-1])
        begin, length = change[::2], change[1::2] - change[::2]
        n_rows = self._checked_rows(begin, n_before)
        if length.max(initial=0) > _LONGEST_NUMBER:
            self._too_large(begin[length.argmax()])
        # Most numbers are a single zero, and are skipped.
        place = np.flatnonzero((length > 1) | (self.text[begin] != _ZERO))
        value = self._values(begin[place], length[place])
        if value.max(initial=0) > self.table.largest:
            self._too_large(begin[place[value.argmax()]])
        above = value > 0
        row, column = np.divmod(place[above], self.table.n_columns)
        return _Cells(n_rows, row, column, value[above])

    def _checked_rows(self, begin: Ints, rows_read: int) -> int:
        """Return the number of rows; lines after the last row of the table must be empty."""
        ends = np.flatnonzero(self.kind == _END)
        counts = np.diff(np.searchsorted(begin, ends), prepend=0)
        rows = counts[: self.table.n_rows - rows_read]
        other = np.flatnonzero(rows != self.table.n_columns)
        if len(other):
            held = f"holds {rows[other[0]]:,} numbers instead of {self.table.n_columns:,}"
            raise self._error(self.line + int(other[0]), held)
        if counts[len(rows) :].any():
            raise self._error(
                self.line + len(rows), f"is one more than the {self.table.n_rows:,} there should be"
            )
        return len(rows)

    def _values(self, begin: Ints, length: Ints) -> Ints:
        value = np.zeros(len(begin), dtype=np.int64)
        for i in range(int(length.max(initial=0))):
            longer = length > i
            value[longer] = 10 * value[longer] + self.text[begin[longer] + i] - _ZERO
        return value

    def _too_large(self, at: Any) -> None:
        held = f"holds a number above {self.table.largest:,}"
        raise self._error(self._line_of(at), held)

    def _line_of(self, at: Any) -> int:
        return self.line + int(np.count_nonzero(self.kind[:at] == _END))

    def _error(self, line: int, held: str) -> DataError:
        return DataError(f"{self.where}: line {line:,} of {self.table.name} {held}.")


def _whole_lines(source: Source, table: Table) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of complete lines, and the number of the first line of each, from 1."""
    line, rest = 1, b""
    for block in source.blocks(table.name, MOST_BYTES):
        cut = block.rfind(b"\n") + 1
        if cut:
            chunk, rest = rest + block[:cut], block[cut:]
            yield line, chunk
            line += chunk.count(b"\n")
        else:
            rest += block
        if len(rest) > _LONGEST_LINE:
            raise DataError(
                f"{source.where}: line {line:,} of {table.name} has more than "
                f"{_LONGEST_LINE:,} bytes."
            )
    if rest:
        yield line, rest + b"\n"
