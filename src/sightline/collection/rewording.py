"""Rows that are copied, not computed: new words for a picture that did not change, and the right
row of a picture whose row a rollback left behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sightline.collection import words
from sightline.pictures.folder import Found
from sightline.records import Batch, Tags
from sightline.store.catalogue import Catalogue, Known
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
    terms = {p: words.terms_of(w.values()) for p, w in now.items()}
    batches = _copied(snapshot, np.array(sorted(now), np.int64), terms)
    spelled = [s for t in terms.values() for s in t.spelled]
    change = Change(events=events, batches=batches, stamps=stamps, terms=spelled)
    writer.publish(change, finished=finished)
    return len({e.picture for e in events} - {None})


def publish_kept(
    writer: Writer,
    part: Sequence[tuple[Found, Known]],
    sources: Mapping[int, Snapshot],
    features: set[str],
) -> None:
    """Publish pictures by the right rows that other versions hold, with the words known now.

    Of what the rows hold, only some `features` are taken over. Word files that changed since are
    still seen as changed.
    """
    known = [(f, k, k.outdated.stamps if k.outdated else k.stamps) for f, k in part]
    terms = {k.picture: words.terms_of(writer.catalogue.words(k.picture)) for _, k, _ in known}
    batches: list[Batch] = []
    for source in {id(s): s for s in (sources[p] for p in terms)}.values():
        ids = np.array(sorted(p for p in terms if sources[p] is source), np.int64)
        batches += _copied(source, ids, terms, features)
    change = Change(
        batches=batches,
        stamps=[Stamp(k.picture, f.size, f.mtime, stamps) for f, k, stamps in known],
        terms=[s for t in terms.values() for s in t.spelled],
    )
    writer.publish(change, finished=False)


def _copied(
    snapshot: Snapshot,
    pictures: NDArray[np.int64],
    terms: Mapping[int, words.Terms],
    only: set[str] | None = None,
) -> list[Batch]:
    """Return pictures with new words and the thumbnails and features that they have."""
    return [
        Batch(
            ids=ids,
            terms=tuple(terms[p].ids for p in ids.tolist()),
            thumbnails=tuple(snapshot.thumbnail(p) for p in ids.tolist()),
            features=tuple(snapshot.rows(f, ids) for f in features if only is None or f in only),
        )
        for features, ids in snapshot.by_features(pictures)
    ]
