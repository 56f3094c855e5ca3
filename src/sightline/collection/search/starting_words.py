"""Starting words: nouns of a query that no model has learned, answered by a network's classes.

The networks of the extra `deep` know 1,000 classes of ImageNet, and WordNet says which nouns are
above, at or near them. So a collection can be searched before it has any tag. What is found so is
`suggested`: it is no tag, is never exported or proposed as one, and a word that the owner's model
has learned is answered by that model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Ints
from sightline.contracts import Json
from sightline.errors import MissingExtra
from sightline.records import Top
from sightline.store.folder import Reader
from sightline.vectors import Fingerprint
from sightline.words.nouns import Noun, noun_table

if TYPE_CHECKING:
    from sightline.collection.search.suggestions import Suggester
    from sightline.features.deep.network import Network

# Suggestions below this probability are left out, unless the search is without a cut-off.
LEAST_PROBABILITY = 0.2
# At most so many pictures are suggested.
MOST_SUGGESTED = 1_000
# Nouns less close than this share of the closest one say too little beside it.
_MUCH_LESS_CLOSE = 0.3
_NAMED = 3

NO_FEATURE = (
    "Starting words need the feature deep, which these pictures lack. "
    "Run: sightline index --features deep"
)


@dataclass(frozen=True, slots=True)
class StartingWord:
    """A word or phrase of a query that a network's classes answer, and which ones.

    Attributes
    ----------
    word : str
        As in the query.
    classes : tuple of str
        The names of the classes that say most about it.
    n_classes : int
        How many say something about it.
    closeness : float
        1 if the classes are kinds of it; less if they are only near it.
    """

    word: str
    classes: tuple[str, ...]
    n_classes: int
    closeness: float

    def __str__(self) -> str:
        more = self.n_classes - len(self.classes)
        named = ", ".join(self.classes) + (f" and {more} more" if more else "")
        return f"{self.word} (by {named})"

    def to_dict(self) -> dict[str, Json]:
        """Return the word as JSON."""
        return {
            "word": self.word, "classes": list[Json](self.classes), "n_classes": self.n_classes,
            "closeness": round(self.closeness, 3),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class StartingWords:
    """Which words of a query are answered by a network, and why none is where none can be."""

    words: tuple[StartingWord, ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.words)

    def lines(self) -> list[str]:
        """Say which words are suggested by a network, or what is missing for it.

        >>> StartingWords((StartingWord("bird", ("cock", "hen"), 59, 1.0),)).lines()
        ['suggested by the network, not by your words: bird (by cock, hen and 57 more)']
        """
        if self.problem:
            return [self.problem]
        if not self.words:
            return []
        named = ", ".join(map(str, self.words))
        return [f"suggested by the network, not by your words: {named}"]


class StartingQuery:
    """The nouns of a query, and the network that answers them.

    Attributes
    ----------
    words : StartingWords
        What to say about them.
    """

    def __init__(self, reader: Reader, words: Sequence[str]) -> None:
        self._nouns = _leading(noun_table().find(words))
        self._suggester, problem = None, ""
        if self._nouns:
            self._suggester, problem = find_suggester(reader)
        starting = () if problem else tuple(map(_described, self._nouns))
        self.words = StartingWords(starting, problem)

    def top(
        self, k: int, tagged: Ints, allowed: Ints | None, without: Ints, cut: bool, most: int = 0
    ) -> Top:
        """Return the k best pictures with their probabilities; see `Suggester.top`."""
        if self._suggester is None:
            return Top(np.zeros(0, np.int64), np.zeros(0, np.float32))
        top = self._suggester.top(self._nouns, tagged, allowed, without, most or MOST_SUGGESTED)
        n = int((top.scores >= LEAST_PROBABILITY).sum()) if cut else len(top.ids)
        return Top(top.ids[: min(k, n)], top.scores[: min(k, n)])


def find_suggester(reader: Reader) -> tuple[Suggester | None, str]:
    """Return what ranks pictures by the classes of a network, or what to do to get it."""
    usable, problem = suggesting_feature(reader)
    if usable is None:
        return None, problem
    from sightline.collection.search.suggestions import Suggester
    from sightline.features.deep.classes import class_layer

    fingerprint, network, size = usable
    return Suggester(reader.snapshot, fingerprint, class_layer(network, size)), ""


def suggesting_feature(reader: Reader) -> tuple[tuple[str, Network, int] | None, str]:
    """Return the best feature whose network can suggest: fingerprint, network, size of pictures.

    Without one, the second says what to do.
    """
    from sightline import plugins
    from sightline.collection.features import common_features
    from sightline.registry import definitions, session_preference

    snapshot, side = reader.snapshot, reader.store_folder.working_size
    stored = {Fingerprint.parse(f).name: f for f in common_features(snapshot, snapshot.ids())}
    deep = [n for n in stored if n == "deep" or n.startswith("deep-")]
    try:
        from sightline.compute.features import fingerprint, load_feature
        from sightline.features.deep.classes import class_network
        from sightline.features.deep.network import LITE0
        from sightline.features.deep.session import require

        require(LITE0)
        for name in sorted(deep, key=session_preference):
            for place in definitions(name, plugins.place("features", name)):
                feature = load_feature(place)
                usable = class_network(feature)
                if usable is not None and fingerprint(feature, side) == stored[name]:
                    return (stored[name], *usable), ""
    except MissingExtra as e:
        return None, f"Starting words need a network. {e} Then: sightline index --features deep"
    return None, NO_FEATURE


def _leading(nouns: Sequence[Noun]) -> list[Noun]:
    """Return the nouns that say enough beside the closest one."""
    closest = max((n.closeness for n in nouns), default=0.0)
    return [n for n in nouns if n.closeness >= _MUCH_LESS_CLOSE * closest]


def _described(noun: Noun) -> StartingWord:
    n_classes = int(np.count_nonzero(noun.weights >= 0.5 * noun.weights.max()))
    return StartingWord(noun.text, noun.classes(min(_NAMED, n_classes)), n_classes, noun.closeness)
