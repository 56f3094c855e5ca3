"""Checks of the input of an index run before anything is written: folder, tables, vectors.

Pictures are read in the course of the run, so rows of vectors are compared with the paths that the
run is going to read. What can only be known afterwards, such as a broken picture, is checked again
when the rows are published.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing

from sightline.collection.discovery import root_of_store
from sightline.collection.index.assignment import by_key_or_order, in_order, matches, no_match
from sightline.collection.index.options import IndexOptions
from sightline.collection.index.plan import Plan, plan_for
from sightline.collection.index.tables import effective_rules, read_table, remembered_rules
from sightline.collection.index.vectors import check_name_free, open_vectors, same_as_before
from sightline.errors import (
    CollectionError,
    DataError,
    NoCollection,
    SightlineError,
    StoreTooOld,
    UsageError,
)
from sightline.features.imported import ImportedVectors
from sightline.pictures.word_columns import BY_NAME, ColumnRules
from sightline.records import shown
from sightline.store.catalogue import Catalogue, KnownPicture, VectorsFile
from sightline.store.folder import StoreFolder, current_version
from sightline.store.snapshot import Snapshot


def check_indexable(root: bytes, store_folder: StoreFolder) -> None:
    """Raise unless the root is a folder and the store is its own, or new."""
    if not os.path.isdir(root):
        raise CollectionError(f"{shown(root)} is no folder. Name the folder of pictures.")
    owner = root_of_store(store_folder.path)
    if owner is not None and owner != root and os.path.isdir(owner):
        raise CollectionError(
            f"The store {store_folder.path} belongs to {shown(owner)}. "
            f"Name another one with --store for {shown(root)}."
        )
    if not store_folder.exists() and not store_folder.is_free():
        raise UsageError(
            f"{store_folder.path} is no store and holds other files. "
            "Name a new or empty folder with --store."
        )


def real_paths(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return absolute paths without links."""
    return [os.path.realpath(os.fspath(p)) for p in paths]


def check_tables(
    paths: Sequence[str | os.PathLike[str]],
    root: bytes,
    store_folder: StoreFolder,
    columns: ColumnRules = BY_NAME,
) -> list[str]:
    """Return the absolute paths of tables of words, each of which can be read."""
    columns.check(tables_named=bool(paths))
    tables = real_paths(paths)
    by_path = effective_rules(_known_rules(store_folder), tables, columns)
    for path in tables:
        if not os.path.isfile(path):
            raise UsageError(f"There is no file {path}. Name a table of words.")
        try:
            table = read_table(path, root, by_path.get(path, BY_NAME))
        except SightlineError as e:
            raise UsageError(f"{path} cannot be used as a table of words: {e}") from e
        if table.is_empty():
            why = "; ".join((*map(str, table.dropped), *table.remarks)) or "it has no row"
            raise UsageError(
                f"{path} cannot be used as a table of words: none of its rows gives words to a "
                f"picture. {why}."
            )
    return tables


def _known_rules(store_folder: StoreFolder) -> dict[str, ColumnRules]:
    """Return the rules of the tables that the collection has, none of a new one."""
    if not store_folder.exists():
        return {}
    try:
        with closing(Catalogue(store_folder.catalogue, write=False)) as catalogue:
            return remembered_rules(catalogue)
    except (NoCollection, StoreTooOld):
        # The run upgrades an older store; no such store has rules.
        return {}


def read_vectors(
    paths: Sequence[str | os.PathLike[str]], by_order: bool, key_column: str
) -> list[ImportedVectors]:
    """Read the files of vectors a call names.

    Raises
    ------
    UsageError
        One cannot be used, or the call contradicts itself.
    """
    if by_order and key_column:
        raise UsageError(
            f"--by-order and --key-column {key_column} contradict one another. Give one of them."
        )
    if (by_order or key_column) and not paths:
        option = "--by-order" if by_order else "--key-column"
        raise UsageError(f"{option} says how --vectors FILE is to be read. Name the file too.")
    read = [open_vectors(v, key_column) for v in paths]
    for i, v in enumerate(read):
        check_name_free(v.name)
        if v.name in {w.name for w in read[:i]}:
            raise UsageError(
                f"Two files would become the feature {v.name!r}. "
                "Name them apart: --vectors NAME=FILE"
            )
    return read


def check_vectors(
    store_folder: StoreFolder,
    root: bytes,
    options: IndexOptions,
    vectors: Sequence[ImportedVectors],
    by_order: bool,
    forgotten: Sequence[str] = (),
) -> None:
    """Raise for files whose rows cannot be assigned to the pictures that the run will have.

    Raises
    ------
    UsageError
        One of them cannot; nothing was changed.
    """
    if not vectors:
        return
    plan, known, files = _planned(store_folder, root, options)
    if plan.vanished and not plan.seen:
        return  # The run itself raises, unless --allow-empty was given.
    pictures = _expected(plan, known)
    for v in vectors:
        file = next((f for f in files if f.name == v.name and not _among(f, forgotten)), None)
        try:
            _check(v, pictures, root, by_order, file, len(plan.read))
        except DataError as e:
            raise UsageError(f"{e} Nothing was changed.") from e


def _check(
    vectors: ImportedVectors,
    pictures: Mapping[bytes, int],
    root: bytes,
    by_order: bool,
    file: VectorsFile | None,
    unread: int,
) -> None:
    before = same_as_before(vectors, file, by_order)
    if before is not None:
        return  # Its rows are in the store already, and follow their pictures.
    chosen = by_key_or_order(vectors, pictures, root, by_order)
    if chosen.keys is not None:
        matched = matches(chosen, chosen.keys, pictures, root)
        matched.check_double(chosen.keys.values)
        if not matched.rows:
            raise no_match(chosen, [chosen.keys], root)
        return
    try:
        in_order(chosen, pictures)
    except DataError as e:
        if not unread:
            raise
        raise DataError(
            f"{e} {unread} of the pictures are not read yet, and some may turn out to be "
            "unreadable: run sightline index without --vectors first to see how many there are."
        ) from e


def _planned(
    store_folder: StoreFolder, root: bytes, options: IndexOptions
) -> tuple[Plan, list[KnownPicture], list[VectorsFile]]:
    """Return the plan of the run, the pictures known before it, and the files of vectors."""
    if store_folder.exists():
        try:
            # Without the engine that a reader would ask.
            with closing(Catalogue(store_folder.catalogue, write=False)) as catalogue:
                live = (
                    Snapshot(store_folder.shards, current_version(store_folder, catalogue))
                    .ids()
                    .tolist()
                )
                plan = plan_for(root, catalogue, set(live), options)
                files = [f for f in catalogue.vectors_files() if f.present]
                return plan, catalogue.known(), files
        except NoCollection:
            pass  # A first run was stopped before it wrote anything.
    return plan_for(root, None, set(), options), [], []


def _expected(plan: Plan, known: Sequence[KnownPicture]) -> dict[bytes, int]:
    """Return the paths of the pictures there will be, each with a number of its own."""
    leaving = {k.picture for k in plan.vanished} | {t.picture for t in plan.read}
    skipped = {s.path for s in (*plan.still_skipped, *plan.skipped_now)}
    kept = {k.path for k in known if k.picture not in leaving and k.path not in skipped}
    paths = kept | {t.file.path for t in plan.read}
    return {path: i for i, path in enumerate(sorted(paths))}


def _among(file: VectorsFile, forgotten: Sequence[str]) -> bool:
    return any(f == file.name or os.path.abspath(f) == file.path for f in forgotten)
