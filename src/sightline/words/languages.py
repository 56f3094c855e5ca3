"""What is known of each language: its codes, its stop words and its light plural rules.

A rule takes a plural ending to a singular one. A rule that is `checked` counts only if the Snowball
stemmer of the language gives both words one stem; the others have endings that say enough. Either
way a word is only ever folded into another that the collection or the query has, so that a rule
never makes up a word. Endings are written without accents, as `folding` compares words.

Languages without rules of their own fold words that the stemmer takes to one stem of at least three
letters by removing at most two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sightline.errors import UsageError


class Rule(NamedTuple):
    """From a plural ending to a singular one; `checked` ones need one stem of both words."""

    plural: str
    singular: str
    checked: bool = True


def _checked(text: str, checked: bool = True) -> tuple[Rule, ...]:
    pairs = (pair.partition(">") for pair in text.split())
    return tuple(Rule(plural, singular, checked) for plural, _, singular in pairs)


def _sure(text: str) -> tuple[Rule, ...]:
    return _checked(text, False)


_RULES: Mapping[str, tuple[Rule, ...]] = {
    "english": (
        *_sure(
            "leaves>leaf loaves>loaf knives>knife wives>wife wolves>wolf shelves>shelf calves>calf "
            "halves>half scarves>scarf thieves>thief elves>elf hooves>hoof men>man children>child "
            "feet>foot teeth>tooth geese>goose mice>mouse oxen>ox cacti>cactus fungi>fungus "
            "octopi>octopus us>u"
        ),
        *_checked("s>"),
        *_sure("ies>y sses>ss xes>x zes>z ches>ch shes>sh uses>us ases>as oes>o"),
    ),
    "german": _checked("innen>in en> n> er> e> s>"),
    "dutch": _checked("en> s> s>e"),
    "french": _checked("s> x> aux>al"),
    "spanish": (*_sure("ces>z"), *_checked("s> es>")),
    "portuguese": (
        *_sure("oes>ao aes>ao ais>al eis>el ois>ol ns>m"),
        *_checked("s> es>"),
    ),
    "italian": _checked("chi>co ghi>go che>ca ghe>ga i>o e>a i>e"),
    "catalan": _checked("s> es>a ns>"),
    "swedish": _checked("or>a ar> ar>e er> r> n>"),
    "danish": _checked("er> er>e e> r>"),
    "norwegian": _checked("er> er>e e> r>"),
}  # fmt: skip

# Plurals that mean something else than their singular.
_APART: Mapping[str, str] = {
    "english": "news lens glasses shorts mars goods customs species physics mathematics",
    "german": "reise bauer leiter",
}

# Letters with marks that are letters of their own: `schon` and `schön` are two words.
_OWN_LETTERS: Mapping[str, str] = {
    "german": "äöü", "swedish": "åäö", "finnish": "åäö", "danish": "å", "norwegian": "å",
    "spanish": "ñ", "turkish": "çğöşü", "hungarian": "öüőű", "estonian": "äöõü",
    "polish": "ąćęłńóśźż", "czech": "áčďéěíňóřšťúůýž", "lithuanian": "ąčęėįšųūž", "catalan": "ç",
    "romanian": "ăâîșț",
    "russian": "й", "serbian": "й",
}  # fmt: skip

# Shortened words before an apostrophe: l'arbre, dell'acqua.
_ELISIONS: Mapping[str, str] = {
    "french": "l d j m t s c n qu jusqu lorsqu puisqu",
    "italian": "l d un dell all dall nell sull quell c",
    "catalan": "l d m t s n",
}

_CODES = (
    "ar arabic, ca catalan, cs czech, da danish, de german, el greek, en english, eo esperanto, "
    "es spanish, et estonian, eu basque, fa persian, fi finnish, fr french, ga irish, hi hindi, "
    "hu hungarian, hy armenian, id indonesian, it italian, lt lithuanian, nb norwegian, "
    "ne nepali, nl dutch, nn norwegian, no norwegian, pl polish, pt portuguese, ro romanian, "
    "ru russian, sr serbian, sv swedish, ta tamil, tr turkish, yi yiddish"
)
_NAMES: Mapping[str, str] = dict(pair.split() for pair in _CODES.split(", "))
LANGUAGES: tuple[str, ...] = tuple(sorted(set(_NAMES.values())))


@dataclass(frozen=True, slots=True)
class Language:
    """One language; the nameless one folds case, accents and possessives alone.

    Attributes
    ----------
    name : str
        As Snowball names it, in English; "" for none.
    rules : tuple of Rule
        From plural endings to singular ones, the surest first.
    stop_words : frozenset of str
        Words that say nothing of a picture.
    apart : frozenset of str
        Words that are never folded into a singular.
    own_letters : frozenset of str
        Letters with marks that are not folded.
    elisions : tuple of str
        Shortened words that stand before an apostrophe.
    """

    name: str
    rules: tuple[Rule, ...] = ()
    stop_words: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    own_letters: frozenset[str] = frozenset()
    elisions: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name or "none"

    def is_stop_word(self, word: str) -> bool:
        """Say whether a word says nothing of a picture, contractions such as don't included.

        >>> [language("english").is_stop_word(w) for w in ("the", "isn't", "it's", "dog's")]
        [True, True, True, False]
        """
        if word in self.stop_words:
            return True
        head, apostrophe, tail = word.partition("'")
        if not apostrophe:
            return False
        ends = ("s", "re", "ve", "ll", "d", "m") if self.name == "english" else ()
        return (tail == "t" and head.endswith("n")) or (tail in ends and head in self.stop_words)


NO_LANGUAGE = Language("")


@cache
def language(name: str) -> Language:
    """Return a language by its name or its code; "none" is the nameless one.

    >>> language("de").name, language("english").rules[-1].singular, str(language("none"))
    ('german', 'o', 'none')
    """
    if name in ("", "none"):
        return NO_LANGUAGE
    full = _NAMES.get(name, name)
    if full not in LANGUAGES:
        raise KeyError(name)
    return Language(
        full,
        _RULES.get(full, ()),
        _stop_words().get(full, frozenset()),
        frozenset(_APART.get(full, "").split()),
        frozenset(_OWN_LETTERS.get(full, "")),
        tuple(_ELISIONS.get(full, "").split()),
    )


def language_of_code(code: str) -> str:
    """Return the name of a language by the code of a locale, such as pt_BR; "" if it is unknown.

    >>> language_of_code("pt_BR"), language_of_code("sr@latin"), language_of_code("tlh")
    ('portuguese', 'serbian', '')
    """
    return _NAMES.get(code.replace("@", "_").replace("-", "_").partition("_")[0].lower(), "")


def check_language(setting: str) -> str:
    """Return the setting `language`, a name, a code, auto or none; raise if it is none of them."""
    if setting in ("auto", "none", *LANGUAGES):
        return setting
    if setting in _NAMES:
        return _NAMES[setting]
    known = ", ".join(LANGUAGES)
    raise UsageError(
        f"The setting 'language' must be auto, none, or one of {known}. Got {setting!r}."
    )


# So many stop words, counted by pictures, of so many kinds, say which language a collection has.
_LEAST_SEEN, _LEAST_KINDS = 20, 4


def detect(counts: Mapping[str, int]) -> str:
    """Return the language whose stop words are the most frequent; "" if there are too few.

    Parameters
    ----------
    counts : mapping of str to int
        For each word how many pictures have it.

    Examples
    --------
    >>> detect({"ein": 30, "und": 20, "der": 40, "mit": 9, "hund": 9, "in": 30})
    'german'
    >>> detect({"tree": 90, "sky": 70})
    ''
    """
    frequency: dict[str, int] = {}
    for name, words in _stop_words().items():
        present = [counts[w] for w in words if w in counts]
        # A list twice as long is not twice as likely: the few most frequent words decide.
        most = sorted(present, reverse=True)[:20]
        if len(most) >= _LEAST_KINDS and sum(most) >= _LEAST_SEEN:
            frequency[name] = sum(most)
    return max(sorted(frequency), key=frequency.__getitem__) if frequency else ""


@cache
def stemmer(name: str) -> Callable[[str], str]:
    """Return Snowball's stemmer of a language; words are stemmed once."""
    import snowballstemmer

    return cache(snowballstemmer.stemmer(name).stemWord)


@cache
def _stop_words() -> Mapping[str, frozenset[str]]:
    lists: dict[str, list[str]] = {}
    name = ""
    text = files("sightline.words").joinpath("stop_words.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip("[]")
        elif line and not line.startswith("#"):
            lists.setdefault(name, []).extend(line.split())
    return {name: frozenset(words) for name, words in lists.items()}
