"""XMP sidecars: new ones in a folder tree of their own, or beside the pictures, merged.

Beside the pictures only what is new is written: a word that the picture's file or its sidecar
has already is no reason to touch anything. Where a sidecar has to be made, or holds no keyword
yet, it gets all words, also those that were not asked for, because many programs read a sidecar in
place of what the file holds. A sidecar that was made here, or that has words which are known from
elsewhere too, is completed where a keyword list lacks what another has.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection as Names
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sightline.collection.export.atomic_files import (
    checksum,
    contents,
    folder_below,
    is_aside,
    put_new,
    put_over,
    sweep,
)
from sightline.errors import DataError
from sightline.exchange.exported import ExportedPicture, ExportedWord
from sightline.exchange.xmp_keywords import known_paths, levels, separated
from sightline.exchange.xmp_merge import EMPTY, Additions, Merged, is_own_packet, merged
from sightline.exchange.xmp_regions import Region, RegionFrame
from sightline.pictures._xmp import read_keywords
from sightline.pictures.captions import MAX_SIDECAR, sidecar_names
from sightline.pictures.folder import EXTRA, PICTURES, UNSUPPORTED
from sightline.pictures.keyword_lists import Levels
from sightline.pictures.metadata import read_metadata, xmp_packet
from sightline.pictures.reading import open_regular

_SIDECAR = "xmp-sidecar"
_IN_FILES = frozenset(("xmp", "iptc", _SIDECAR))
# Sources whose words have no hierarchy: a separator is part of a name.
_FLAT = frozenset(("iptc", "folder"))
_TURNED = frozenset(("JPEG", "PNG", "TIFF", "WEBP"))


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A sidecar to be written.

    Attributes
    ----------
    folder, name : bytes
        Where, from the root.
    before : str or None
        Checksum of what is there; None for a new file.
    new : Additions
        What it is to hold.
    words : tuple of str
        What of that is added.
    regions : int
        What of that is added.
    captioned : bool
        What of that is added.
    completed : tuple of str
        Words that some of its keyword lists had and others get.
    """

    folder: bytes
    name: bytes
    before: str | None
    new: Additions
    words: tuple[str, ...]
    regions: int
    captioned: bool
    completed: tuple[str, ...] = ()

    @property
    def path(self) -> bytes:
        """The path from the root."""
        return os.path.join(self.folder, self.name)


def sidecar_name(picture: bytes, listed: Names[bytes]) -> bytes:
    """Return the name of a picture's sidecar: the one that is there, or the usual one.

    Both `photo.jpg.xmp` and `photo.xmp` are in use. The second is not taken where another picture
    has the same stem, since it is that one's too.

    >>> sidecar_name(b"a.jpg", {b"a.jpg", b"a.xmp"}), sidecar_name(b"a.jpg", {b"a.jpg"})
    (b'a.xmp', b'a.jpg.xmp')
    >>> sidecar_name(b"a.jpg", {b"a.jpg", b"a.nef", b"a.xmp"})
    b'a.jpg.xmp'
    """
    for name in sidecar_names(picture):
        of_picture = name.startswith(picture) or not _shared(picture, listed)
        if name in listed and name.lower().endswith(b".xmp") and of_picture:
            return name
    return picture + b".xmp"


def _shared(picture: bytes, listed: Names[bytes]) -> bool:
    stem, ending = os.path.splitext(picture)
    endings = {*PICTURES, *EXTRA, *UNSUPPORTED}
    others = (stem + case for e in endings for case in (e, e.upper()) if case != ending)
    return any(other in listed for other in others)


class SidecarWriter(ABC):
    """Puts sidecars somewhere; several may be written at once."""

    @abstractmethod
    def place(self, p: ExportedPicture) -> bytes:
        """Return where the sidecar of a picture is, or would be, from the root or the target."""

    @abstractmethod
    def plan(self, p: ExportedPicture) -> Sidecar | None:
        """Return what would be written for a picture; None if there is nothing new.

        Raises
        ------
        DataError
            Its sidecar cannot be read, added to or replaced.
        """

    @abstractmethod
    def write(self, s: Sidecar) -> None:
        """Write a sidecar that was planned.

        Raises
        ------
        DataError
            It is no longer what it was when it was planned, or cannot be written.
        """

    def try_to_write(self, s: Sidecar) -> str:
        """Write a sidecar; return why not, if it was left as it is."""
        try:
            self.write(s)
        except DataError as e:
            return str(e)
        return ""


class Beside(SidecarWriter):
    """Sidecars beside the pictures of a collection, whose root and links are resolved."""

    def __init__(self, root: bytes, *, boxes: bool, follow: bool, max_bytes: int) -> None:
        self.root, self.boxes, self.follow, self.max_bytes = root, boxes, follow, max_bytes
        # Folders with temporary files of a killed run.
        self.with_leftovers: list[bytes] = []
        self._listed: tuple[bytes | None, frozenset[bytes]] = None, frozenset()

    def plan(self, p: ExportedPicture) -> Sidecar | None:
        """Return the sidecar to write beside a picture; None if nothing would change."""
        new_words = tuple(w for w in p.words if _IN_FILES.isdisjoint(w.sources))
        new_caption = bool(p.caption) and _IN_FILES.isdisjoint(p.caption_sources)
        has_news = bool(new_words or new_caption or (self.boxes and any(w.box for w in p.words)))
        if not has_news and not any(_SIDECAR in w.sources for w in p.words):
            return None
        folder, name = os.path.split(self.place(p))
        existing = self._there(folder, name, has_news)
        if existing is None:
            if not has_news:
                return None
            whole = p.whole or p
            new = self.additions(whole, whole.words, text=True)
            return planned(folder, name, None, new, merged(EMPTY, new))
        if new_words and not read_keywords(existing):
            p = p.whole or p
            new_words = p.words
        additions = self.additions(p, new_words, text=new_caption)
        new = replace(additions, complete=_is_ours(existing, p))
        outcome = merged(existing, new)
        if outcome and not has_news:
            self._there(folder, name, True)
        return planned(folder, name, checksum(existing), new, outcome) if outcome else None

    def _there(self, folder: bytes, name: bytes, required: bool) -> bytes | None:
        """Return the sidecar that is there; unless something is to be written, any or none."""
        with folder_below(self.root, folder) as at:
            try:
                return contents(at, name, MAX_SIDECAR, read_only=not required)
            except DataError:
                if required:
                    raise
                return None

    def additions(
        self, p: ExportedPicture, words: tuple[ExportedWord, ...], *, text: bool
    ) -> Additions:
        """Return what a sidecar is to hold of a picture: some of its words, boxes, perhaps text."""
        boxes = ((w.word, w.box) for w in p.words if self.boxes)
        placed = tuple(Region(word, box) for word, box in boxes if box is not None)
        frame = RegionFrame(p.width, p.height, self._orientation(p) if placed else 1)
        caption = p.caption if text else ""
        return Additions(self._paths(p, words), caption, placed, frame, refused=p.refused)

    def _paths(self, p: ExportedPicture, words: Sequence[ExportedWord]) -> tuple[Levels, ...]:
        """Return the levels of words: as in their file, else split as people type them."""
        doubtful = {s for w in words if separated(w.word) for s in w.sources}
        levels_of: dict[str, Levels] = {}
        if "xmp" in doubtful:
            with open_regular(self.root, p.path, self.follow) as f:
                packet = xmp_packet(f.read(self.max_bytes), p.format)
            levels_of |= known_paths(read_keywords(packet))
        if _SIDECAR in doubtful:
            folder, name = os.path.split(self.place(p))
            existing = self._there(folder, name, False)
            beside = known_paths(read_keywords(existing or b""))
            levels_of |= {
                e: path for e, path in beside.items() if len(path) > len(levels_of.get(e, ()))
            }
        return tuple(
            (w.word,) if not separated(w.word) or (w.word not in levels_of and _is_flat(w))
            else levels_of.get(w.word) or levels(w.word)
            for w in words
        )  # fmt: skip

    def _orientation(self, p: ExportedPicture) -> int:
        if p.format not in _TURNED:
            return 1
        with open_regular(self.root, p.path, self.follow) as f:
            return read_metadata(f.read(self.max_bytes), p.format).orientation

    def place(self, p: ExportedPicture) -> bytes:
        """Return the path of the sidecar relative to the collection's root."""
        folder, name = os.path.split(p.path)
        if self.follow:
            # Links to folders of the collection were followed to the picture.
            real = os.path.realpath(os.path.join(self.root, folder))
            folder = b"" if real == self.root else os.path.relpath(real, self.root)
            if folder.split(b"/")[0] == b"..":
                raise DataError("it is reached by a link to a place outside the collection")
        if self._listed[0] != folder:
            with folder_below(self.root, folder) as at:
                self._listed = folder, frozenset(map(os.fsencode, os.listdir(at)))
            if any(map(is_aside, self._listed[1])):
                self.with_leftovers.append(folder)
        if name not in self._listed[1]:
            raise DataError("its picture is no longer there. Run: sightline index")
        return os.path.join(folder, sidecar_name(name, self._listed[1]))

    def write(self, s: Sidecar) -> None:
        """Write a planned sidecar.

        Raises
        ------
        DataError
            Another program has created or changed the file since it was planned.
        """
        with folder_below(self.root, s.folder) as at:
            existing = contents(at, s.name, MAX_SIDECAR)
            if (None if existing is None else checksum(existing)) != s.before:
                raise DataError("it was changed by another program meanwhile; run again")
            if existing is not None:
                put_over(at, s.name, merged(existing, s.new).data, s.before)
            elif not put_new(at, s.name, merged(EMPTY, s.new).data):
                raise DataError("another program has just made it; run again")

    def clean(self) -> None:
        """Remove what killed runs left; only while no other run can be at work."""
        for folder in self.with_leftovers:
            with folder_below(self.root, folder) as at:
                sweep(at)


class Mirror(SidecarWriter):
    """Sidecars in a folder of their own, laid out as the collection is."""

    def __init__(self, target: bytes, source: Beside, *, overwrite: bool) -> None:
        self.target, self.source, self.overwrite = target, source, overwrite

    def plan(self, p: ExportedPicture) -> Sidecar | None:
        """Return the sidecar to write into the target folder."""
        new = self.source.additions(p, p.words, text=True)
        folder, name = os.path.split(self.place(p))
        existing = os.path.lexists(os.path.join(self.target, folder, name))
        if existing and not self.overwrite:
            raise DataError("it is there already; --overwrite replaces it")
        return planned(folder, name, None, new, merged(EMPTY, new))

    def place(self, p: ExportedPicture) -> bytes:
        """Return the path of the sidecar relative to the target folder."""
        return p.path + b".xmp"

    def write(self, s: Sidecar) -> None:
        """Write a planned sidecar; missing folders are created."""
        data = merged(EMPTY, s.new).data
        with folder_below(self.target, s.folder, make=True) as at:
            if not put_new(at, s.name, data):
                if not self.overwrite:
                    raise DataError("it is there already; --overwrite replaces it")
                put_over(at, s.name, data)


def planned(
    folder: bytes, name: bytes, before: str | None, new: Additions, outcome: Merged
) -> Sidecar:
    """Return a sidecar to be written, with what is added to it."""
    added = outcome.words, outcome.regions, outcome.captioned, outcome.completed
    return Sidecar(folder, name, before, new, *added)


def _is_ours(packet: bytes, p: ExportedPicture) -> bool:
    """Say whether a sidecar is to be kept complete: made here, or with words known elsewhere."""
    outside = (w for w in p.words if _SIDECAR in w.sources and not _IN_FILES.issuperset(w.sources))
    return is_own_packet(packet) or any(outside)


def _is_flat(w: ExportedWord) -> bool:
    """Say whether a word is only from where nothing parts levels."""
    return _FLAT.issuperset(w.sources)
