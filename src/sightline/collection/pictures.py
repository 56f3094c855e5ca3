"""Pictures by name: what users and programs call a picture, and what is known of it.

A picture is named by its id, by a path, or by a hit of an earlier search. Programs that show a
collection to others name pictures by id and folders by `folder_id`, so that no path need ever be
accepted from a client.
"""

from __future__ import annotations

import hashlib
import operator
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightline.errors import CollectionError, ParameterError, UsageError
from sightline.records import Hit, Skipped, Tags, shown

if TYPE_CHECKING:
    from io import FileIO

    import numpy as np

    from sightline.collection import Collection
    from sightline.collection.index.status import FeatureState
    from sightline.collection.results import Results
    from sightline.collection.search.annotate import Annotation
    from sightline.collection.search.texts import TextMatches
    from sightline.contracts import Compute, Progress
    from sightline.store.catalogue import Facts
    from sightline.store.folder import Reader

    PictureLike = str | bytes | int | np.integer[Any] | os.PathLike[str] | Hit

# What has this many digits or more is a file name, not an id.
_ID_DIGITS = 19


@dataclass(frozen=True, slots=True)
class PictureRef:
    """A picture somebody named: its id, None if it is outside the collection, and its file."""

    id: int | None
    file: bytes


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """A picture with all that is known of it in one version."""

    facts: Facts
    words: tuple[Tags, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the collection: `id` stands for its path, `pictures` lie in it or below."""

    id: str
    path: bytes
    pictures: int


def find_picture(reader: Reader, root: bytes, picture: PictureLike) -> PictureRef:
    """Return the picture that is meant, which may be a file outside the collection.

    A path is tried relative to the working directory, then to the collection. A name made of digits
    that is no file is an id.
    """
    name = plain_name(picture)
    ref = _find(reader, root, name)
    if ref is None:
        raise CollectionError(
            f"There is no picture {shown(_as_bytes(name))}, neither here nor in the "
            f"collection {shown(root)}. Name a file, or the id of a picture."
        )
    return ref


def resolve_id(reader: Reader, root: bytes, picture: PictureLike) -> int:
    """Return the id of a picture, which must be in the collection."""
    name = plain_name(picture)
    ref = _find(reader, root, name)
    if ref is None or ref.id is None:
        raise CollectionError(f"{shown(_as_bytes(name))} is not in the collection {shown(root)}.")
    return ref.id


def _find(reader: Reader, root: bytes, name: str | bytes | int) -> PictureRef | None:
    if isinstance(name, int):
        return _by_id(reader, root, name)
    path = os.path.expanduser(os.fsencode(name))
    inside = os.path.relpath(os.path.realpath(path), root)
    for candidate in (inside, os.path.normpath(path)):
        known = reader.catalogue.find(candidate)
        if known is not None:
            return PictureRef(known, os.path.join(root, candidate))
    for file in (path, os.path.join(root, path)):
        if os.path.isdir(file):
            raise UsageError(f"{shown(path)} is a folder. Name pictures.")
        if os.path.exists(file):
            return PictureRef(None, os.path.abspath(file))
    if path.isdigit() and len(path) < _ID_DIGITS:
        return _by_id(reader, root, int(path))
    return None


def _by_id(reader: Reader, root: bytes, picture: int) -> PictureRef:
    facts = reader.catalogue.facts([picture])
    if picture not in facts:
        raise CollectionError(
            f"There is no picture {picture} in {shown(root)}. Ids are shown by: "
            "sightline search WORD --json"
        )
    return PictureRef(picture, os.path.join(root, facts[picture].path))


def _as_bytes(name: str | bytes | int) -> bytes:
    return name if isinstance(name, bytes) else os.fsencode(str(name))


def plain_names(pictures: Iterable[PictureLike]) -> list[str | bytes | int]:
    """Return ids and paths of pictures that are named in a list.

    >>> plain_names([7, "a.jpg"])
    [7, 'a.jpg']
    """
    if _is_single(pictures):
        raise UsageError(f"Name pictures in a list. Got {pictures!r}.")
    return [plain_name(p) for p in pictures]


def one_or_more(pictures: PictureLike | Iterable[PictureLike]) -> list[str | bytes | int]:
    """Return ids and paths of pictures, where a single one needs no list.

    >>> one_or_more(3), one_or_more(["a.jpg", 4])
    ([3], ['a.jpg', 4])
    """
    if _is_single(pictures) or not isinstance(pictures, Iterable):
        return [plain_name(pictures)]
    return [plain_name(p) for p in pictures]


def _is_single(value: object) -> bool:
    """Say whether a value names one picture; a numpy array without a dimension is a number."""
    if hasattr(value, "ndim"):
        return not value.ndim
    return isinstance(value, str | bytes | os.PathLike) or not isinstance(value, Iterable)


def plain_name(value: object) -> str | bytes | int:
    """Return the id or path by which a value names a picture."""
    if isinstance(value, Hit):
        return value.picture
    if isinstance(value, os.PathLike):
        return os.fsencode(value)
    if hasattr(value, "ndim") and not value.ndim:
        value = value.item()  # type: ignore[attr-defined]
    # True is a number to Python, and would be picture 1.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str | bytes):
        raise UsageError(f"{value!r} names no picture. Give a hit, an id or a path.")
    return value


def check_count(value: int, name: str, owner: str) -> int:
    """Return how many are asked for, which must be at least 1."""
    if value < 1:
        raise ParameterError.of(name, owner, "a whole number of at least 1", value)
    return value


def whole_number(n: object, what: str) -> int:
    """Return how many are asked for, numpy's whole numbers too.

    >>> whole_number(2.5, "hit")
    Traceback (most recent call last):
    sightline.errors.UsageError: At least 1 hit must be asked for, as a whole number. Got 2.5.
    """
    try:
        number = operator.index(n)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if isinstance(n, bool) or number < 1:
        raise UsageError(f"At least 1 {what} must be asked for, as a whole number. Got {n!r}.")
    return number


def folder_id(path: bytes) -> str:
    """Return the name by which clients call a folder.

    >>> folder_id(b"trips/2024")
    'cc9f60a39e4bb065'
    """
    return hashlib.sha256(path).hexdigest()[:16]


class Pictures:
    """What is known of single pictures: `Collection.pictures`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def resolve(self, pictures: Sequence[PictureLike]) -> list[int]:
        """Return the ids of pictures of the collection, given by path, id or hit."""
        with self._collection.store_folder.reader() as reader:
            return [resolve_id(reader, self._collection.root, p) for p in pictures]

    def compute_features(
        self,
        examples: Sequence[PictureLike] = (),
        *,
        dense: bool = True,
        progress: Progress | None = None,
    ) -> tuple[str, ...]:
        """Compute what similar pictures and sessions need, if pictures lack it; return its names.

        It is not remembered, so that a training still computes what it learns from.

        Parameters
        ----------
        examples : sequence of path, id or hit
            The pictures to compare with; if one of them is not there, nothing is computed.
        dense : bool
            Sessions and example pictures need a feature that is not mostly zero; `similar` does
            not.
        progress : Progress, optional
            As of `Collection.index`, which this calls.
        """
        from sightline.collection.index import Sources, index
        from sightline.collection.models.requirements import missing_for_examples
        from sightline.progress import NoProgress

        c = self._collection
        with c.store_folder.reader() as reader:
            for example in examples:
                find_picture(reader, c.root, example)
        missing = missing_for_examples(c.store_folder, dense=dense)
        if missing.names:
            features = missing.to_index(c.settings, dry_run=False)
            index(c, Sources(), features, progress or NoProgress(), None, remember=False)
        return missing.names

    def info(self, picture: int) -> PictureInfo:
        """Return what is known of a picture, and its words by source."""
        with self._collection.store_folder.reader() as reader:
            facts = reader.catalogue.facts([picture]).get(picture)
            if facts is None:
                raise CollectionError(f"There is no picture {picture} here.")
            words = tuple(reader.catalogue.words(picture))
            return PictureInfo(facts, words, reader.snapshot.version)

    def facts(self, pictures: Sequence[int]) -> dict[int, Facts]:
        """Return path, size and dates of those pictures that are in the collection."""
        with self._collection.store_folder.reader() as reader:
            return reader.catalogue.facts(pictures)

    def contents(self, pictures: Sequence[int]) -> dict[int, str]:
        """Return the SHA-256 of the file of those pictures that are in the collection."""
        from sightline.store.catalogue import Catalogue

        # No segment of a version is opened for it.
        store_folder = self._collection.store_folder
        store_folder.require_indexed()
        with closing(Catalogue(store_folder.catalogue, write=False)) as catalogue:
            return catalogue.contents(pictures)

    def words(self, picture: PictureLike) -> list[Tags]:
        """Return the words of a picture, by source."""
        with self._collection.store_folder.reader() as reader:
            return reader.catalogue.words(resolve_id(reader, self._collection.root, picture))

    def thumbnails(self, pictures: Sequence[int]) -> list[bytes]:
        """Return small JPEG pictures without any metadata."""
        with self._collection.store_folder.reader() as reader:
            return [reader.snapshot.thumbnail(p) for p in pictures]

    def open(self, picture: int) -> tuple[FileIO, Facts]:
        """Open the file of a picture; a link in its place is not followed."""
        from sightline.pictures.decode import Unfit
        from sightline.pictures.reading import open_regular

        facts, c = self.info(picture).facts, self._collection
        try:
            return open_regular(c.root, facts.path, c.settings.follow), facts
        except Unfit as e:
            raise CollectionError(f"The file of picture {picture} cannot be shown: {e}") from e

    def folders(self) -> list[Folder]:
        """Return every folder with pictures in it or below, by path."""
        counts: Counter[bytes] = Counter()
        with self._collection.store_folder.reader() as reader:
            for known in reader.catalogue.known():
                folder = os.path.dirname(known.path)
                while folder:
                    counts[folder] += 1
                    folder = os.path.dirname(folder)
        return [Folder(folder_id(path), path, n) for path, n in sorted(counts.items())]

    def describe(
        self, picture: PictureLike, k: int | None = None, *, compute: Compute | None = None
    ) -> Annotation:
        """Rank the words of the model for a picture, in the collection or outside it.

        Parameters
        ----------
        picture : PictureLike
            A path, an id or a hit.
        k : int, optional
            Words to return; those above their cut-off are marked.
        compute : Compute, optional
            What describes a picture outside the collection.
        """
        from sightline.collection.search.annotate import describe

        n = check_count(self._collection.k_or_default(k), "k", "describe")
        with self._collection.store_folder.reader() as reader:
            return describe(
                reader, self._collection.root, picture, n, self._collection.settings, compute
            )

    def describe_texts(
        self, picture: PictureLike, k: int | None = None, *, compute: Compute | None = None
    ) -> TextMatches:
        """Rank the texts of the collection, all words of each picture, for a picture.

        Parameters
        ----------
        picture : PictureLike
            As of `describe`.
        compute : Compute, optional
            As of `describe`.
        k : int, optional
            Texts to return; those that more likely fit than not are marked.
        """
        from sightline.collection.search.texts import describe_texts

        n = check_count(self._collection.k_or_default(k), "k", "describe_texts")
        with self._collection.store_folder.reader() as reader:
            return describe_texts(
                reader, self._collection.root, picture, n, self._collection.settings, compute
            )

    def rank(self, query: str, ids: Sequence[int]) -> tuple[list[tuple[int, float]], int]:
        """Return pictures with their scores for words, best first, and the version.

        A picture that the words do not rank has the score 0; ties keep their order.
        """
        from sightline.collection.search.words import rank

        with self._collection.store_folder.reader() as reader:
            return rank(reader, query, ids)

    def as_hits(self, query: str, ids: Sequence[int]) -> Results:
        """Return pictures as hits of a query, in the order given, whatever their rank.

        One that the query does not rank has the score 0; one whose file is gone is left out and
        counted.
        """
        from sightline.collection.results import in_order

        results = self._collection.search(query, max(len(ids), 1), cut=False, ids=ids, offset=0)
        with self._collection.store_folder.reader() as reader:
            return in_order(reader, self._collection.root, results, ids)

    def features(self) -> list[FeatureState]:
        """Return every feature there is, and which pictures and models have it."""
        from sightline.collection.index.status import feature_states

        return feature_states(self._collection.store_folder)

    def skipped(self) -> list[Skipped]:
        """Return the files the last index skipped: pictures that could not be read come first."""
        with self._collection.store_folder.reader() as reader:
            files = [s for s, _, _ in reader.catalogue.skipped()]
        return sorted(files, key=lambda s: (s.by_rule, s.path))
