"""`export milvus` and `export faiss`: a version, loaded into what searches faster than a scan."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from sightline.errors import ParameterError, UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection.engines.sizing import Scale
    from sightline.contracts import Progress
    from sightline.settings import Settings
    from sightline.store.engines.faiss_files import Built
    from sightline.store.engines.milvus_comparing import EngineState
    from sightline.store.engines.milvus_loading import Load
    from sightline.store.home import Home
    from sightline.store.locks import Lock


class Serving:
    """What a collection does with engines, as methods of it."""

    home: Home
    settings: Settings

    def export_milvus(
        self, uri: str = "", *, dry_run: bool = False, progress: Progress | None = None
    ) -> Load:
        """Load the current version into Milvus, and serve from it once every row is there.

        Tables are new ones, beside those that serve meanwhile; a load that broke off is gone on
        with. Nothing at home changes, but that the store gets a name when it is first loaded.

        Parameters
        ----------
        uri
            `milvus://HOST:PORT`; by default the setting `engine`.
        dry_run
            Only say what would be loaded.
        """
        from sightline.store.engines.milvus_loading import Load, left_at_home, load, plan
        from sightline.store.engines.milvus_tables import Tables
        from sightline.store.identity import identity, made_identity

        uri = uri or self.settings.engine
        if "://" not in uri:
            raise UsageError("Which Milvus? Name it with --uri milvus://HOST:PORT.")
        self.home.refuse_nothing()
        with contextlib.ExitStack() as stack:
            if not dry_run:
                stack.enter_context(self._loading())
            p = stack.enter_context(self.home.reader()).snapshot.published
            tables = Tables(uri)
            stack.callback(tables.close)
            if dry_run:
                found = plan(tables, identity(self.home.folder) or "unnamed", p)
                return Load(uri, p.version, tuple(found), at_home=left_at_home(p))
            return load(
                tables, made_identity(self.home.folder), p, self._kept_digests(),
                progress or NoProgress(), listed_rows=self.settings.ivf_rows,
            )  # fmt: skip

    def _loading(self) -> Lock:
        """Keep other loads out, of which one of an older version could end last.

        Indexing and learning go on meanwhile.
        """
        from sightline.store.locks import Lock

        return Lock(self.home.folder, "export milvus", self.settings.wait, name="exporting")

    def _kept_digests(self) -> set[str]:
        """Return the digests of the tables of every version that can be gone back to."""
        from sightline.errors import StoreDamaged
        from sightline.store.engines.views import views_of
        from sightline.store.snapshot import Snapshot

        found: set[str] = set()
        for number in self.home.versions.numbers():
            try:
                version = self.home.versions.read(number)
                snapshot = Snapshot(self.home.shards, version)
            except StoreDamaged:
                continue  # Of no use to go back to; `store verify` names what is wrong with it.
            found |= {v.digest for v in views_of(snapshot.published)}
        return found

    def export_faiss(
        self, *, dry_run: bool = False, progress: Progress | None = None
    ) -> list[Built]:
        """Put the rows of large tables into lists, kept in the store, for the engine faiss.

        Parameters
        ----------
        dry_run
            Only say what would be built.
        """
        from sightline.store.engines.faiss_files import build
        from sightline.store.locks import Lock

        with self.home.reader() as reader:
            p, folder = reader.snapshot.published, self.home.ivf
            if dry_run:
                return build(folder, p, self.settings.ivf_rows, NoProgress(), dry_run=True)
            # What is being forgotten meanwhile must not come back in lists.
            with Lock(self.home.folder, "export faiss", self.settings.wait):
                return build(folder, p, self.settings.ivf_rows, progress or NoProgress())

    def engine_state(self) -> EngineState | None:
        """Return how the engine stands that the settings name; None for the flat scan."""
        from sightline.store.engines.milvus_comparing import milvus_state

        engine = self.settings.engine
        if engine == "flat" or not self.home.exists():
            return None
        with self.home.reader() as reader:
            p = reader.snapshot.published
            if engine == "faiss":
                from sightline.store.engines.faiss_files import faiss_state

                return faiss_state(self.home.ivf, p, self.settings.ivf_rows)
            return milvus_state(engine, self.home.folder, p)

    def scale(self, pictures: int | None = None) -> Scale:
        """Return which engine so many pictures need, and how many machines like this one.

        Parameters
        ----------
        pictures
            By default those of the collection.
        """
        from sightline.collection.engines import sizing

        tables, there = sizing.assumed(), 0
        if self.home.exists():
            with self.home.reader() as reader:
                p = reader.snapshot.published
                tables, there = sizing.tables_of(p) or tables, sum(s.live for s in p.listed)
        n = there if pictures is None else pictures
        if n < 1:
            raise ParameterError.of("pictures", "scale", "at least 1", n)
        return sizing.scale(
            n, tables, sizing.machine_memory(), sizing.scan_speed(), self.settings.ivf_rows
        )

    def engine_problems(self) -> list[str]:
        """Compare the engine with the store, row by row for some; return what differs."""
        from sightline.store.engines.milvus_comparing import compare

        engine = self.settings.engine
        if "://" not in engine or not os.path.isdir(self.home.folder):
            return []
        with self.home.reader() as reader:
            return compare(engine, self.home.folder, reader.snapshot.published)
