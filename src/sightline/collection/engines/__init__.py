"""Search engines beside the flat scan: load a version, compare with the store, estimate sizes."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from sightline.errors import ParameterError, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.engines.sizing import SizingEstimate
    from sightline.contracts import Progress
    from sightline.store.engines.faiss_files import Built
    from sightline.store.engines.milvus_check import EngineState
    from sightline.store.engines.milvus_load import Load
    from sightline.store.locks import Lock


class Engines:
    """The search engines of a collection: `Collection.engines`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._store_folder = collection.store_folder

    def load_milvus(
        self, uri: str = "", *, dry_run: bool = False, progress: Progress | None = None
    ) -> Load:
        """Load the current version into Milvus, and search there once every row is loaded.

        New tables are filled beside those in use; a load that broke off is resumed. The store only
        gets a name when it is first loaded; nothing else of it changes.

        Parameters
        ----------
        uri : str, default=""
            `milvus://HOST:PORT`; by default the setting `engine`.
        dry_run : bool, default=False
            Only return what would be loaded.
        """
        from sightline.store.engines.milvus_load import Load, load, plan, unsupported_features
        from sightline.store.engines.milvus_tables import Tables
        from sightline.store.identity import create_identity, identity

        uri = uri or self._collection.settings.engine
        if "://" not in uri:
            raise UsageError("Which Milvus? Name it with --uri milvus://HOST:PORT.")
        self._store_folder.require_indexed()
        with contextlib.ExitStack() as stack:
            if not dry_run:
                stack.enter_context(self._loading())
            p = stack.enter_context(self._store_folder.reader()).snapshot.published
            tables = Tables(uri)
            stack.callback(tables.close)
            if dry_run:
                loads = plan(tables, identity(self._store_folder.path) or "unnamed", p)
                return Load(uri, p.version, tuple(loads), local=unsupported_features(p))
            return load(
                tables, create_identity(self._store_folder.path), p, self._kept_digests(),
                progress or NoProgress(), listed_rows=self._collection.settings.ivf_rows,
            )  # fmt: skip

    def _loading(self) -> Lock:
        """Keep other loads out, of which one of an older version could end last.

        Indexing and learning go on meanwhile.
        """
        from sightline.store.locks import Lock

        return Lock(
            self._store_folder.path,
            "export milvus",
            self._collection.settings.wait,
            name="exporting",
        )

    def _kept_digests(self) -> set[str]:
        """Return the digests of the tables of every version that can be gone back to."""
        from sightline.errors import StoreDamaged
        from sightline.store.engines.tables import engine_tables
        from sightline.store.snapshot import Snapshot

        digests: set[str] = set()
        for number in self._store_folder.versions.numbers():
            try:
                version = self._store_folder.versions.read(number)
                snapshot = Snapshot(self._store_folder.shards, version)
            except StoreDamaged:
                continue  # Of no use to go back to; `store verify` names what is wrong with it.
            digests |= {v.digest for v in engine_tables(snapshot.published)}
        return digests

    def build_faiss(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> list[Built]:
        """Build inverted lists of large tables, kept in the store, for the engine faiss.

        Parameters
        ----------
        dry_run : bool, default=False
            Only return what would be built.
        """
        from sightline.store.engines.faiss_files import build
        from sightline.store.locks import Lock

        with self._store_folder.reader() as reader:
            p, folder = reader.snapshot.published, self._store_folder.ivf
            if dry_run:
                return build(
                    folder, p, self._collection.settings.ivf_rows, NoProgress(), dry_run=True
                )
            # Pictures that are purged meanwhile must not come back in lists.
            with Lock(self._store_folder.path, "export faiss", self._collection.settings.wait):
                return build(
                    folder, p, self._collection.settings.ivf_rows, progress or NoProgress()
                )

    def status(self) -> EngineState | None:
        """Return the state of the engine that the settings name; None for the flat scan."""
        from sightline.store.engines.milvus_check import milvus_state

        engine = self._collection.settings.engine
        if engine == "flat" or not self._store_folder.exists():
            return None
        with self._store_folder.reader() as reader:
            p = reader.snapshot.published
            if engine == "faiss":
                from sightline.store.engines.faiss_files import faiss_state

                return faiss_state(self._store_folder.ivf, p, self._collection.settings.ivf_rows)
            return milvus_state(engine, self._store_folder.path, p)

    def sizing(self, pictures: int | None = None) -> SizingEstimate:
        """Return which engine so many pictures need, and how many machines like this one.

        Parameters
        ----------
        pictures : int, optional
            By default those of the collection.
        """
        from sightline.collection.engines import sizing as estimates

        tables, indexed = estimates.assumed(), 0
        if self._store_folder.exists():
            with self._store_folder.reader() as reader:
                p = reader.snapshot.published
                tables, indexed = estimates.tables_of(p) or tables, sum(s.live for s in p.listed)
        n = indexed if pictures is None else pictures
        if n < 1:
            raise ParameterError.of("pictures", "sizing", "at least 1", n)
        return estimates.scale(
            n,
            tables,
            estimates.machine_memory(),
            estimates.scan_speed(),
            self._collection.settings.ivf_rows,
        )

    def problems(self) -> list[str]:
        """Compare the engine with the store, row by row for some; return what differs."""
        from sightline.store.engines.milvus_check import compare

        engine = self._collection.settings.engine
        if "://" not in engine or not os.path.isdir(self._store_folder.path):
            return []
        with self._store_folder.reader() as reader:
            return compare(engine, self._store_folder.path, reader.snapshot.published)
