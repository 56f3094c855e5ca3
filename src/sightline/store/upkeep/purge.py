"""Removing pictures and sessions from a store for good.

This is the only operation that rewrites the log: rows become empty `purged` rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from sightline.store.database import database_errors, transaction
from sightline.store.engines import faiss_files
from sightline.store.folder import StoreFolder
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer


def purge(
    store_folder: StoreFolder, pictures: Iterable[int], sessions: Iterable[str], wait: float = 0.0
) -> int:
    """Remove everything about some pictures or sessions; return how many events were erased.

    Rows, words and thumbnails are removed from every version, so a rollback to an older one is no
    longer possible.
    """
    picture_ids, session_ids = set(pictures), set(sessions)
    with Writer(store_folder, "store purge", wait) as writer:
        # First the published rows, then the log, and last the catalogue, so that a purge that was
        # killed can be run again with the same names.
        writer.publish(Change(dead=sorted(picture_ids)), finished=False)
        writer.drop_models()  # They were trained on what is removed.
        writer.compact(everything=True)
        writer.forget_older()
        snapshot = Snapshot(store_folder.shards, writer.version)
        faiss_files.remove_larger(store_folder.ivf, snapshot.published)
        count = writer.log.purge(picture_ids, session_ids)
        in_use = snapshot.vocabulary()[0].tolist()
        with transaction(writer.catalogue.db, writer.catalogue.path):
            writer.catalogue.forget(picture_ids, keep_terms=in_use)
        with database_errors(store_folder.catalogue):
            writer.catalogue.db.execute("VACUUM")
        for path in (*store_folder.path.glob("*.damaged-*"), *store_folder.path.glob("*.schema-*")):
            path.unlink()
    return count
