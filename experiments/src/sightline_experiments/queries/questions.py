"""What is asked: words as an owner types them, each question with the pictures it should find.

Questions are made of words that the model can have learned, those of at least two tagged pictures,
and drawn from what the measured pictures show:

    one word, two words, three words    sets of words that some measured picture has
    word on one picture                 one word, and another that a single tagged picture has
    minus, plus                         pairs of words with and without each other: `w -v`, `w +v`
    plural, misspelled                  one word by rule (`plural_of`, `misspelled`)
    sentence                            one or two words among ten or more that say nothing

Each question of the last six kinds stands beside a plain one with the same relevant pictures: the
word alone, or both words without a sign.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sightline.words.grammar import Term
from sightline.words.queries import caption_queries
from sightline_experiments.queries.pictures import WordedPictures

ONE, TWO, THREE = "one word", "two words", "three words"
RARE, MINUS, PLUS = "word on one picture", "minus", "plus"
PLURAL, MISSPELLED, SENTENCE = "plural", "misspelled", "sentence"
KINDS = (ONE, TWO, THREE, RARE, MINUS, PLUS, PLURAL, MISSPELLED, SENTENCE)
# Where no word of the data is on a single tagged picture, the first one gets this one.
MADE_WORD = "keepsake"
LEAST_TAGGED = 2
# A pair has at least so many measured pictures with both words, and with the first alone.
LEAST_OF_PAIR = 3
_LONGEST = 3
_LEAST_LETTERS = 4
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what it should find.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    text : str
        As it is typed.
    having, lacking : tuple of str
        The words that relevant pictures have, and those they do not have.
    plain : str
        The question beside it, with the same relevant pictures; "" for none.
    signed : str
        The word with the sign.
    """

    kind: str
    text: str
    having: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    plain: str = ""
    signed: str = ""


def questions_of(pictures: WordedPictures, limit: int) -> list[Question]:
    """Return the questions about some pictures, at most `limit` of each kind."""
    counts = pictures.counts()
    known = frozenset(w for w, n in counts.items() if n >= LEAST_TAGGED)
    shown = [(int(i), pictures.words[i]) for i in np.flatnonzero(pictures.measured)]
    sets: dict[int, list[tuple[str, ...]]] = {1: [], 2: [], 3: []}
    for words, _ in caption_queries(shown, known, _LONGEST):
        sets[len(words)].append(words)
    rare = sorted(w for w, n in counts.items() if n == 1) or [MADE_WORD]
    singles = [words[0] for words in _drawn(sets[1], limit)]
    kinds: list[list[Question]] = [
        [Question(kind, _typed(words), words) for words in _drawn(sets[n], limit)]
        for n, kind in ((1, ONE), (2, TWO), (3, THREE))
    ]
    kinds.append([
        Question(RARE, f"{w} {rare[i % len(rare)]}", (w,), plain=w) for i, w in enumerate(singles)
    ])  # fmt: skip
    pairs = _drawn(list(_signed_pairs(shown, known)), limit)
    kinds.append([
        Question(MINUS, f"{w} -{_quoted(v)}", (w,), (v,), plain=w, signed=v) for w, v in pairs
    ])  # fmt: skip
    kinds.append([
        Question(PLUS, f"{w} +{_quoted(v)}", (w, v), plain=f"{w} {v}", signed=v) for w, v in pairs
    ])  # fmt: skip
    all_words = frozenset(counts) | {t for w in counts for t in w.split()}
    for kind, rule in ((PLURAL, plural_of), (MISSPELLED, misspelled)):
        changed = ((w, rule(w)) for w in (words[0] for words in _drawn(sets[1])))
        kept = [(w, text) for w, text in changed if text and text not in all_words]
        kinds.append([Question(kind, text, (w,), plain=w) for w, text in kept[:limit]])
    sentences = _drawn([*sets[1], *sets[2]], limit)
    kinds.append([Question(SENTENCE, _sentence(s), s, plain=_typed(s)) for s in sentences])
    return [question for questions in kinds for question in questions]


def needs_made_word(pictures: WordedPictures) -> bool:
    """Return whether no word is on a single tagged picture."""
    return 1 not in pictures.counts().values()


def _signed_pairs(
    shown: Iterable[tuple[int, Sequence[str]]], known: frozenset[str]
) -> Iterable[tuple[str, ...]]:
    """Yield pairs of words that are often together and often not."""
    of: dict[str, set[int]] = {}
    for picture, words in shown:
        for w in known.intersection(words):
            of.setdefault(w, set()).add(picture)
    for w in sorted(of):
        for v in sorted(of):
            both = len(of[w] & of[v])
            if w != v and both >= LEAST_OF_PAIR and len(of[w]) - both >= LEAST_OF_PAIR:
                yield w, v


def _drawn(sets: Sequence[tuple[str, ...]], limit: int | None = None) -> list[tuple[str, ...]]:
    """Return some of the sets of words in an order of chance that others do not change."""
    mixed = sorted(sets, key=lambda words: (zlib.crc32(" ".join(words).encode()), words))
    return mixed[:limit]


def _typed(words: Iterable[str]) -> str:
    return " ".join(words)


def _quoted(word: str) -> str:
    """Return a word as it stands behind a sign.

    >>> _quoted("dog"), _quoted("car side")
    ('dog', '"car side"')
    """
    return str(Term(word))


def plural_of(word: str) -> str:
    """Return the regular plural of a word, or of a regular plural the singular; "" for neither.

    >>> [plural_of(w) for w in ("dog", "bus stop", "berry", "beach", "glass", "flowers", "f-16")]
    ['dogs', 'bus stops', 'berries', 'beaches', 'glasses', 'flower', '']
    """
    if not word[-1].isalpha():
        return ""
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word}s"


def misspelled(word: str) -> str:
    """Return a word with one mistake, "" for a short one; its letters are the seed.

    A letter is left out, doubled or replaced, or two change places; the first one is never wrong.

    >>> [misspelled(w) for w in ("mountain", "tiger", "sun")]
    ['mountan', 'tier', '']
    """
    if len(word) < _LEAST_LETTERS or not word[1:].replace(" ", "").isalpha():
        return ""
    rng = np.random.default_rng(zlib.crc32(word.encode()))
    while True:
        at = int(rng.integers(1, len(word) - 1))
        how = int(rng.integers(4))
        letter = _LETTERS[int(rng.integers(len(_LETTERS)))]
        a, b = word[at], word[at + 1]
        change = (a, b + a, a + a, letter)[how]
        rest = word[at + 2 :] if how == 1 else word[at + 1 :]
        text = word[:at] + ("" if how == 0 else change) + rest
        if " " not in (a, b) and text != word:
            return text


def _sentence(words: Sequence[str]) -> str:
    """Return twelve words, more if one of those given is of several, that ask for one or two.

    >>> _sentence(["bear"])
    'this is one of the pictures that we took of the bear'
    """
    if len(words) == 1:
        return f"this is one of the pictures that we took of the {words[0]}"
    return f"this is one of the pictures that show the {words[0]} and {words[1]}"
