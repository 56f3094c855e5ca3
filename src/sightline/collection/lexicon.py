"""The words of one version of a collection with their forms: what is folded, and into what.

Tags, their terms and the event log stay as they were written. This table is derived from the terms
of a version, the language of the collection and the owner's synonyms, and kept as long as none of
them changes. Queries are resolved by it, and training counts labels by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from sightline._typing import Ints
from sightline.collection.synonyms import Stamp, SynonymList, load_synonyms, stamp_of
from sightline.store.catalogue import IN_LANGUAGE
from sightline.store.folder import Reader
from sightline.words.folding import Lexeme, Lexicon
from sightline.words.languages import Language, detect, language, language_of_code
from sightline.words.term_ids import term_id
from sightline.words.tokens import tokens

# Where nothing says which language a collection has.
DEFAULT_LANGUAGE = "english"
# So many captions without a named language tell it, where others name theirs.
_TEXTS = 2_000


class WordForms:
    """The words of a version and their forms.

    Attributes
    ----------
    counts : mapping of str to int
        Every form and how many pictures have it.
    language : Language
        The language whose plural rules and stop words apply.
    detected : bool
        Whether the language was detected by the stop words of the collection.
    owner : SynonymList
        The owner's list.

    Parameters
    ----------
    counts : mapping of str to int
        Every form and how many pictures have it.
    setting : str, default="auto"
        A language, auto or none.
    owner : SynonymList, optional
        The owner's list.
    language_counts : mapping of str to int, optional
        Counts that the language is detected by, where they are not those of all words.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        setting: str = "auto",
        owner: SynonymList | None = None,
        language_counts: Mapping[str, int] | None = None,
    ) -> None:
        self.counts, self.owner = counts, owner or SynonymList()
        name = detect(language_counts or counts) if setting == "auto" else setting
        self.detected = setting == "auto" and bool(name)
        self.language: Language = language(name or DEFAULT_LANGUAGE)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The folded look-up."""
        return Lexicon(self.counts, self.language, self.owner.synonyms)

    def lookup(self, word: str) -> Lexeme | None:
        """Return a word with the forms that pictures have; None if no picture has any."""
        return self.lexicon.lookup(word)

    def terms_of(self, word: str) -> Ints:
        """Return the term ids of all forms of a word, the most frequent first."""
        lexeme = self.lookup(word)
        return np.array([term_id(f) for f in lexeme.forms] if lexeme else [], np.int64)

    def counts_as(self, words: Iterable[str] = ()) -> dict[int, int]:
        """Return for the term of each form that is folded the term it counts as.

        Parameters
        ----------
        words : iterable of str
            Further words, such as those of judged queries, that no picture need have.
        """
        out: dict[int, int] = {}
        for lexeme in self.lexicon.lexemes():
            # The name may be a word that no picture has; a form that is there can be shown.
            name = lexeme.name if lexeme.name in self.counts else lexeme.forms[0]
            if len(lexeme.forms) > 1:
                out |= {term_id(f): term_id(name) for f in lexeme.forms if f != name}
        for word in words:
            if word not in self.counts and (known := self.lookup(word)) is not None:
                name = known.name if known.name in self.counts else known.forms[0]
                out[term_id(word)] = term_id(name)
        return out


_Key = tuple[int, tuple[tuple[str, int], ...], str, Stamp]
# Of each store, by its folder, the table that was used last.
_KEPT: dict[Path, tuple[_Key, WordForms]] = {}


def word_forms(reader: Reader) -> WordForms:
    """Return the words of the version that a reader holds, with their forms.

    They are kept until another version of the store is read; another language, or a change of the
    owner's list, is noticed.
    """
    folder, snapshot = reader.store_folder, reader.snapshot
    key = snapshot.version, snapshot.contents, folder.language, stamp_of(folder.path)
    kept = _KEPT.get(folder.path)
    if kept is None or kept[0] != key:
        texts = reader.catalogue.texts_without_language(_TEXTS)
        counts_in_texts = Counter(t for text in texts for t in set(tokens(text)))
        owner = load_synonyms(folder.path)
        forms = WordForms(_counts(reader), folder.language, owner, counts_in_texts)
        kept = _KEPT[folder.path] = (key, forms)
    return kept[1]


def _counts(reader: Reader) -> dict[str, int]:
    terms, counts = reader.snapshot.vocabulary()
    frequency = dict(zip(terms.tolist(), counts.tolist(), strict=True))
    return {word: frequency[i] for i, word in reader.catalogue.terms() if i in frequency}


def language_of_source(source: str) -> str | None:
    """Return the language of a source, "" for one that is not known; None if it names none.

    >>> language_of_source("txt:pt_BR"), language_of_source("txt:tlh"), language_of_source("txt")
    ('portuguese', '', None)
    """
    if not source.startswith(IN_LANGUAGE):
        return None
    return language_of_code(source.removeprefix(IN_LANGUAGE))
