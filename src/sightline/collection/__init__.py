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

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sightline import settings as settings_of
from sightline.collection.engines.verbs import Serving
from sightline.collection.export.verbs import Exporting
from sightline.collection.finding import inside, root_of_store
from sightline.collection.search.verbs import Telling
from sightline.collection.sessions.verbs import Sessions
from sightline.collection.showing.answering import Answering
from sightline.collection.showing.verbs import Showing
from sightline.collection.similarity.verbs import Comparing
from sightline.collection.tagging.verbs import Tagging
from sightline.collection.teaching import Teaching
from sightline.collection.upkeep import Upkeep
from sightline.errors import CollectionError, SightlineError, UsageError
from sightline.progress import NoProgress
from sightline.records import shown
from sightline.settings import Origin, Settings

if TYPE_CHECKING:
    from sightline.collection.index.preview import Preview
    from sightline.collection.index.run import IndexReport
    from sightline.collection.index.status import FeatureState
    from sightline.contracts import Compute, Progress
    from sightline.records import Skipped, Tags
    from sightline.store.home import Home, Reader
    from sightline.store.locks import Running

Paths = Sequence[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class State:
    """How a collection stands; `learnt`, `likeness` and `regions` say what models are in use."""

    pictures: int
    with_words: int
    skipped: int
    version: int
    words: int
    learnt: str = ""
    likeness: str = ""
    regions: str = ""


class Collection(
    Answering, Upkeep, Teaching, Comparing, Sessions, Showing, Telling, Exporting, Tagging, Serving
):
    """A folder of pictures with its store; every verb of the command line is a method here."""

    def __init__(self, root: bytes, store: Path, settings: Settings, origins: list[Origin]) -> None:
        from sightline.store.home import Home

        self.root = root
        self.home: Home = Home(store)
        self.home.engine, self.home.listed_rows = settings.engine, settings.ivf_rows
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
        vectors: Sequence[str] = (),
        forget_vectors: Sequence[str] = (),
        by_order: bool = False,
        key_column: str = "",
        refit: bool = False,
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
        vectors
            Files of vectors you computed (.npy, .npz, .parquet, .safetensors), each `FILE` or
            `NAME=FILE`, to keep as a feature from now on.
        forget_vectors
            Such files, or the names of their features, no longer to be kept.
        by_order
            Rows of `vectors` are in the order of the pictures' sorted paths. Only files without a
            key column are read so, and only when this is said.
        key_column
            The column or array of `vectors` that holds paths or file names, where it has a name
            that is not known, or there are several.
        refit
            Make the codebooks of fitted features anew; every picture is then described again.
        retry
            Try again the files that were skipped before.
        allow_empty
            Believe an empty folder that held pictures before; it may be a disk not mounted.
        """
        from sightline.collection.index.options import (
            flags_to_remember,
            index_options,
            remember_tables,
        )
        from sightline.collection.index.run import IndexRun
        from sightline.collection.index.vector_checks import check_given, read_given
        from sightline.collection.index.vectors import forget_vectors as forget_file
        from sightline.collection.models.word_model import scorer_of
        from sightline.compute.chosen import computing, elsewhere
        from sightline.store.writer import Writer

        self.refuse_wrong_places()
        self.require_writable()
        tables, forgotten = _real(words), _real(forget_words)
        for path in tables:
            self._check_table(path)
        given, bar = read_given(vectors, by_order, key_column), progress or NoProgress()
        s = self.settings
        options = index_options(s, features, retry=retry, refit=refit, allow_empty=allow_empty)
        check_given(self.home, self.root, options, given, by_order, forget_vectors)
        with computing(s, bar, compute) as own, Writer(self.home, "index", s.wait) as writer:
            remember_tables(writer, self.root, tables, forgotten)
            self._keep(flags_to_remember(self.origins, features))
            there = own if elsewhere(s) else None
            writer.scorer = scorer_of(self.home, writer.version, there)
            for forgotten_file in forget_vectors:
                forget_file(writer, forgotten_file, bar)
            return IndexRun(self.root, writer, own, options, bar, given, by_order).run()

    def _keep(self, kept: dict[str, settings_of.Value]) -> None:
        if kept:
            from sightline.store.durable import disk_errors

            with disk_errors(self.home.folder / "config.toml"):
                settings_of.remember(self.home.folder, kept)
            self.settings = replace(self.settings, **kept)  # type: ignore[arg-type]

    def refuse_wrong_places(self) -> None:
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
        from sightline.collection.index.tags import read_table

        if not os.path.isfile(path):
            raise UsageError(f"There is no file {path}. Name a table of words.")
        try:
            table = read_table(path, self.root)
        except SightlineError as e:
            raise UsageError(f"{path} cannot be used as a table of words: {e}") from e
        if table.problems and next(iter(table), None) is None:
            raise UsageError(
                f"{path} cannot be used as a table of words: none of its rows gives words to a "
                f"picture. {table.problems[0]}"
            )

    def preview(
        self,
        *,
        words: Paths = (),
        forget_words: Paths = (),
        vectors: Sequence[str] = (),
        by_order: bool = False,
        key_column: str = "",
    ) -> Preview:
        """Return what an index would do now, without doing it; what it would refuse is refused."""
        from sightline.collection.index.options import index_options
        from sightline.collection.index.preview import preview
        from sightline.collection.index.vector_checks import check_given, read_given

        self.refuse_wrong_places()
        given = _real(words)
        for path in given:
            self._check_table(path)
        options = index_options(replace(self.settings, features=""))
        read = read_given(vectors, by_order, key_column)
        check_given(self.home, self.root, options, read, by_order)
        return preview(self.home, self.root, options, given, set(_real(forget_words)))

    # -- looking at pictures -----------------------------------------------------------------

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
            version, model = reader.snapshot.version, reader.snapshot.model
            said = ""
            if model:
                from sightline.collection.models.word_model import describe_model

                said = describe_model(self.home, model)
            alike = ""
            if reader.snapshot.similar:
                from sightline.collection.similarity.model import describe_similarity_model

                alike = describe_similarity_model(self.home, reader.snapshot.similar)
            regions = ""
            if reader.snapshot.regions:
                from sightline.collection.tagging.model import describe_region_tagger

                regions = describe_region_tagger(self.home, reader.snapshot.regions)
            pictures = len(reader.snapshot.ids())
            return State(pictures, with_words, skipped, version, len(terms), said, alike, regions)

    def running(self) -> list[Running]:
        """Return the commands that are at work on the store now, such as a training."""
        from sightline.store.locks import commands

        return commands(self.home.folder)

    def features(self) -> list[FeatureState]:
        """Return every feature there is, with what the store and the model have of it."""
        from sightline.collection.index.status import feature_states

        return feature_states(self.home)

    def tables(self) -> list[str]:
        """Return the tables of words that every index reads."""
        with self.home.reader() as reader:
            return reader.catalogue.words_files()

    def skipped(self) -> list[Skipped]:
        """Return the files the last index skipped, with reasons."""
        with self.home.reader() as reader:
            return [s for s, _, _ in reader.catalogue.skipped()]

    # -- finding pictures

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


def _real(paths: Paths) -> list[str]:
    return [os.path.realpath(os.fspath(p)) for p in paths]
