"""The words of a collection: those pictures have, those a model has learned, and their topics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.collection.lexicon import word_forms
from sightline.collection.pictures import check_count
from sightline.collection.synonyms import FILE as SYNONYMS_FILE
from sightline.collection.synonyms import SynonymList, load_synonyms
from sightline.words.completion import Completions

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.corrections import Correction
    from sightline.collection.query import NotLearned
    from sightline.collection.search.topics import Topic
    from sightline.store.folder import Reader


@dataclass(frozen=True, slots=True)
class WordCount:
    """A word, or a tag of several words, and the number of pictures that have it."""

    word: str
    pictures: int


class CompletionIndex:
    """The spellings of all words in one version, for completion while typing."""

    def __init__(self, reader: Reader) -> None:
        terms, counts = reader.snapshot.vocabulary()
        frequency = dict(zip(terms.tolist(), counts.tolist(), strict=True))
        is_stop_word = word_forms(reader).lexicon.is_stop_word
        spellings = (
            (t, frequency[i])
            for i, t in reader.catalogue.terms()
            if i in frequency and not is_stop_word(t)
        )
        self.version = reader.snapshot.version
        self._completions = Completions(spellings)

    def completions(self, prefix: str, k: int) -> list[WordCount]:
        """Return words that begin with a prefix, the most frequent first."""
        return [WordCount(w, n) for w, n in self._completions.of(prefix, k)]


class Words:
    """The words of a collection: `Collection.words`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._vocabulary: CompletionIndex | None = None

    def __len__(self) -> int:
        """Return the number of different words that pictures have."""
        with self._collection.store_folder.reader() as reader:
            return len(reader.snapshot.vocabulary()[0])

    def __bool__(self) -> bool:
        return True  # Even without any word.

    def not_learned(self, query: str) -> tuple[NotLearned, ...]:
        """Return the words of a query that the model has not learned; none without a model."""
        from sightline.collection.query import ResolvedQuery
        from sightline.collection.search.words import parse_words

        with self._collection.store_folder.reader() as reader:
            return ResolvedQuery.of(reader, parse_words(query)).not_learned

    def corrections(self, query: str) -> tuple[Correction, ...]:
        """Return the words of a query that are searched in place of mistyped ones."""
        from sightline.collection.corrections import corrected
        from sightline.collection.search.words import parse_words

        with self._collection.store_folder.reader() as reader:
            return corrected(word_forms(reader), parse_words(query))[1]

    def vocabulary(self, prefix: str = "", k: int = 20) -> tuple[list[WordCount], int]:
        """Return words that begin with a prefix, the most frequent first, and the version.

        A prefix is normalised like a query: case, decomposed accents and punctuation do not matter,
        and it may span words of a tag.
        """
        with self._collection.store_folder.reader() as reader:
            vocabulary = self._vocabulary
            if vocabulary is None or vocabulary.version != reader.snapshot.version:
                vocabulary = self._vocabulary = CompletionIndex(reader)
        return vocabulary.completions(prefix, k), vocabulary.version

    def language(self) -> str:
        """Return whose plurals and stop words are folded, and how that is known."""
        setting = self._collection.store_folder.language
        with self._collection.store_folder.reader() as reader:
            table = word_forms(reader)
        if setting != "auto":
            return f"{table.language} (by the setting language)"
        if table.detected:
            return f"{table.language} (detected by its stop words)"
        return f"{table.language} (too few stop words to detect another)"

    def synonyms(self) -> SynonymList:
        """Return the owner's words that count as one, and those that no region shows."""
        return load_synonyms(self._collection.store_folder.path)

    def synonyms_file(self) -> Path:
        """Return the file that the owner writes them in."""
        return self._collection.store_folder.path / SYNONYMS_FILE

    def topics(self, k: int = 8, *, pictures: int = 0, dimension: int | None = None) -> list[Topic]:
        """Return the words, and pictures, at both ends of each dimension of the shared space.

        Parameters
        ----------
        k, pictures : int
            Number of words and of pictures at each end.
        dimension : int, optional
            Only this dimension.
        """
        from sightline.collection.search.topics import SharedSpace

        with self._collection.store_folder.reader() as reader:
            return SharedSpace(reader).topics(check_count(k, "k", "topics"), pictures, dimension)

    def near(self, word: str, k: int = 8) -> list[tuple[str, float]]:
        """Return the words closest to one in the shared space, with their cosines."""
        from sightline.collection.search.topics import SharedSpace

        with self._collection.store_folder.reader() as reader:
            return SharedSpace(reader).near(word, check_count(k, "k", "near"))

    def tables(self) -> list[str]:
        """Return the tables of words that every index reads."""
        with self._collection.store_folder.reader() as reader:
            return reader.catalogue.words_files()
