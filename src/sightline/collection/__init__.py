"""A collection: a folder of pictures and the store that knows about it.

>>> import pathlib, tempfile
>>> from PIL import Image
>>> box = tempfile.TemporaryDirectory()
>>> photos = pathlib.Path(box.name, "photos"); photos.mkdir()
>>> Image.new("RGB", (40, 30), "green").save(photos / "a.jpg")
>>> _ = (photos / "a.txt").write_text("tree, snow")
>>> c = Collection.open(photos, store=pathlib.Path(box.name, "store"), workers=1)
>>> c.index().indexed
1
>>> [hit.path for hit in c.search("tree").hits]
[b'a.jpg']
>>> box.cleanup()
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sightline import settings as settings_of
from sightline.collection.finding import below_root, inside, root_of_store, seconds_of
from sightline.errors import CollectionError, SightlineError, UsageError
from sightline.progress import NoProgress
from sightline.records import shown
from sightline.settings import Origin, Settings

if TYPE_CHECKING:
    from sightline.collection.indexing import IndexReport
    from sightline.collection.previewing import Preview
    from sightline.collection.reading import IndexOptions
    from sightline.collection.searching import Results
    from sightline.contracts import Compute, Progress
    from sightline.records import Skipped, Tags
    from sightline.store.home import Home, Reader
    from sightline.store.verifying import Verified
    from sightline.store.writer import Writer

Paths = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class State:
    """How a collection stands."""

    pictures: int
    with_words: int
    skipped: int
    version: int
    words: int


class Collection:
    """A folder of pictures with its store; every verb of the command line is a method here."""

    def __init__(self, root: bytes, store: Path, settings: Settings, origins: list[Origin]) -> None:
        from sightline.store.home import Home

        self.root = root
        self.home: Home = Home(store)
        self.settings = settings
        self.origins = origins

    def __repr__(self) -> str:
        return f"Collection({shown(self.root)!r}, store={str(self.home.folder)!r})"

    @classmethod
    def open(
        cls,
        folder: str | bytes | os.PathLike[str],
        store: str | os.PathLike[str] | None = None,
        **flags: settings_of.Value | None,
    ) -> Collection:
        """Open the collection in a folder; nothing is written until it is indexed.

        Parameters
        ----------
        folder
            Where the pictures lie. Nothing is ever written there.
        store
            Where to keep what is learnt; by default a folder of its own in the user's data folder.
        **flags
            Any setting of `sightline.settings.Settings`.
        """
        root = os.path.realpath(os.fsencode(folder))
        place = Path(store).expanduser().absolute() if store else settings_of.default_store(root)
        if inside(place, root) or inside(Path(os.fsdecode(root)), os.fsencode(place)):
            raise UsageError(
                f"The store {place} and the collection {shown(root)} would lie inside one another; "
                "nothing is ever written among pictures. Name another place with --store."
            )
        found, origins = settings_of.load(flags, place)
        return cls(root, place, found, origins)

    # -- index -------------------------------------------------------------------------------

    def index(
        self,
        *,
        words: Paths = (),
        forget_words: Paths = (),
        features: Sequence[str] = (),
        retry: bool = False,
        allow_empty: bool = False,
        progress: Progress | None = None,
        compute: Compute | None = None,
    ) -> IndexReport:
        """Bring the store up to date with the folder; only new and changed files are read.

        Parameters
        ----------
        words
            Tables of words (CSV, TSV, COCO captions JSON, JSON lines) to read from now on.
        forget_words
            Tables no longer to be read.
        features
            Names of features to compute for every picture, from now on.
        retry
            Try again the files that were skipped before.
        allow_empty
            Believe an empty folder that held pictures before; it may be a disk not mounted.
        """
        from sightline.collection.indexing import IndexRun
        from sightline.compute.local import LocalCompute
        from sightline.store.writer import Writer

        self._refuse_wrong_places()
        for path in words:
            self._check_table(os.path.realpath(os.fspath(path)))
        options = self._options(features, retry=retry, allow_empty=allow_empty)
        s = self.settings
        own = compute or LocalCompute(s.workers, seconds=s.seconds)
        try:
            with Writer(self.home, "index", s.wait) as writer:
                self._remember(writer, words, forget_words, features)
                return IndexRun(self.root, writer, own, options, progress or NoProgress()).run()
        finally:
            if compute is None:
                own.close()

    def _refuse_wrong_places(self) -> None:
        """Refuse to index what is no folder, or into a store that is another's or none."""
        if not os.path.isdir(self.root):
            raise CollectionError(f"{shown(self.root)} is no folder. Name the folder of pictures.")
        owner = root_of_store(self.home.folder)
        if owner is not None and owner != self.root and os.path.isdir(owner):
            raise CollectionError(
                f"The store {self.home.folder} belongs to {shown(owner)}. "
                f"Name another one with --store for {shown(self.root)}."
            )
        if not self.home.exists() and not self.home.is_free():
            raise UsageError(
                f"{self.home.folder} is no store and holds other files. "
                "Name a new or empty folder with --store."
            )

    def _check_table(self, path: str) -> None:
        from sightline.collection.words import read_table

        if not os.path.isfile(path):
            raise UsageError(f"There is no file {path}. Name a table of words.")
        try:
            read_table(path, self.root)
        except SightlineError as e:
            raise UsageError(f"{path} cannot be used as a table of words: {e}") from e

    def preview(self, *, words: Paths = (), forget_words: Paths = ()) -> Preview:
        """Return what an index would do now, without doing it."""
        from sightline.collection.previewing import preview

        self._refuse_wrong_places()
        given = [os.path.realpath(os.fspath(p)) for p in words]
        for path in given:
            self._check_table(path)
        forgotten = {os.path.realpath(os.fspath(p)) for p in forget_words}
        return preview(self.home, self.root, self._options(()), given, forgotten)

    def _options(
        self, features: Sequence[str], *, retry: bool = False, allow_empty: bool = False
    ) -> IndexOptions:
        from sightline import plugins
        from sightline.collection.reading import IndexOptions
        from sightline.compute.describing import fingerprint, load_feature
        from sightline.pictures.reading import ReadLimits

        s = self.settings
        names = features or [f.strip() for f in s.features.split(",") if f.strip()]
        places = [plugins.place("features", name) for name in names]
        return IndexOptions(
            limits=ReadLimits(s.working_size, s.max_megapixels, int(s.max_file_mb * 1e6), s.follow),
            hidden=s.hidden,
            exclude=tuple(os.fsencode(e.strip()) for e in s.exclude.split(",") if e.strip()),
            folder_words=s.folder_words,
            retry=retry,
            allow_empty=allow_empty,
            seconds=s.seconds,
            features=tuple((fingerprint(load_feature(p), s.working_size), p) for p in places),
        )

    def _remember(
        self, writer: Writer, words: Paths, forget_words: Paths, features: Sequence[str]
    ) -> None:
        """Keep for later runs what was asked for in this one."""
        from sightline.store.events import NewEvent
        from sightline.store.writer import Change

        known = writer.catalogue.words_files()
        events = []
        for given, present in ((words, True), (forget_words, False)):
            for path in given:
                text = os.path.realpath(os.fspath(path))
                if present != (text in known):
                    events.append(NewEvent("words-file", body={"path": text, "present": present}))
        meta = [("root", json.dumps(os.fsdecode(self.root)))]
        writer.note(Change(events=writer.append(events), meta=meta))
        flags = {o.name: o.value for o in self.origins if o.origin == "flag"}
        kept = {n: v for n, v in flags.items() if n in settings_of.REMEMBERED}
        if features:
            kept["features"] = ",".join(features)
        if kept:
            settings_of.remember(self.home.folder, kept)
            self.settings = replace(self.settings, **kept)  # type: ignore[arg-type]

    # -- search ------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        folder: str | bytes | None = None,
        after: int | str | None = None,
        before: int | str | None = None,
        min_side: int | None = None,
        max_side: int | None = None,
        min_bytes: int | None = None,
        max_bytes: int | None = None,
    ) -> Results:
        """Find pictures by the words they carry.

        Parameters
        ----------
        query
            `tree snow -people 2:red +barn "golden gate bridge"`
        k
            Hits to return.
        folder
            Only pictures below this folder, given from the collection, absolute, or from here.
        after, before
            Only pictures taken (or, where that is not known, changed) in this time: a date such
            as "2024-06", or seconds since 1970.
        min_side, max_side
            Only pictures whose longer side has so many pixels.
        min_bytes, max_bytes
            Only files of this size.
        """
        from sightline.collection.searching import search
        from sightline.store.catalogue import Where

        below = None if folder is None else below_root(os.fsencode(folder), self.root)
        times = seconds_of(after, "after"), seconds_of(before, "before")
        where = Where(below, *times, min_side, max_side, min_bytes, max_bytes)
        with self.home.reader() as reader:
            return search(reader, self.root, query, self.settings.top if k is None else k, where)

    def words(self, picture: str | bytes | int) -> list[Tags]:
        """Return the words of a picture (an id, or a path in the collection), by source."""
        with self.home.reader() as reader:
            return reader.catalogue.words(self._id_of(reader, picture))

    def thumbnails(self, pictures: Sequence[int]) -> list[bytes]:
        """Return small JPEG pictures, without any metadata."""
        with self.home.reader() as reader:
            return [reader.snapshot.thumbnail(p) for p in pictures]

    # -- state -------------------------------------------------------------------------------

    def state(self) -> State:
        """Return how many pictures, words and skipped files there are."""
        with self.home.reader() as reader:
            _, with_words, skipped = reader.catalogue.counts()
            terms, _ = reader.snapshot.vocabulary()
            pictures = len(reader.snapshot.ids())
            return State(pictures, with_words, skipped, reader.snapshot.version, len(terms))

    def tables(self) -> list[str]:
        """Return the tables of words that every index reads."""
        with self.home.reader() as reader:
            return reader.catalogue.words_files()

    def skipped(self) -> list[Skipped]:
        """Return the files the last index skipped, with reasons."""
        with self.home.reader() as reader:
            return [s for s, _, _ in reader.catalogue.skipped()]

    # -- looking after the store ---------------------------------------------------------------

    def verify(self, progress: Progress | None = None) -> Verified:
        """Check every byte of the store."""
        from sightline.store.locks import Lock
        from sightline.store.verifying import verify

        if os.access(self.home.folder, os.W_OK):
            with Lock(self.home.folder, "store verify", self.settings.wait):
                return verify(self.home, progress or NoProgress())
        return verify(self.home, progress or NoProgress())

    def repair(self, say: Callable[[str], None], progress: Progress | None = None) -> Verified:
        """Mend the store, then read again the pictures that lost their place in it."""
        from sightline.store.repairing import repair

        mended = repair(self.home, say, self.settings.wait)
        if os.path.isdir(self.root):
            self.index(progress=progress)
            return self.verify()
        return mended

    def rollback(self, number: int | None = None) -> int:
        """Publish an older version again, by default the one before; return the new number."""
        from sightline.store.writer import Writer

        with Writer(self.home, "store rollback", self.settings.wait) as writer:
            current = writer.version.number
            finished = [
                n
                for n in self.home.versions.numbers()
                if n < current and self.home.versions.read(n).finished
            ]
            if not finished or (number is not None and number not in finished):
                listed = ", ".join(map(str, finished)) or "none"
                raise UsageError(
                    f"There is no version {number if number is not None else 'before this one'} "
                    f"to go back to. Kept: {listed}."
                )
            return writer.rollback(number or finished[-1]).number

    def backup(self, target: str | os.PathLike[str]) -> Verified:
        """Copy the store to a new folder and check the copy."""
        from sightline.store.keeping import backup

        place = Path(target).expanduser().absolute()
        if inside(place, self.root):
            raise UsageError(f"{place} lies inside the collection, where nothing is ever written.")
        return backup(self.home, place, self.settings.wait)

    def purge(
        self, pictures: Sequence[str | bytes | int] = (), sessions: Sequence[str] = ()
    ) -> int:
        """Remove all that is known of some pictures or sessions, for good."""
        from sightline.store.keeping import purge

        return purge(self.home, self.resolve(pictures), sessions, self.settings.wait)

    def resolve(self, pictures: Sequence[str | bytes | int]) -> list[int]:
        """Return the ids of pictures given by path (relative to the collection) or id."""
        with self.home.reader() as reader:
            return [self._id_of(reader, p) for p in pictures]

    def contains(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a path lies inside the collection, where nothing may be written."""
        return inside(Path(path).expanduser().absolute(), self.root)

    def _id_of(self, reader: Reader, picture: str | bytes | int) -> int:
        if isinstance(picture, int):
            if not reader.catalogue.facts([picture]):
                raise CollectionError(f"There is no picture {picture} in {shown(self.root)}.")
            return picture
        path = os.fsencode(picture)
        here = os.path.relpath(os.path.realpath(path), self.root)
        for candidate in (os.path.normpath(path), here):
            found = reader.catalogue.find(candidate)
            if found is not None:
                return found
        raise CollectionError(f"{shown(path)} is not in the collection {shown(self.root)}.")
