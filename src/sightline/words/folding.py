"""Folding: which spellings count as one word, for matching and learning alone.

Two spellings are forms of one word if they differ by case, accents, a possessive, hyphens or
spaces, or by a light plural rule of the language (`languages`). A plural is folded only into a
singular that is there, in the collection or in the query: stems are compared, never kept, so that
nothing is shown, learned or exported under a stem. Groups of synonyms that the owner wrote down
join words across these rules, and words that the owner set apart are never folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from unicodedata import combining, normalize

from sightline.words.languages import NO_LANGUAGE, Language, stemmer

_LEAST_SINGULAR = 3
_LEAST_STEM, _MOST_REMOVED = 3, 2
_MOST_KEPT = 10_000
_VOWELS = frozenset("aeiou")


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Words that the owner joined or set apart.

    Attributes
    ----------
    groups : tuple of tuple of str
        Words that count as one; the first of a group names it.
    separate : tuple of str
        Words that are never folded with others.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    separate: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.groups or self.separate)


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A word with all forms of it that the collection has.

    Attributes
    ----------
    name : str
        The form it goes by: the owner's name for it, else the most frequent one.
    forms : tuple of str
        The forms that pictures have, the most frequent first.
    pictures : int
        The sum over forms of the pictures that have each.
    """

    name: str
    forms: tuple[str, ...]
    pictures: int


class Lexicon:
    """The words of one collection, each with its forms.

    Parameters
    ----------
    counts : mapping of str to int
        Every form, as `tokens` and `labels` spell it, and how many pictures have it.
    language : Language, optional
        Whose plural rules and stop words apply.
    synonyms : Synonyms, optional
        What the owner joined or set apart.

    Examples
    --------
    >>> from sightline.words.languages import language
    >>> words = Lexicon({"puppy": 3, "puppies": 9, "café": 1, "new": 5, "news": 4}, language("en"))
    >>> words.lookup("puppy's").forms, words.lookup("cafe").name, words.lookup("news").forms
    (('puppies', 'puppy'), 'café', ('news',))
    >>> words.lookup("zebra") is None
    True
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        language: Language = NO_LANGUAGE,
        synonyms: Synonyms | None = None,
    ) -> None:
        self.counts, self.language = counts, language
        self.synonyms = synonyms or Synonyms()
        self._separate = frozenset(self.synonyms.separate)
        # Words that were looked up before.
        self._found: dict[str, Lexeme | None] = {}
        self._joined = {w: g[0] for g in self.synonyms.groups for w in g}

    # -- one word ------------------------------------------------------------------------------

    def lookup(self, word: str) -> Lexeme | None:
        """Return the word that a spelling is a form of; None if no picture has any form of it."""
        if word not in self._found:
            forms = {f for root in self._roots_of(word) for f in self._forms_of(root)}
            if len(self._found) == _MOST_KEPT:
                self._found.clear()
            self._found[word] = self._lexeme(word, forms) if forms else None
        return self._found[word]

    def is_known(self, word: str) -> bool:
        """Say whether some picture has a form of a word."""
        return self.lookup(word) is not None

    def is_stop_word(self, word: str) -> bool:
        """Say whether a word says nothing of a picture; those of synonym groups do."""
        return self.language.is_stop_word(word) and word not in self._joined

    def lexemes(self) -> Iterator[Lexeme]:
        """Yield every word of the collection."""
        for forms in self._by_root.values():
            yield self._lexeme(forms[0], set(forms))

    def _lexeme(self, word: str, forms: set[str]) -> Lexeme:
        counts = self.counts
        ordered = tuple(sorted(forms, key=lambda f: (-counts[f], len(f), f)))
        named = [self._joined[f] for f in (*ordered, word) if f in self._joined]
        name = named[0] if named else ordered[0]
        return Lexeme(name, ordered, sum(counts[f] for f in ordered))

    # -- keys and roots --------------------------------------------------------------------------

    @cached_property
    def _special(self) -> dict[str, list[str]]:
        """For each key the forms that are spelled otherwise, or set apart by the owner.

        All other forms are their own keys, which spares most collections a second table.
        """
        special: dict[str, list[str]] = {}
        for form in self.counts:
            if not (form.isascii() and form.isalnum()) and (key := self._key(form)) != form:
                special.setdefault(key, []).append(form)
        return special

    def _forms_with(self, key: str) -> list[str]:
        """Return the forms that have a key."""
        forms = list(self._special.get(key, ()))
        if key in self.counts and self._key(key) == key:
            forms.append(key)
        return forms

    def _has_key(self, key: str) -> bool:
        return key in self.counts or key in self._special

    def _forms_of(self, root: str) -> list[str]:
        """Return the forms that have a root."""
        if not self.language.rules:
            return self._by_root.get(root, [])
        # A word that was sent may begin with a blank as the roots of groups do.
        near = self._named.get(root, {root})
        plurals = {p for key in near for p in plurals_of(key, self.language)}
        keys = (k for k in near | plurals if self._has_key(k) and self._root(k) == root)
        return [form for key in keys for form in self._forms_with(key)]

    @cached_property
    def _by_root(self) -> dict[str, list[str]]:
        """For each root the forms that have it."""
        roots: dict[str, list[str]] = {}
        for form in self.counts:
            roots.setdefault(self._root(self._key(form)), []).append(form)
        return roots

    @cached_property
    def _bare(self) -> dict[str, list[str]]:
        """Keys by their letters without any mark, of those that have marks."""
        bare: dict[str, list[str]] = {}
        if not self.language.own_letters:
            return bare
        for form in self.counts:
            if not form.isascii():
                key = self._key(form)
                if (plain := without_marks(key)) != key:
                    bare.setdefault(plain, []).append(key)
        return bare

    def _key(self, form: str) -> str:
        return form if form in self._separate else key_of(form, self.language)

    def _roots_of(self, word: str) -> set[str]:
        """Return the roots of a word that the collection need not have."""
        key = self._key(word)
        if self._has_key(key) or word in self._separate:
            return {self._root(key)}
        root = self._root(key)
        if root != key or word in self._joined:
            return {root}
        if not self.language.rules:
            roots = {root} if root in self._by_root else set[str]()
        else:
            plurals = (p for p in plurals_of(key, self.language) if self._has_key(p))
            # A plural that has another singular here is no plural of this word.
            roots = {p for p in plurals if self._root(p) == p and self._one_stem(p, key)}
        return roots or {self._root(k) for k in self._bare.get(key, ())} or {key}

    def _root(self, key: str) -> str:
        """Return what all forms of a word share: its singular's key, if that is known."""
        named = self._joined_keys.get(key)
        if named is not None:
            return named
        singular = self._singular(key)
        return self._joined_keys.get(singular, singular)

    @cached_property
    def _joined_keys(self) -> dict[str, str]:
        # A blank cannot be part of a key, so that no form has such a root by chance.
        return {self._key(w): f" {name}" for w, name in self._joined.items()}

    @cached_property
    def _named(self) -> dict[str, set[str]]:
        """For each root that the owner named the keys of its words."""
        named: dict[str, set[str]] = {}
        for key, root in self._joined_keys.items():
            named.setdefault(root, set()).add(key)
        return named

    def _singular(self, key: str) -> str:
        language = self.language
        if key in self._separate or key in language.apart or not language.name:
            return key
        if not language.rules:
            stem = stemmer(language.name)(key)
            light = len(stem) >= _LEAST_STEM and 0 <= len(key) - len(stem) <= _MOST_REMOVED
            # A blank before it keeps stems apart from words.
            return f" {stem}" if light and key.startswith(stem) else key
        for singular, checked in singulars_of(key, language):
            if self._may_be_singular(singular) and (
                not checked or same_stem(key, singular, language.name)
            ):
                return singular
        return key

    def _may_be_singular(self, key: str) -> bool:
        known = self._has_key(key) or key in self._joined_keys
        return known and key not in self._separate and key not in self.language.stop_words

    def _one_stem(self, plural: str, singular: str) -> bool:
        """Say whether a plural that is known has a singular that is not."""
        if plural in self.language.apart or plural in self._separate:
            return False
        pairs = singulars_of(plural, self.language)
        return any(
            s == singular and (not checked or same_stem(plural, s, self.language.name))
            for s, checked in pairs
        )


def same_stem(a: str, b: str, language: str) -> bool:
    """Say whether Snowball's stemmer gives two words one stem."""
    stem = stemmer(language)
    return stem(a) == stem(b)


def key_of(form: str, language: Language) -> str:
    """Return a form without accents, possessive, elision, hyphens and spaces.

    >>> from sightline.words.languages import language
    >>> [key_of(w, language("en")) for w in ("café", "dog's", "t shirt", "10 12")]
    ['cafe', 'dog', 'tshirt', '10 12']
    >>> key_of("l'arbre", language("fr")), key_of("schön", language("de"))
    ('arbre', 'schön')
    """
    if not form.isascii():
        form = without_marks(form, language.own_letters)
    if "'" in form:
        head, _, tail = form.partition("'")
        if tail and head in language.elisions:
            form = tail
        elif form.endswith("'s"):
            form = form[:-2]
    if " " in form:
        words = form.split(" ")
        numbers = any(w[:1].isdigit() and w[-1:].isdigit() for w in words)
        form = form if numbers else "".join(words)
    return form


def without_marks(text: str, own_letters: frozenset[str] = frozenset()) -> str:
    """Return a text with Latin, Greek and Cyrillic letters without accents, but for some letters.

    >>> without_marks("crème brûlée"), without_marks("größe", frozenset("äöü"))
    ('creme brulee', 'größe')
    >>> without_marks("हिन्दी")
    'हिन्दी'
    """
    return text.translate(_plain_letters(own_letters))


class _PlainLetters(dict[int, str]):
    """For each letter, when it is first met, the letter without accents."""

    def __init__(self, own_letters: frozenset[str]) -> None:
        super().__init__((ord(c), c) for c in own_letters)

    def __missing__(self, code: int) -> str:
        c = chr(code)
        parts = normalize("NFD", c)
        # Marks of Indic and other scripts are vowels; those of Korean letters are letters.
        if parts[0] <= "\u04ff" and len(parts) > 1:
            c = "".join(p for p in parts if not combining(p))
        self[code] = c
        return c


@cache
def _plain_letters(own_letters: frozenset[str]) -> _PlainLetters:
    return _PlainLetters(own_letters)


def singulars_of(key: str, language: Language) -> Iterator[tuple[str, bool]]:
    """Yield possible singulars of a word, the surest first, and whether stems have to agree.

    >>> from sightline.words.languages import language
    >>> [s for s, _ in singulars_of("berries", language("en"))]
    ['berrie', 'berry']
    """
    for plural, singular, checked in language.rules:
        if key.endswith(plural) and len(key) - len(plural) + len(singular) >= _LEAST_SINGULAR:
            base = key[: len(key) - len(plural)] + singular
            for spelled in _respelled(base, plural, language.name):
                yield spelled, checked


def plurals_of(key: str, language: Language) -> Iterator[str]:
    """Yield possible plurals of a word."""
    for plural, singular, _ in language.rules:
        if key.endswith(singular):
            base = key[: len(key) - len(singular)]
            for spelled in _respelled_plural(base, plural, language.name):
                yield spelled + plural


def _respelled(base: str, plural: str, language: str) -> tuple[str, ...]:
    """Return a singular as its language spells it: Bäum-e of Baum, kat-t-en of kat."""
    if language == "german" and any(c in base for c in "äöü"):
        return base, base.translate(_UMLAUTS)
    if language == "dutch" and plural == "en":
        if base[-1:] == base[-2:-1] and base[-1:] not in _VOWELS:
            return base, base[:-1]
        hard = base[:-1] + {"z": "s", "v": "f"}.get(base[-1:], base[-1:])
        if base[-2:-1] in _VOWELS and base[-3:-2] not in _VOWELS:
            return base, hard, hard[:-1] + hard[-2] + hard[-1]
        return base, hard
    return (base,)


def _respelled_plural(base: str, plural: str, language: str) -> tuple[str, ...]:
    """Return the beginnings that a plural may have."""
    if language == "german" and plural in ("e", "er", "en", "n"):
        at = max((base.rfind(c) for c in "aou"), default=-1)
        # The umlaut of Haus is on its a.
        at = at - 1 if at > 0 and base[at - 1 : at + 1] == "au" else at
        if at >= 0:
            return base, base[:at] + base[at].translate(_TO_UMLAUTS) + base[at + 1 :]
    if language == "dutch" and plural == "en" and base[-1:]:
        soft = base[:-1] + {"s": "z", "f": "v"}.get(base[-1], base[-1])
        short = base[:-2] + base[-1] if base[-2:-1] == base[-3:-2] else base
        return base, base + base[-1], soft, short, soft[:-2] + soft[-1]
    return (base,)


_UMLAUTS = str.maketrans("äöü", "aou")
_TO_UMLAUTS = str.maketrans("aou", "äöü")


def check_groups(groups: Iterable[tuple[str, ...]]) -> str:
    """Return a word that is in two groups; "" if there is none.

    >>> check_groups([("sofa", "couch"), ("couch", "settee")])
    'couch'
    """
    grouped: set[str] = set()
    for group in groups:
        for word in group:
            if word in grouped:
                return word
        grouped.update(group)
    return ""
