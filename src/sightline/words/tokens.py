"""Tokens of captions, tags and sidecars, in any script.

Text is compared in one form: invisible characters removed, Unicode NFKC, case folded. A word is a
run of letters, digits and the marks that belong to them; it may hold apostrophes inside. Scripts
that write without spaces (Thai, Japanese) give one word per unbroken run. Folding is the same for
every language, so the Turkish dotted `İ` becomes `i` with a combining dot and `ı` stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING
from unicodedata import category, combining, normalize

if TYPE_CHECKING:
    from sightline.records import Tags

# Increased when the rules below change, so that stores tokenise their words again.
VERSION = 1
MAX_TERM = 100
MAX_TERMS = 10_000
MAX_TEXT = 1_000_000

_LONG, _MARKS_IN_A_ROW = 1_000, 30
# Invisible characters that Unicode classifies as letters, marks or symbols.
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_APOSTROPHES = str.maketrans(dict.fromkeys("‘’‛ʼ`´", "'"))
_WORD = re.compile(r"[^ ']+(?:'[^ ']+)*")
_LEVEL = re.compile(r"[/|]")
_PIECE = re.compile(r"[\n\r\v\f\x85\u2028\u2029,;，；、،؛]")
_SENTENCE = ".!?:…。！？．।؟۔"


def tokens(text: str) -> list[str]:
    """Return the words of a text in order.

    Words of more than `MAX_TERM` characters are left out, and the text is cut after `MAX_TEXT`
    characters.

    Examples
    --------
    >>> tokens("The Well-Known BRIDGE, don’t miss it!")
    ['the', 'well', 'known', 'bridge', "don't", 'miss', 'it']
    >>> tokens("Straße ΟΔΟΣ हिन्दी 東京タワー")
    ['strasse', 'οδοσ', 'हिन्दी', '東京タワー']
    """
    return _words(fold(text))


def fold(text: str) -> str:
    r"""Return the normalised form of a text, in which words are compared.

    Examples
    --------
    >>> fold("Ｃａｆe\u0301\u200b")
    'café'
    """
    text = visible(text)
    if not text.isascii():
        text = normalize("NFKC", _with_few_marks(text).translate(_APOSTROPHES))
    # Case folding can denormalise (and NFKC can make new apostrophes), hence the second round.
    return normalize("NFKC", text.casefold()).translate(_APOSTROPHES)


def visible(text: str) -> str:
    r"""Return at most `MAX_TEXT` characters without control and zero-width ones; spaces stay.

    Examples
    --------
    >>> visible("\ufefftree\x00\u200d line\n")
    'tree line\n'
    """
    text = text[:MAX_TEXT]
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(c): None for c in set(text) if _hidden(c)})


def labels(tag: str) -> tuple[str, ...]:
    """Return each level of a tag as one term, its words joined by one space.

    Levels are separated by `/` (digiKam) or `|` (Lightroom). A level of symbols alone is its own
    term; one of punctuation alone, or is longer than `MAX_TERM`, is left out.

    Examples
    --------
    >>> labels("Places|New York")
    ('places', 'new york')
    >>> labels("❤️")
    ('❤',)
    """
    levels = (_label(level) for level in _LEVEL.split(fold(tag)))
    return tuple(dict.fromkeys(label for label in levels if 0 < len(label) <= MAX_TERM))


def tag_terms(tag: str) -> tuple[str, ...]:
    """Return the terms of a tag: each level, and each word of a level of several words.

    Examples
    --------
    >>> tag_terms("Golden Gate")
    ('golden gate', 'golden', 'gate')
    >>> tag_terms("Places/Germany/Berlin")
    ('places', 'germany', 'berlin')
    """
    return tuple(dict.fromkeys(_tag_terms(tag)))


def caption_terms(tags: Tags) -> tuple[str, ...]:
    """Return the distinct terms of a picture's words, in order of first appearance.

    Examples
    --------
    >>> from sightline.records import Tags
    >>> caption_terms(Tags("xmp", tags=("Snow", "Oak tree"), text="A tree in the snow"))
    ('snow', 'oak tree', 'oak', 'tree', 'a', 'in', 'the')
    """
    return tuple(islice(_distinct(_all_terms(tags)), MAX_TERMS))


def split_labels(text: str) -> tuple[tuple[str, ...], str]:
    """Return the labels or the caption in the text of a sidecar or of a words field.

    Line breaks, commas and semicolons separate pieces. Several pieces are labels if each has at
    most four words and none ends like a sentence; a single piece is a label if it has at most three
    words and no sentence mark. The words of each level of a hierarchical piece count separately.
    Everything else is a caption. At most `MAX_TERMS` labels are returned.

    Examples
    --------
    >>> split_labels("oak tree, snow; Places/Germany")
    (('oak tree', 'snow', 'Places/Germany'), '')
    >>> split_labels("Golden Gate Bridge")
    (('Golden Gate Bridge',), '')
    >>> split_labels("An old oak stands in the snow, alone")
    ((), 'An old oak stands in the snow, alone')
    """
    text = visible(text).strip()
    pieces = [piece for part in _PIECE.split(text) if (piece := " ".join(part.split()))]
    distinct = tuple(dict.fromkeys(pieces[:MAX_TERMS]))
    return (distinct, "") if _are_labels(distinct) else ((), text)


def _are_labels(pieces: tuple[str, ...]) -> bool:
    if len(pieces) == 1:
        return _n_words(pieces[0]) <= 3 and not any(c in _SENTENCE for c in pieces[0])
    return all(_n_words(piece) <= 4 and piece[-1] not in _SENTENCE for piece in pieces)


def _n_words(piece: str) -> int:
    """Return the number of words of a piece's longest level."""
    return max(len(_words(level, longest=MAX_TEXT)) for level in _LEVEL.split(fold(piece)))


def _all_terms(tags: Tags) -> Iterator[str]:
    for tag in tags.tags:
        yield from _tag_terms(tag)
    yield from tokens(tags.text)


def _tag_terms(tag: str) -> Iterator[str]:
    for level in _LEVEL.split(fold(tag)):
        label = _label(level)
        if 0 < len(label) <= MAX_TERM:
            yield label
        yield from _words(level)


def _label(folded: str) -> str:
    words = _words(folded, longest=MAX_TEXT)
    if words:
        return " ".join(words)
    # Co and Cn: pictographs of a font, and emoji newer than this Python's tables.
    symbol = any(category(c) in {"Sm", "Sc", "Sk", "So", "Co", "Cn"} for c in folded)
    return " ".join(folded.split()) if symbol else ""


def _words(folded: str, longest: int = MAX_TERM) -> list[str]:
    kinds = {c: category(c)[0] for c in set(folded)}
    gaps = {ord(c): " " for c, kind in kinds.items() if kind not in "LNM" and c != "'"}
    # Combining marks need a base letter: those that a removed symbol leaves behind are no word.
    loose = "'" + "".join(c for c, kind in kinds.items() if kind == "M")
    words = (word.lstrip(loose) for word in _WORD.findall(folded.translate(gaps)))
    return [word for word in words if 0 < len(word) <= longest]


def _hidden(c: str) -> bool:
    return (category(c) in {"Cc", "Cf", "Cs"} and not c.isspace()) or c in _BLANK


def _with_few_marks(text: str) -> str:
    # Normalising sorts a run of marks in quadratic time: 40,000 in a row take seconds.
    marks = "".join(c for c in set(text) if combining(c)) if len(text) > _LONG else ""
    if not marks:
        return text
    return re.sub(f"([{marks}]{{{_MARKS_IN_A_ROW}}})[{marks}]+", r"\1", text)


def _distinct(terms: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for term in terms:
        if term not in seen:
            seen.add(term)
            yield term
