"""Removing pictures and sessions from a store for good.

This is the only operation that rewrites the log: rows become empty `purged` rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from sightline.store.database import database_errors, transaction
from sightline.store.engines import faiss_files
from sightline.store.home import Home
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Writer


def purge(home: Home, pictures: Iterable[int], sessions: Iterable[str], wait: float = 0.0) -> int:
    """Remove all that is known of some pictures or sessions, for good; return the rows removed.

    This is the one thing that rewrites the log: the rows become empty `purged` rows. Rows, words
    and thumbnails go from every version, so older versions can no longer be rolled back to.
    """
    doomed, named = set(pictures), set(sessions)
    with Writer(home, "store purge", wait) as writer:
        # First out of sight, then out of the log; the catalogue forgets last, so that a purge that
        # was killed can be asked for again under the same name.
        writer.publish(Change(dead=sorted(doomed)), finished=False)
        writer.drop_models()  # They were taught by what is to be forgotten.
        writer.compact(everything=True)
        writer.forget_older()
        left = Snapshot(home.shards, writer.version)
        faiss_files.forget_others(home.ivf, left.published)
        count = writer.log.purge(doomed, named)
        carried = left.vocabulary()[0].tolist()
        with transaction(writer.catalogue.db, writer.catalogue.path):
            writer.catalogue.forget(doomed, keep_terms=carried)
        with database_errors(home.catalogue):
            writer.catalogue.db.execute("VACUUM")
        for path in (*home.folder.glob("*.damaged-*"), *home.folder.glob("*.schema-*")):
            path.unlink()
    return count
