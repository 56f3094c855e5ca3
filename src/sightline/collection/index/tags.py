"""The words of pictures from all sources, and their terms.

Rows that are copied, not computed: new words for a picture that did not change, and the right
row of a picture whose row a rollback left behind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sightline.collection.index.tables import ChangeCounter, WordChanges, WordFiles
from sightline.contracts import Json
from sightline.pictures.folder import PictureFile
from sightline.pictures.tally import Tally, cut
from sightline.pictures.word_columns import separator_of, split_cell
from sightline.records import Batch, Tags, shown
from sightline.store.catalogue import IN_LANGUAGE, Catalogue, KnownPicture
from sightline.store.events import OF_SESSION, NewEvent
from sightline.store.snapshot import Snapshot
from sightline.store.writer import Change, FileStamp, Writer
from sightline.words.term_ids import term_id
from sightline.words.tokens import caption_terms, split_labels

# Sources that are read with a picture; the others come from files about many pictures.
_BESIDE = ("txt", "xmp-sidecar")
# In a `.txt` file, a caption in another language than the first: `de.utf8=Eine Katze.`
LANGUAGE_MARK = ".utf8="
_LANGUAGE_LINE = re.compile(r"([a-z]{2,3}(?:_[A-Z]{2})?(?:@[a-z]+)?)\.utf8=(.*)")


def clean(words: Iterable[Tags], txt_as: str = "auto") -> dict[str, Tags]:
    """Join words of the same source; text of `.txt` files becomes labels if it is a list.

    `txt_as` is the setting of this name: with labels every text is a list, with text none is.

    Lines that name their language become sources of their own.

    >>> clean([Tags("txt", text="tree, red barn")])
    {'txt': Tags(source='txt', tags=('tree', 'red barn'), text='')}
    """
    out: dict[str, Tags] = {}
    for w in chain.from_iterable(map(_by_language, words)):
        tags, text = w.tags, w.text
        if text and w.source == "txt" and txt_as != "text":
            labels, text = _list_of(text) if txt_as == "labels" else split_labels(text)
            tags = (*tags, *labels)
        before = out.get(w.source, Tags(w.source))
        joined = " ".join(t for t in (before.text, text) if t)
        out[w.source] = Tags(w.source, tuple(dict.fromkeys((*before.tags, *tags))), joined)
    return {s: t for s, t in out.items() if t.tags or t.text}


def _by_language(words: Tags) -> list[Tags]:
    r"""Return the words of a `.txt` file by the languages that its lines name.

    >>> for t in _by_language(Tags("txt", text="A cat.\nde.utf8=Eine Katze.\nLoud.")):
    ...     t.source, t.text
    ('txt', 'A cat. Loud.')
    ('txt:de', 'Eine Katze.')
    """
    if words.source != "txt" or LANGUAGE_MARK not in words.text:
        return [words]
    plain, others = [], []
    for line in words.text.splitlines():
        if match := _LANGUAGE_LINE.fullmatch(line.strip()):
            others.append(Tags(IN_LANGUAGE + match[1], (), match[2].strip()))
        elif line.strip():
            plain.append(line.strip())
    return [replace(words, text=" ".join(plain)), *(t for t in others if t.text)]


def is_beside(source: str) -> bool:
    """Say whether words come from a file beside the picture."""
    return source in _BESIDE or source.startswith(IN_LANGUAGE)


def _list_of(text: str) -> tuple[tuple[str, ...], str]:
    return tuple(dict.fromkeys(split_cell(text, separator_of([text])))), ""


def count_txt(words: Mapping[str, Tags], path: bytes, counts: Tally) -> None:
    """Count how the text beside a picture was read."""
    if txt := words.get("txt"):
        kind = "labels" if txt.tags else "text"
        example = f"{shown(path)}: {' · '.join(txt.tags) or txt.text}"
        counts.add(kind, f".txt files read as {kind}", cut(example, 80))


def folder_words(path: bytes) -> Tags:
    """Return the names of the folders a picture lies in.

    >>> folder_words(b"Holidays/2024 Rome/a.jpg").tags
    ('Holidays', '2024 Rome')
    """
    parts = os.path.dirname(path).decode("utf-8", "replace").split("/")
    return Tags("folder", tuple(p for p in parts if p))


def changes(picture: int, old: Iterable[Tags], new: dict[str, Tags]) -> list[NewEvent]:
    """Return the events that replace the known words of a picture by its present ones."""
    old_words = {t.source: t for t in old}
    events = []
    for source in sorted(old_words.keys() | new.keys()):
        if old_words.get(source) != new.get(source):
            now = new.get(source, Tags(source))
            body: dict[str, Json] = {
                "source": source, "tags": list[Json](now.tags), "text": now.text,
            }  # fmt: skip
            events.append(NewEvent("words", picture, body))
    return events


def beside(words: Iterable[Tags]) -> dict[str, Tags]:
    """Return the sources that lie beside a picture."""
    return {t.source: t for t in words if is_beside(t.source)}


def of_session(source: str) -> bool:
    """Say whether words come from a judging session."""
    return source.startswith(OF_SESSION)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one picture: their numbers, ascending, and their spelling."""

    ids: tuple[int, ...]
    spelled: tuple[tuple[int, str], ...]


def terms_of(words: Iterable[Tags]) -> Terms:
    """Return the terms a picture has by all its sources."""
    spelled = {term_id(t): t for w in words for t in caption_terms(w)}
    return Terms(tuple(sorted(spelled)), tuple(sorted(spelled.items())))


def extra_words(files: WordFiles, path: bytes, folders: bool) -> list[Tags]:
    """Return the words of a picture from word files and, if wanted, from folder names."""
    words = files.of(path)
    return [*words, folder_words(path)] if folders else words


Words = dict[str, Tags]


def with_new_sidecars(old: Iterable[Tags], fresh: Words) -> Words:
    """Return a picture's words with those beside it replaced."""
    by_source = {t.source: t for t in old}
    return {
        **{s: t for s, t in by_source.items() if not is_beside(s)},
        **beside(fresh.values()),
    }


def from_files(
    catalogue: Catalogue,
    files: WordFiles,
    now: dict[int, Words],
    folders: bool,
    leaving: Container[int] = (),
) -> dict[str, WordChanges]:
    """Add to `now` every picture whose words from word files have changed; return how many.

    Pictures that are `leaving` keep their words.
    """
    changes = ChangeCounter()
    for k in catalogue.known():
        if k.picture in leaving:
            continue
        old = {t.source: t for t in catalogue.words(k.picture)}
        base = now.get(k.picture, old)
        not_from_files = {s: t for s, t in base.items() if not _from_file(s) or s in files.failed}
        new = {**not_from_files, **clean(extra_words(files, k.path, folders))}
        if new != old:
            now[k.picture] = new
            changes.add(k.path, base, new)
    return changes.by_source()


def _from_file(source: str) -> bool:
    return source.startswith("file:") or source == "folder"


def publish_words(
    writer: Writer,
    now: dict[int, Words],
    stamps: list[FileStamp],
    *,
    session: str | None = None,
    first: Sequence[NewEvent] = (),
    finished: bool = False,
) -> int:
    """Give pictures new words, copying the rest of their rows; return how many changed.

    `session` is whose words they are; `first` are events that must be true together with them.
    """
    catalogue = writer.catalogue
    new = [e for p, w in now.items() for e in changes(p, catalogue.words(p), w)]
    events = writer.append([*first, *(replace(e, session=session) for e in new)])
    snapshot = Snapshot(writer.store_folder.shards, writer.version)
    terms = {p: terms_of(w.values()) for p, w in now.items()}
    batches = _copied(snapshot, np.array(sorted(now), np.int64), terms)
    spelled = [s for t in terms.values() for s in t.spelled]
    change = Change(events=events, batches=batches, stamps=stamps, terms=spelled)
    writer.publish(change, finished=finished)
    return len({e.picture for e in events} - {None})


def publish_kept(
    writer: Writer,
    part: Sequence[tuple[PictureFile, KnownPicture]],
    sources: Mapping[int, Snapshot],
    features: set[str],
) -> None:
    """Publish pictures by the right rows that other versions hold, with the words known now.

    Of what the rows hold, only some `features` are taken over. Word files that changed since are
    still seen as changed.
    """
    terms = {k.picture: terms_of(writer.catalogue.words(k.picture)) for _, k in part}
    batches: list[Batch] = []
    for source in {id(s): s for s in (sources[p] for p in terms)}.values():
        ids = np.array(sorted(p for p in terms if sources[p] is source), np.int64)
        batches += _copied(source, ids, terms, features)
    change = Change(
        batches=batches,
        stamps=[FileStamp(k.picture, f.size, f.mtime, k.plain_stamps) for f, k in part],
        terms=[s for t in terms.values() for s in t.spelled],
    )
    writer.publish(change, finished=False)


def _copied(
    snapshot: Snapshot,
    pictures: NDArray[np.int64],
    terms: Mapping[int, Terms],
    only: set[str] | None = None,
) -> list[Batch]:
    """Return pictures with new words and the thumbnails and features that they have."""
    copies = []
    for features, ids in snapshot.by_features(pictures):
        stored = snapshot.batch(ids, [f for f in features if only is None or f in only])
        copies.append(replace(stored, terms=tuple(terms[p].ids for p in ids.tolist())))
    return copies
