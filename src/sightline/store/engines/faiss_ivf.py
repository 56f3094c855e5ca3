"""Search by faiss's inverted lists, for tables of about a million rows and more.

Rows near each other share a list, and a query searches the few lists nearest to it; how many is
chosen by their recall of the 50 best (see probing). Segments that came after the lists were built
are scanned as well. With a selective filter the rows it leaves are scanned exactly.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import StoreDamaged
from sightline.records import DenseQuery, SparseQuery, Top, WordQuery
from sightline.store.engines import candidates, coverage, faiss_files, word_rows
from sightline.store.engines.candidates import Named, Notices
from sightline.store.engines.faiss_files import FaissLists
from sightline.store.engines.probing import LISTED_ROWS
from sightline.store.engines.tables import EngineTable, Published

# More hits than a person looks at are requested only where a filter leaves few rows.
_MOST_HITS = 100_000


class FaissEngine(Notices):
    """Search by the lists in a store's folder; tables of `listed_rows` rows and more need lists."""

    name = "faiss"

    def __init__(self, folder: Path, listed_rows: int = LISTED_ROWS) -> None:
        super().__init__()
        self._folder, self._listed_rows = folder, listed_rows
        self._lock = threading.Lock()
        self._open: dict[str, tuple[FaissLists, Any]] = {}
        self.n_requests = 0

    def top(
        self,
        p: Published,
        query: DenseQuery | SparseQuery | WordQuery,
        k: int,
        where: Ints | None,
        score_words: word_rows.ScoreWords | None = None,
        without: Ints | None = None,
    ) -> Top | None:
        """Return the k best pictures, or None where the rows have to be scanned."""
        table_and_weights = (
            candidates.engine_query(p, query) if isinstance(query, DenseQuery) else None
        )
        if table_and_weights is None or k < 1 or not isinstance(query, DenseQuery):
            return None
        table, weights = table_and_weights
        if candidates.selective(table, where):
            return None
        try:
            opened = self._lists(table)
        except StoreDamaged as e:
            self.note(f"{e} All rows were scanned.")
            return None
        if opened is None:
            if table.rows >= self._listed_rows:
                self.note(
                    f"There are no lists of {table.feature} by {table.by}, so all rows were "
                    "scanned. Run: sightline export faiss"
                )
            return None
        lists, index = opened
        indexed, rest = coverage.split(p, table, lists.held, lists.file.name)
        if coverage.outdated(table, rest):
            self.note(
                f"The lists of {table.feature} are of an older version, so all rows were scanned. "
                "Run: sightline export faiss"
            )
            return None
        ask = self._ask_lists(index, lists, table, weights, where)
        times = candidates.TIMES_ROUNDED
        top = candidates.dense_top(indexed, query, k, where, ask, _MOST_HITS, times)
        if top is None:
            self.note(f"Too many hits of {table.feature} were requested, so all rows were scanned.")
        return None if top is None else coverage.with_scanned(rest, query, k, where, None, top)

    def _ask_lists(
        self, index: Any, lists: FaissLists, table: EngineTable, weights: Floats, where: Ints | None
    ) -> candidates.Ask:
        faiss = faiss_files.client()
        probes = lists.probes.for_share(None if where is None else len(where) / table.rows)

        def search(n: int, probes: int) -> tuple[Ints, Floats]:
            self.n_requests += 1
            how = faiss.SearchParametersIVF(nprobe=probes)
            scores, ids = index.search(weights[None], n, params=how)
            is_hit = ids[0] >= 0
            return ids[0][is_hit], scores[0][is_hit]

        def ask(n: int) -> Named:
            n = min(n, index.ntotal)
            ids, scores = search(n, probes)
            if len(ids) < n:
                # The lists searched were too short; all of them together have all rows.
                ids, scores = search(n, lists.probes.lists)
            if table.by == "distance":
                scores = np.float32(weights @ weights) - scores
            return Named(ids, -np.inf if n == index.ntotal else float(scores[-1]))

        return ask

    def _lists(self, table: EngineTable) -> tuple[FaissLists, Any] | None:
        """Return the description and the index of a table's lists; None if it has none."""
        lists = faiss_files.read_lists(self._folder, table.name)
        if lists is None:
            return None
        with self._lock:
            opened = self._open.get(table.name)
            if opened is not None and opened[0] == lists:
                return opened
            fault = faiss_files.problem(self._folder, lists)
            if fault is None:
                fault = _mismatch(lists, table)
            if fault is not None:
                raise StoreDamaged(
                    f"The file {lists.file.name} {fault}. Run: sightline export faiss"
                )
            self._open[table.name] = lists, _read(self._folder / lists.file.name)
            return self._open[table.name]


def _mismatch(lists: FaissLists, table: EngineTable) -> str | None:
    if lists.length == table.length:
        return None
    return f"holds rows of {lists.length} numbers, not of {table.length}"


def _read(path: Path) -> Any:
    """Map lists into memory; what a query needs of them is read when it runs."""
    faiss = faiss_files.client()
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as e:
        raise StoreDamaged(
            f"The file {path.name} cannot be read by faiss. Run: sightline export faiss"
        ) from e
