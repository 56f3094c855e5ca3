"""Inverted files of faiss, kept in the store beside what they are made of.

ivf/NAME.json               what a table's lists were made of, and how they are searched
ivf/lists-SHA.faiss         the lists themselves

They are derived: one that is damaged or outdated is left alone and the rows are scanned, until
`sightline export faiss` builds it again. A file is written aside and gets its name once it is
durable; the description that names it comes last.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sightline._typing import Floats, Ints
from sightline.contracts import Progress
from sightline.errors import MissingExtra, StoreDamaged, StoreIOError
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
from sightline.store.engines import probing
from sightline.store.engines.coverage import Held, held_of
from sightline.store.engines.milvus_check import EngineState
from sightline.store.engines.views import (
    MEASURES,
    Measure,
    Published,
    View,
    blocks,
    ids_of,
    rows_at,
    views_of,
)
from sightline.store.versions import FileEntry

_STEP = 65_536
_TAUGHT_BY = 64  # rows for each list, to find out where lists should lie
_ROUNDS = 10
_FACTOR = 4.0
OURS = re.compile(r"lists-[0-9a-f]{0,20}\.faiss(\.\d+\.part)?|\w+\.json(\.\d+\.part)?")


@dataclass(frozen=True, slots=True)
class FaissLists:
    """The lists of one table: the parts they hold, and how they are searched."""

    feature: str
    by: Measure
    length: int
    rows: int
    held: Held
    probes: probing.Probes
    file: FileEntry


@dataclass(frozen=True, slots=True)
class Built:
    """One table of a build: `state` is new, or kept where nothing had changed."""

    view: View
    state: str
    probes: probing.Probes


def client() -> Any:
    """Return the library; what is missing is said with how to get it."""
    try:
        import faiss
    except ImportError as e:
        raise MissingExtra.of("The engine faiss", "faiss") from e
    return faiss


def read_lists(folder: Path, name: str) -> FaissLists | None:
    """Return what the lists of a table are; None if there are none."""
    path = folder / f"{name}.json"
    try:
        fields = json.loads(path.read_bytes())
        file, probes = FileEntry(**fields.pop("file")), probing.Probes(**fields.pop("probes"))
        held = fields.pop("held")
        return FaissLists(
            **fields, held=Held(held["version"], tuple(held["parts"])), probes=probes, file=file
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
    """Build the lists of every large table that has none, or outdated ones; remove all others."""
    large = [v for v in views_of(p, measures) if v.by != "words" and v.rows >= least_rows]
    if dry_run:
        return [_standing(folder, p, v) or _planned(v) for v in large]
    client()
    make_folder(folder)
    out = []
    for view in large:
        found = _standing(folder, p, view)
        out.append(found or _build_one(folder, p, view, progress))
    remove_except(folder, {v.name for v in large})
    return out


def _planned(view: View) -> Built:
    return Built(view, "new", probing.Probes(probing.lists_for(view.rows, _FACTOR)))


def _standing(folder: Path, p: Published, view: View) -> Built | None:
    """Return the lists of a table that are as they should be; None if there are none."""
    try:
        old = read_lists(folder, view.name)
    except StoreDamaged:
        return None
    if old is None or sorted(old.held.parts) != sorted(held_of(p, view).parts):
        return None
    if problem(folder, old) is not None:
        return None
    return Built(view, "kept", old.probes)


def _build_one(folder: Path, p: Published, view: View, progress: Progress) -> Built:
    faiss = client()
    lists = probing.lists_for(view.rows, _FACTOR)
    ids = ids_of(p, view)
    taught = np.random.default_rng(3).choice(len(ids), min(len(ids), _TAUGHT_BY * lists), False)
    lists = min(lists, max(1, len(taught) // 4))
    metric = faiss.METRIC_L2 if view.by == "distance" else faiss.METRIC_INNER_PRODUCT
    flat = faiss.IndexFlat(view.length, metric)
    index = faiss.IndexIVFFlat(flat, view.length, lists, metric)
    index.cp.niter, index.cp.min_points_per_centroid, index.cp.seed = _ROUNDS, 1, 1
    progress.start(f"lists of {view.feature}", view.rows)
    index.train(rows_at(p, view, ids[np.sort(taught)]))
    for part, rows in blocks(p, view, _STEP):
        index.add_with_ids(rows, part)
        progress.advance(len(part))
    progress.finish()

    def probe(w: Floats, n: int) -> Ints:
        how = faiss.SearchParametersIVF(nprobe=n)
        found: Ints = index.search(w[None], probing.K, params=how)[1][0]
        return found

    probes = probing.choose_probes(probing.sample(p, view), lists, probe)
    aside = folder / f"lists-.faiss.{os.getpid()}.part"
    _write(index, aside)
    written = adopt_file(folder, aside, lambda sha: f"lists-{sha[:20]}.faiss")
    made = FaissLists(
        view.feature, view.by, view.length, view.rows, held_of(p, view), probes,
        FileEntry.of(written),
    )  # fmt: skip
    write_file(folder, f"{view.name}.json", [json.dumps(asdict(made)).encode()])
    return Built(view, "new", probes)


def _write(index: Any, aside: Path) -> None:
    """Write lists aside; where there is no space for them nothing is left."""
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
    """Return what is wrong with the file of some lists; `deep` reads every byte of it."""
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
        wrong = None if lists is None else problem(folder, lists, deep=True)
        if lists is not None and wrong is not None:
            damaged.append((lists.file.name, wrong))
    return damaged


def strays(folder: Path) -> list[str]:
    """Return files of the folder that nothing names."""
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
    """Remove the lists of all but some tables, descriptions first, and what nothing names."""
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
    wrong = [name for name, _ in problems(folder)]
    sound = []
    for path in folder.glob("*.json"):
        if path.name not in wrong:
            found = read_lists(folder, path.stem)
            if found is not None and found.file.name not in wrong:
                sound.append(path.stem)
    if wrong:
        remove_except(folder, sound)
    return wrong


def forget_others(folder: Path, p: Published) -> None:
    """Remove lists that hold more than a version does."""
    keep = []
    for path in folder.glob("*.json"):
        try:
            lists = read_lists(folder, path.stem)
        except StoreDamaged:
            continue
        view = None if lists is None else p.view(lists.feature, lists.by)
        if view and lists and set(lists.held.parts) <= set(held_of(p, view).parts):
            keep.append(path.stem)
    remove_except(folder, keep)


def faiss_state(folder: Path, p: Published, least_rows: int) -> EngineState:
    """Return whether every large table has its lists."""
    large = [v for v in views_of(p) if v.by != "words" and v.rows >= least_rows]
    if not large:
        return EngineState(
            "faiss", True, f"no table has {least_rows} rows, so all rows are scanned"
        )
    without = [v for v in large if _standing(folder, p, v) is None]
    if without:
        said = f"{len(without)} of {len(large)} tables have no lists of this version"
        return EngineState("faiss", False, f"degraded: {said}. Run: sightline export faiss")
    return EngineState("faiss", True, f"lists of {len(large)} tables")
