"""The verbs from pictures to words: describe, topics, and long texts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sightline.collection.finding import filter_of
from sightline.errors import ParameterError

if TYPE_CHECKING:
    from sightline.collection.search.annotate import Told
    from sightline.collection.search.texts import ToldTexts
    from sightline.collection.search.topics import Topic
    from sightline.collection.search.words import Results
    from sightline.collection.similarity.query import Picture
    from sightline.contracts import Compute
    from sightline.settings import Settings
    from sightline.store.home import Home


class Telling:
    """`describe`, `describe_texts`, `topics`, `near_words` and `search_text`, as methods."""

    root: bytes
    home: Home
    settings: Settings

    def describe(
        self, picture: Picture, k: int | None = None, *, compute: Compute | None = None
    ) -> Told:
        """Rank the words that were learnt for a picture, in the collection or outside it.

        Parameters
        ----------
        picture
            A path, or the id of a picture of the collection.
        k
            Words to return; those above their cut-off are marked so.
        """
        from sightline.collection.search.annotate import describe

        n = _number(self.settings.top if k is None else k, "k", "describe")
        with self.home.reader() as reader:
            return describe(reader, self.root, picture, n, self.settings, compute)

    def describe_texts(
        self, picture: Picture, k: int | None = None, *, compute: Compute | None = None
    ) -> ToldTexts:
        """Rank the texts of the collection, all that is written of each picture, for a picture.

        Parameters
        ----------
        picture
            A path, or the id of a picture of the collection.
        k
            Texts to return; those that more likely fit than not are marked so.
        """
        from sightline.collection.search.texts import describe_texts

        n = _number(self.settings.top if k is None else k, "k", "describe_texts")
        with self.home.reader() as reader:
            return describe_texts(reader, self.root, picture, n, self.settings, compute)

    def topics(self, n: int = 8, *, pictures: int = 0, dimension: int | None = None) -> list[Topic]:
        """Return the words, and pictures, at both ends of each dimension of the shared space.

        Parameters
        ----------
        n, pictures
            How many words and pictures of each end.
        dimension
            Only this one.
        """
        from sightline.collection.search.topics import Space

        with self.home.reader() as reader:
            return Space(reader).topics(_number(n, "n", "topics"), pictures, dimension)

    def search_text(
        self, text: str, k: int | None = None, *, untagged: bool = False, **filters: Any
    ) -> Results:
        """Find pictures for a long text, such as an article, in the shared space.

        Unlike in `search`, the text has no grammar, and no picture needs to carry its words. A
        score says how likely a picture's own words would share one with the text. Words that were
        not learned do not count; `Results.not_learned` names them.

        Parameters
        ----------
        k, untagged, **filters
            As of `search`.
        """
        from sightline.collection.query import count_not_learned
        from sightline.collection.search.topics import Space
        from sightline.collection.search.words import Results, allowed_by
        from sightline.records import Hit

        n = _number(self.settings.top if k is None else k, "k", "search_text")
        where = filter_of(self.root, **filters)
        with self.home.reader() as reader:
            space = Space(reader)
            point, missing_words = space.text_point(text)
            top = space.pictures(point, n, allowed_by(reader, where, untagged))
            facts = reader.catalogue.facts(top.ids.tolist())
            scores = space.likely(top.scores)
            pairs = list(zip(top.ids.tolist(), scores.tolist(), strict=True))
            there = [
                (i, s)
                for i, s in pairs
                if i in facts and os.path.lexists(os.path.join(self.root, facts[i].path))
            ]
            hits = tuple(Hit(i, facts[i].path, round(s, 6), False, True) for i, s in there)
            version, missing = reader.snapshot.version, len(pairs) - len(hits)
            return Results(
                hits, (), version, missing, served=reader.notice(), predicted=True,
                not_learned=count_not_learned(reader.snapshot, missing_words),
            )  # fmt: skip

    def near_words(self, word: str, n: int = 8) -> list[tuple[str, float]]:
        """Return the words nearest to one in the shared space, with their cosines."""
        from sightline.collection.search.topics import Space

        with self.home.reader() as reader:
            return Space(reader).near(word, _number(n, "n", "near_words"))


def _number(value: int, name: str, owner: str) -> int:
    if value < 1:
        raise ParameterError.of(name, owner, "a whole number of at least 1", value)
    return value
