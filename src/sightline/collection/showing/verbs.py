"""What others show of a collection: facts and files of pictures, folders, and models with proofs.

Whoever shows pictures to somebody else names them by id and folders by a name that is made of them,
so that no path need ever be taken from a stranger.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.collection.models.versions import ModelVersion, Proven, proof_of
from sightline.errors import CollectionError, StoreError, UsageError

if TYPE_CHECKING:
    from io import FileIO

    from sightline.collection.query import NotLearned
    from sightline.records import Tags
    from sightline.settings import Settings
    from sightline.store.catalogue import Facts
    from sightline.store.home import Home
    from sightline.words.completing import Completions


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture with all that is written of it, in one version."""

    facts: Facts
    words: tuple[Tags, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the collection: `id` stands for its path, `pictures` lie in it or below."""

    id: str
    path: bytes
    pictures: int


@dataclass(frozen=True, slots=True)
class CarriedWord:
    """A word, or a tag of several, and how many pictures carry it."""

    word: str
    pictures: int


class Showing:
    """`version`, `picture`, `original`, `folders`, `vocabulary`, `rank`, `models`: methods."""

    root: bytes
    home: Home
    settings: Settings
    # Spellings of the version that was asked about last: they are asked for at every key.
    _spelled: tuple[int, Completions] | None = None

    def version(self) -> int:
        """Return the number of the version that is served now; 0 before anything is indexed."""
        if not self.home.exists():
            return 0
        with self.home.reader() as reader:
            return reader.snapshot.version

    def size(self) -> int:
        """Return how many pictures there are."""
        with self.home.reader() as reader:
            return reader.snapshot.size()

    def facts(self, pictures: Sequence[int]) -> dict[int, Facts]:
        """Return what is known of those of some pictures that are here."""
        with self.home.reader() as reader:
            return reader.catalogue.facts(pictures)

    def picture(self, picture: int) -> Shown:
        """Return what is known of a picture, and its words by source."""
        with self.home.reader() as reader:
            found = reader.catalogue.facts([picture]).get(picture)
            if found is None:
                raise CollectionError(f"There is no picture {picture} here.")
            words = tuple(reader.catalogue.words(picture))
            return Shown(found, words, reader.snapshot.version)

    def original(self, picture: int) -> tuple[FileIO, Facts]:
        """Open the file of a picture, as it is now; links in its place are not followed."""
        from sightline.pictures.decode import Unfit
        from sightline.pictures.reading import open_regular

        found = self.picture(picture).facts
        try:
            return open_regular(self.root, found.path, self.settings.follow), found
        except Unfit as e:
            raise CollectionError(f"The file of picture {picture} cannot be shown: {e}") from e

    def folders(self) -> list[Folder]:
        """Return every folder that holds pictures, or folders with pictures, by path."""
        counts: Counter[bytes] = Counter()
        with self.home.reader() as reader:
            for known in reader.catalogue.known():
                at = os.path.dirname(known.path)
                while at:
                    counts[at] += 1
                    at = os.path.dirname(at)
        return [Folder(folder_id(path), path, n) for path, n in sorted(counts.items())]

    def vocabulary(self, prefix: str = "", k: int = 20) -> tuple[list[CarriedWord], int]:
        """Return words that pictures carry and that begin so, the most carried first.

        The version they are of follows. A prefix is read as words are in a query: case, accents
        written apart and punctuation do not matter, and it may run into the next word of a tag.
        """
        from sightline.words.completing import Completions

        with self.home.reader() as reader:
            kept, version = self._spelled, reader.snapshot.version
            if kept is None or kept[0] != version:
                terms, counts = reader.snapshot.vocabulary()
                carried = dict(zip(terms.tolist(), counts.tolist(), strict=True))
                spelled = ((t, carried[i]) for i, t in reader.catalogue.terms() if i in carried)
                kept = self._spelled = version, Completions(spelled)
        return [CarriedWord(w, n) for w, n in kept[1].of(prefix, k)], version

    def rank(self, query: str, pictures: Sequence[int]) -> tuple[list[tuple[int, float]], int]:
        """Return some pictures with their scores for words, best first, and the version.

        A picture that the words do not rank has the score 0; ties keep their order.
        """
        from sightline.collection.search.words import ranked

        with self.home.reader() as reader:
            found = ranked(reader, query)
            scores = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
            given = [(p, round(float(scores.get(p, 0.0)), 6)) for p in pictures]
            return sorted(given, key=lambda x: -x[1]), reader.snapshot.version

    def not_learned(self, query: str) -> tuple[NotLearned, ...]:
        """Return the words of a query that the model has not learned; none without a model."""
        from sightline.collection.query import ResolvedQuery
        from sightline.collection.search.words import wanted_words

        with self.home.reader() as reader:
            return ResolvedQuery.of(reader, wanted_words(query)).not_learned

    def models(self) -> list[ModelVersion]:
        """Return the versions that are kept, oldest first, each with its models' own proofs."""
        from sightline.store.upkeep.keeping import describe_versions

        with self.home.reader() as reader:
            now = reader.snapshot.version
        out = []
        for v in describe_versions(self.home):
            named = {"words": v.model, "likeness": v.similar, "regions": v.regions}
            models = tuple(self._proven(m, kind) for kind, m in named.items() if m)
            out.append(
                ModelVersion(
                    v.number, v.written, v.pictures, v.note, v.number == now, v.finished, models
                )
            )
        return out

    def model(self, version: int) -> ModelVersion:
        """Return one of the versions that are kept."""
        kept = {m.version: m for m in self.models()}
        if version not in kept:
            listed = ", ".join(map(str, kept))
            raise UsageError(f"There is no version {version}. Kept: {listed}.")
        return kept[version]

    def _proven(self, name: str, kind: str) -> Proven:
        from sightline.store.models import open_model

        try:
            figures = open_model(self.home.models, name).about.get("figures")
        except StoreError:
            figures = None  # `store verify` says what is wrong with it.
        return proof_of(name, kind, figures if isinstance(figures, dict) else {})


def folder_id(path: bytes) -> str:
    """Return the name by which others call a folder.

    >>> folder_id(b"trips/2024")
    'cc9f60a39e4bb065'
    """
    return hashlib.sha256(path).hexdigest()[:16]
