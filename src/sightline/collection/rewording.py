"""Pictures whose words changed while they themselves did not: their rows get new words only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from sightline.collection import words
from sightline.records import Batch, Tags
from sightline.store.catalogue import Catalogue
from sightline.store.events import NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, Stamp, Writer

Words = dict[str, Tags]


def with_new_sidecars(old: Iterable[Tags], fresh: Words) -> Words:
    """Return a picture's words with those beside it replaced."""
    own = {t.source: t for t in old}
    return {
        **{s: t for s, t in own.items() if s not in words.BESIDE},
        **words.beside(fresh.values()),
    }


def from_files(
    catalogue: Catalogue, files: words.WordFiles, now: dict[int, Words], folders: bool
) -> None:
    """Add to `now` every picture for which the word files say something else than before."""
    for k in catalogue.known():
        old = {t.source: t for t in catalogue.words(k.picture)}
        base = now.get(k.picture, old)
        own = {s: t for s, t in base.items() if not _from_file(s) or s in files.failed}
        new = {**own, **words.clean(words.extra_words(files, k.path, folders))}
        if new != old:
            now[k.picture] = new


def _from_file(source: str) -> bool:
    return source.startswith("file:") or source == "folder"


def publish_words(
    writer: Writer,
    now: dict[int, Words],
    stamps: list[Stamp],
    *,
    session: str | None = None,
    first: Sequence[NewEvent] = (),
    finished: bool = False,
) -> int:
    """Give pictures new words, copying the rest of their rows; return how many changed.

    `session` is whose words they are; `first` are events that must be true together with them.
    """
    catalogue = writer.catalogue
    new = [e for p, w in now.items() for e in words.changes(p, catalogue.words(p), w)]
    events = writer.append([*first, *(replace(e, session=session) for e in new)])
    snapshot = Snapshot(writer.home.shards, writer.version)
    groups = snapshot.by_features(np.array(sorted(now), np.int64))
    terms = {p: words.terms_of(w.values()) for p, w in now.items()}
    batches = [
        Batch(
            ids=ids,
            terms=tuple(terms[p].ids for p in ids.tolist()),
            thumbnails=tuple(snapshot.thumbnail(p) for p in ids.tolist()),
            features=tuple(snapshot.rows(f, ids) for f in features),
        )
        for features, ids in groups
    ]
    spelled = [s for t in terms.values() for s in t.spelled]
    change = Change(events=events, batches=batches, stamps=stamps, terms=spelled)
    writer.publish(change, finished=finished)
    return len({e.picture for e in events} - {None})
