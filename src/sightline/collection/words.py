"""The words of pictures on their way in: from all sources, to terms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import plugins
from sightline.contracts import Json
from sightline.errors import SightlineError
from sightline.pictures.tables import WordsFile
from sightline.records import Tags, shown
from sightline.store.events import NewEvent
from sightline.words.term_ids import term_id
from sightline.words.tokens import caption_terms, split_labels

# Sources that are read with a picture; the others come from files about many pictures.
BESIDE = ("txt", "xmp-sidecar")
# Sources with this beginning are words that people made of judging sessions; no file has them.
SESSION = "session:"


def clean(words: Iterable[Tags]) -> dict[str, Tags]:
    """Join words of the same source, and split free text of word files into labels.

    >>> clean([Tags("txt", text="tree, red barn")])
    {'txt': Tags(source='txt', tags=('tree', 'red barn'), text='')}
    """
    out: dict[str, Tags] = {}
    for w in words:
        tags, text = w.tags, w.text
        if text and (w.source == "txt" or w.source.startswith("file:")):
            labels, text = split_labels(text)
            tags = (*tags, *labels)
        before = out.get(w.source, Tags(w.source))
        joined = " ".join(t for t in (before.text, text) if t)
        out[w.source] = Tags(w.source, tuple(dict.fromkeys((*before.tags, *tags))), joined)
    return {s: t for s, t in out.items() if t.tags or t.text}


def folder_words(path: bytes) -> Tags:
    """Return the names of the folders a picture lies in.

    >>> folder_words(b"Holidays/2024 Rome/a.jpg").tags
    ('Holidays', '2024 Rome')
    """
    parts = os.path.dirname(path).decode("utf-8", "replace").split("/")
    return Tags("folder", tuple(p for p in parts if p))


def changes(picture: int, old: Iterable[Tags], new: dict[str, Tags]) -> list[NewEvent]:
    """Return the events that turn what is known of a picture's words into what is true now."""
    before = {t.source: t for t in old}
    out = []
    for source in sorted(before.keys() | new.keys()):
        if before.get(source) != new.get(source):
            now = new.get(source, Tags(source))
            body: dict[str, Json] = {
                "source": source, "tags": list[Json](now.tags), "text": now.text,
            }  # fmt: skip
            out.append(NewEvent("words", picture, body))
    return out


def beside(words: Iterable[Tags]) -> dict[str, Tags]:
    """Return the sources that lie beside a picture."""
    return {t.source: t for t in words if t.source in BESIDE}


def of_session(source: str) -> bool:
    """Say whether words come from a judging session."""
    return source.startswith(SESSION)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one picture: their numbers, ascending, and their spelling."""

    ids: tuple[int, ...]
    spelled: tuple[tuple[int, str], ...]


def terms_of(words: Iterable[Tags]) -> Terms:
    """Return the terms a picture carries by all its sources."""
    spelled = {term_id(t): t for w in words for t in caption_terms(w)}
    return Terms(tuple(sorted(spelled)), tuple(sorted(spelled.items())))


class WordFiles:
    """The files with words for many pictures, read once in a run.

    `failed` are the sources of files that could not be read: what they said before still stands.
    """

    def __init__(self, paths: Sequence[str], root: bytes) -> None:
        self.problems: list[str] = []
        self.failed: set[str] = set()
        self._tables: list[tuple[str, dict[bytes, Tags]]] = []
        for text in paths:
            try:
                file = read_table(text, root)
            except (SightlineError, OSError) as e:
                self.failed.add(f"file:{os.path.basename(text)}")
                self.problems.append(
                    f"{text}: {e} What it said before still stands; "
                    f"to drop it: sightline index --forget-words {text}"
                )
                continue
            self.problems += file.problems
            self._tables.append((text, dict(iter(file))))

    def of(self, path: bytes) -> list[Tags]:
        """Return what the files say about a picture."""
        return [table[path] for _, table in self._tables if path in table]

    def unmatched(self, here: set[bytes]) -> list[str]:
        """Say of each file how many of its rows name no picture of the collection."""
        out = []
        for text, table in self._tables:
            lost = [p for p in table if p not in here]
            if lost:
                out.append(
                    f"{os.path.basename(text)}: {len(lost)} of {len(table)} rows name no picture "
                    f"here, the first {shown(lost[0])}"
                )
        return out


def read_table(text: str, root: bytes) -> WordsFile:
    """Read a file with words for many pictures by the reader its ending asks for."""
    path = text.encode("utf-8", "surrogateescape")
    ending = Path(os.fsdecode(path)).suffix.lower()
    file: WordsFile = plugins.load("word_files", ending)(path, root)
    return file


def extra_words(files: WordFiles, path: bytes, folders: bool) -> list[Tags]:
    """Return what word files and (if wanted) folder names say about a picture."""
    found = files.of(path)
    return [*found, folder_words(path)] if folders else found


def stamp(paths: Sequence[str], folders: bool) -> str:
    """Return size and time of word files, and whether folders count, as one comparable text."""
    out = [f"folders:{folders}"]
    for text in paths:
        try:
            s = os.stat(text.encode("utf-8", "surrogateescape"))
            out.append(f"{text}:{s.st_size}:{s.st_mtime_ns}")
        except OSError:
            out.append(f"{text}:missing")
    return "\n".join(out)
