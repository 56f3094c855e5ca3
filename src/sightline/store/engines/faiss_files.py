"""Inverted files of faiss, kept in the store beside the rows they are built from.

ivf/NAME.json               what a table's lists were built from, and how they are searched
ivf/lists-SHA.faiss         the lists themselves

Lists hold each row as what it differs by from its centroid, rounded to a byte a number, so that
they take a quarter of the rows' bytes; hits are ranked by the store's own rows.

They are derived data: lists that are damaged or outdated are ignored and the rows are scanned,
until `sightline export faiss` builds them again. A file is written under a temporary name and
renamed once it is durable; the description that names it is written last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightline._typing import Floats, Ints
from sightline.contracts import Json, Progress
from sightline.errors import MissingExtra, StoreDamaged, StoreIOError
from sightline.records import DenseQuery
from sightline.store.durable import (
    adopt_file,
    create_private,
    disk_errors,
    file_sha256,
    full_disk,
    has_space,
    make_folder,
    sync_folder,
    write_file,
)
from sightline.store.engines import candidates, flat, probing
from sightline.store.engines.coverage import LoadedParts, held_of
from sightline.store.engines.milvus_check import EngineState
from sightline.store.engines.tables import (
    MEASURES,
    EngineTable,
    Measure,
    Published,
    blocks,
    engine_tables,
    ids_of,
    rows_at,
)
from sightline.store.versions import FileEntry

_STEP = 65_536
_TRAINING_ROWS = 64  # rows for each list, on which its centroid is trained
_ITERATIONS = 10  # of k-means
# Of more lists than these, centroids are found in two steps, and rows find theirs by a graph.
_PLAIN_LISTS = 4_096
_NEIGHBOURS = 16  # of a centroid in that graph
# How many centroids a look-up keeps: of 16,384 it finds the nearest for .999 of the rows, by 16 for
# .985, and the others end in lists far away.
_KEPT_CENTROIDS = 64
_FACTOR = 4.0
OURS = re.compile(r"lists-[0-9a-f]{0,20}\.faiss(\.\d+\.part)?|\w+\.json(\.\d+\.part)?")


@dataclass(frozen=True, slots=True)
class FaissLists:
    """The lists of one table: the parts they hold, and how they are searched."""

    feature: str
    by: Measure
    length: int
    rows: int
    held: LoadedParts
    probes: probing.Probes
    file: FileEntry


@dataclass(frozen=True, slots=True)
class Built:
    """One table of a build.

    Attributes
    ----------
    table : EngineTable
        The table.
    state : str
        "new", or "kept" if its rows had not changed.
    probes : Probes
        How its lists are searched.
    """

    table: EngineTable
    state: str
    probes: probing.Probes

    def to_dict(self) -> dict[str, Json]:
        """Return the table as JSON."""
        t = self.table
        return {
            "feature": t.feature, "by": t.by, "rows": t.rows, "state": self.state,
            **asdict(self.probes),
        }  # fmt: skip


def client() -> Any:
    """Return the module faiss; if it is missing, the error says how to install it."""
    try:
        import faiss
    except ImportError as e:
        raise MissingExtra.of("The engine faiss", "faiss") from e
    return faiss


def read_lists(folder: Path, name: str) -> FaissLists | None:
    """Return the description of a table's lists; None if it has none."""
    path = folder / f"{name}.json"
    try:
        fields = json.loads(path.read_bytes())
        file, probes = FileEntry(**fields.pop("file")), probing.Probes(**fields.pop("probes"))
        held = fields.pop("held")
        return FaissLists(
            **fields,
            held=LoadedParts(held["version"], tuple(held["parts"])),
            probes=probes,
            file=file,
        )
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise StoreDamaged(f"{path} is damaged ({e}). Run: sightline export faiss") from e


def build(
    folder: Path,
    p: Published,
    least_rows: int,
    progress: Progress,
    measures: Sequence[Measure] = MEASURES,
    *,
    dry_run: bool = False,
) -> list[Built]:
    """Build the lists of large tables where missing or outdated; remove those of other tables."""
    large = [v for v in engine_tables(p, measures) if v.by != "words" and v.rows >= least_rows]
    if dry_run:
        return [_current(folder, p, v) or _planned(v) for v in large]
    client()
    make_folder(folder)
    built = []
    for table in large:
        current = _current(folder, p, table)
        built.append(current or _build_lists(folder, p, table, progress))
    remove_except(folder, {v.name for v in large})
    return built


def _planned(table: EngineTable) -> Built:
    return Built(table, "new", probing.Probes(probing.lists_for(table.rows, _FACTOR)))


def _current(folder: Path, p: Published, table: EngineTable) -> Built | None:
    """Return a table's lists if they are complete and up to date, else None."""
    try:
        old = read_lists(folder, table.name)
    except StoreDamaged:
        return None
    if old is None or sorted(old.held.parts) != sorted(held_of(p, table).parts):
        return None
    if problem(folder, old) is not None:
        return None
    return Built(table, "kept", old.probes)


def _build_lists(folder: Path, p: Published, table: EngineTable, progress: Progress) -> Built:
    faiss = client()
    lists = probing.lists_for(table.rows, _FACTOR)
    ids = ids_of(p, table)
    training = np.random.default_rng(3).choice(
        len(ids), min(len(ids), _TRAINING_ROWS * lists), False
    )
    lists = min(lists, max(1, len(training) // 4))
    metric = faiss.METRIC_L2 if table.by == "distance" else faiss.METRIC_INNER_PRODUCT
    flat = faiss.IndexFlat(table.length, metric)
    eight_bits = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(flat, table.length, lists, eight_bits, metric)
    progress.start(f"lists of {table.feature}", table.rows)
    sample = rows_at(p, table, ids[np.sort(training)])
    flat.add(_centroids(sample, lists, table.by != "distance"))
    # The centroids are there: what is trained are the ranges of the bytes.
    index.train(sample)
    nearest = _assigner(index)
    for part, rows in blocks(p, table, _STEP):
        arrays = np.ascontiguousarray(rows), np.ascontiguousarray(part), nearest(rows)
        index.add_core(len(part), *map(faiss.swig_ptr, arrays))
        progress.advance(len(part))
    progress.finish()

    probes = probing.choose_probes(probing.sample(p, table), lists, prober(p, table, index))
    aside = folder / f"lists-.faiss.{os.getpid()}.part"
    _write(index, aside)
    written = adopt_file(folder, aside, lambda sha: f"lists-{sha[:20]}.faiss")
    lists_built = FaissLists(
        table.feature, table.by, table.length, table.rows, held_of(p, table), probes,
        FileEntry.of(written),
    )  # fmt: skip
    write_file(folder, f"{table.name}.json", [json.dumps(asdict(lists_built)).encode()])
    return Built(table, "new", probes)


def prober(p: Published, table: EngineTable, index: Any) -> probing.Probe:
    """Return what searches some lists as a query does: candidates, ranked by the store's rows."""
    n_named = candidates.n_candidates(probing.K, candidates.TIMES_ROUNDED)

    def probe(w: Floats, n: int) -> Ints:
        how = client().SearchParametersIVF(nprobe=n)
        named: Ints = np.unique(index.search(w[None], n_named, params=how)[1][0])
        query = DenseQuery(table.feature, w, table.by if table.by != "words" else "product")
        return flat.dense_top(p.segments, query, probing.K, named[named >= 0]).ids

    return probe


def _centroids(rows: Floats, lists: int, unit: bool) -> Floats:
    """Return the centroids of lists; very many are those of parts of the rows, part by part."""
    if lists <= _PLAIN_LISTS:
        return _k_means(rows, lists, unit)
    parts = int(np.sqrt(lists))
    coarse = client().IndexFlatL2(rows.shape[1])
    coarse.add(_k_means(rows, parts, unit))
    part = coarse.search(rows, 1)[1][:, 0]
    ends = np.round(np.cumsum(np.bincount(part, minlength=parts)) * (lists / len(rows)))
    numbers = np.diff(ends.astype(np.int64), prepend=0)
    fine = [_k_means(rows[part == i], n, unit) for i, n in enumerate(numbers.tolist()) if n]
    return np.concatenate(fine)


def _k_means(rows: Floats, k: int, unit: bool) -> Floats:
    """Return k centroids of at least as many rows; of rows searched by product, unit vectors."""
    settings = {"niter": _ITERATIONS, "min_points_per_centroid": 1, "seed": 1, "spherical": unit}
    means = client().Kmeans(rows.shape[1], k, **settings)
    means.train(rows)
    return np.asarray(means.centroids, np.float32)


def _assigner(index: Any) -> Callable[[Floats], Ints]:
    """Return what finds the list of each row: the nearest centroid, of very many by a graph."""
    faiss, flat = client(), index.quantizer
    if index.nlist > _PLAIN_LISTS:
        # Of centroids of equal length the nearest has the largest product as well.
        graph = faiss.IndexHNSWFlat(index.d, _NEIGHBOURS)
        graph.add(flat.reconstruct_n(0, index.nlist))
        graph.hnsw.efSearch = _KEPT_CENTROIDS
        flat = graph
    return lambda rows: np.ascontiguousarray(flat.search(rows, 1)[1][:, 0])


def _write(index: Any, aside: Path) -> None:
    """Write lists to a temporary file; if the disk is full, nothing of it is left."""
    try:
        with disk_errors(aside):
            create_private(aside)
        client().write_index(index, str(aside))
    except RuntimeError as e:
        full = None if has_space(aside) else full_disk(aside)
        aside.unlink(missing_ok=True)
        if full is not None:
            raise full from e
        raise StoreIOError(
            f"The lists could not be written to {aside.parent} ({str(e).splitlines()[0][:200]}). "
            "Is its disk full?"
        ) from e


def problem(folder: Path, lists: FaissLists, *, deep: bool = False) -> str | None:
    """Return what is wrong with the file of some lists, or None; `deep` checks every byte of it."""
    path = folder / lists.file.name
    try:
        if path.stat().st_size != lists.file.size:
            return f"has {path.stat().st_size} bytes, {lists.file.size} were written"
        if deep and file_sha256(path) != lists.file.sha256:
            return "is not what was written"
    except OSError as e:
        return f"cannot be read: {e.strerror}"
    return None


def problems(folder: Path) -> list[tuple[str, str]]:
    """Return every file of the folder that is damaged, and what is wrong with it."""
    damaged = []
    for path in sorted(folder.glob("*.json")):
        try:
            lists = read_lists(folder, path.stem)
        except StoreDamaged as e:
            damaged.append((path.name, str(e)))
            continue
        fault = None if lists is None else problem(folder, lists, deep=True)
        if lists is not None and fault is not None:
            damaged.append((lists.file.name, fault))
    return damaged


def strays(folder: Path) -> list[str]:
    """Return the files of the folder that no description names."""
    if not folder.is_dir():
        return []
    named = set()
    for path in folder.glob("*.json"):
        named.add(path.name)
        try:
            lists = read_lists(folder, path.stem)
        except StoreDamaged:
            continue
        if lists is not None:
            named.add(lists.file.name)
    return sorted(set(os.listdir(folder)) - named)


def remove_except(folder: Path, names: Iterable[str]) -> None:
    """Remove the lists of all tables but `names`, descriptions first, and files nothing lists."""
    if not folder.is_dir():
        return
    with disk_errors(folder):
        doomed = [p for p in folder.glob("*.json") if p.stem not in set(names)]
        for path in doomed:
            path.unlink()
        if doomed:
            sync_folder(folder)
        for name in strays(folder):
            if OURS.fullmatch(name):
                (folder / name).unlink()


def remove_damaged(folder: Path) -> list[str]:
    """Remove the lists of tables whose files are damaged; return the names of these files."""
    damaged = [name for name, _ in problems(folder)]
    sound = []
    for path in folder.glob("*.json"):
        if path.name not in damaged:
            lists = read_lists(folder, path.stem)
            if lists is not None and lists.file.name not in damaged:
                sound.append(path.stem)
    if damaged:
        remove_except(folder, sound)
    return damaged


def remove_larger(folder: Path, p: Published) -> None:
    """Remove lists that hold rows which a version does not have."""
    keep = []
    for path in folder.glob("*.json"):
        try:
            lists = read_lists(folder, path.stem)
        except StoreDamaged:
            continue
        table = None if lists is None else p.table(lists.feature, lists.by)
        if table and lists and set(lists.held.parts) <= set(held_of(p, table).parts):
            keep.append(path.stem)
    remove_except(folder, keep)


def faiss_state(folder: Path, p: Published, least_rows: int) -> EngineState:
    """Return whether every large table has its lists."""
    large = [v for v in engine_tables(p) if v.by != "words" and v.rows >= least_rows]
    if not large:
        return EngineState(
            "faiss", True, f"no table has {least_rows} rows, so all rows are scanned"
        )
    without = [v for v in large if _current(folder, p, v) is None]
    if without:
        missing = f"{len(without)} of {len(large)} tables have no lists of this version"
        return EngineState("faiss", False, f"degraded: {missing}. Run: sightline export faiss")
    return EngineState("faiss", True, f"lists of {len(large)} tables")
