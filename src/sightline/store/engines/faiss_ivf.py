"""Search by faiss's inverted lists, for tables of about a million rows and more.

Rows near each other share a list, and a query looks into the few lists that lie nearest to it; how
many is chosen by what they find of the 50 best (see probing). Segments that came after the lists
were built are scanned beside them. A selective filter has the rows it leaves scanned, exactly.
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
from sightline.store.engines.views import Published, View

# More is asked for than a person looks at only where hardly anything is filtered out.
_MOST_HITS = 100_000


class FaissEngine(Notices):
    """The lists that lie in a store's folder; tables of `listed_rows` and more should have some."""

    name = "faiss"

    def __init__(self, folder: Path, listed_rows: int = LISTED_ROWS) -> None:
        super().__init__()
        self._folder, self._listed_rows = folder, listed_rows
        self._lock = threading.Lock()
        self._open: dict[str, tuple[FaissLists, Any]] = {}
        self.asked = 0

    def top(
        self,
        p: Published,
        query: DenseQuery | SparseQuery | WordQuery,
        k: int,
        where: Ints | None,
        more: word_rows.More | None = None,
        without: Ints | None = None,
    ) -> Top | None:
        """Return the k best pictures, or None where the rows are to be scanned."""
        found = candidates.engine_query(p, query) if isinstance(query, DenseQuery) else None
        if found is None or k < 1 or not isinstance(query, DenseQuery):
            return None
        view, weights = found
        if candidates.selective(view, where):
            return None
        try:
            opened = self._lists(view)
        except StoreDamaged as e:
            self.note(f"{e} All rows were scanned.")
            return None
        if opened is None:
            if view.rows >= self._listed_rows:
                self.note(
                    f"There are no lists of {view.feature} by {view.by}, so all rows were scanned. "
                    "Run: sightline export faiss"
                )
            return None
        lists, index = opened
        indexed, rest = coverage.split(p, view, lists.held, lists.file.name)
        if coverage.outdated(view, rest):
            self.note(
                f"The lists of {view.feature} are of an older version, so all rows were scanned. "
                "Run: sightline export faiss"
            )
            return None
        ask = self._asking(index, lists, view, weights, where)
        top = candidates.dense_top(indexed, query, k, where, ask, _MOST_HITS)
        if top is None:
            self.note(f"So many of {view.feature} were asked for that all rows were scanned.")
        return None if top is None else coverage.with_scanned(rest, query, k, where, None, top)

    def _asking(
        self, index: Any, lists: FaissLists, view: View, weights: Floats, where: Ints | None
    ) -> candidates.Ask:
        faiss = faiss_files.client()
        probes = lists.probes.for_share(None if where is None else len(where) / view.rows)

        def search(n: int, probes: int) -> tuple[Ints, Floats]:
            self.asked += 1
            how = faiss.SearchParametersIVF(nprobe=probes)
            scores, ids = index.search(weights[None], n, params=how)
            there = ids[0] >= 0
            return ids[0][there], scores[0][there]

        def ask(n: int) -> Named:
            n = min(n, index.ntotal)
            ids, scores = search(n, probes)
            if len(ids) < n:
                # The lists looked into were too short; all of them together have all rows.
                ids, scores = search(n, lists.probes.lists)
            if view.by == "distance":
                scores = np.float32(weights @ weights) - scores
            return Named(ids, -np.inf if n == index.ntotal else float(scores[-1]))

        return ask

    def _lists(self, view: View) -> tuple[FaissLists, Any] | None:
        """Return the lists of a table, opened; None if there are none."""
        lists = faiss_files.read_lists(self._folder, view.name)
        if lists is None:
            return None
        with self._lock:
            opened = self._open.get(view.name)
            if opened is not None and opened[0] == lists:
                return opened
            wrong = faiss_files.problem(self._folder, lists)
            if wrong is None:
                wrong = _refused(lists, view)
            if wrong is not None:
                raise StoreDamaged(
                    f"The file {lists.file.name} {wrong}. Run: sightline export faiss"
                )
            self._open[view.name] = lists, _read(self._folder / lists.file.name)
            return self._open[view.name]


def _refused(lists: FaissLists, view: View) -> str | None:
    if lists.length == view.length:
        return None
    return f"holds rows of {lists.length} numbers, not of {view.length}"


def _read(path: Path) -> Any:
    """Open lists without reading them; the parts a query looks into are read when it does."""
    faiss = faiss_files.client()
    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as e:
        raise StoreDamaged(
            f"The file {path.name} cannot be read by faiss. Run: sightline export faiss"
        ) from e
