"""Help for words with few tags: what a network trained on ImageNet knows of them.

A noun has a mass m(x) on every picture x: the probability of the network's classes at it, below it
or near it (`words.nouns`). A word with n tags, and closeness k to these classes, has the score

    f(x) + 2 sqrt(k / n) s (log m(x) - mean) / d        n <= 64

where f is what ridge learned, s the deviation of its left-out scores, and mean and d those of log m
over the pictures it learned from. So the first tags of a word are helped by what the network knows
of it, and the more tags it has, the less. Nothing of the second part is fitted to tags: left-out
scores get it as they are. The factor 2, the root and the limit were chosen on training pictures of
Corel5K and Caltech-101; `sightline reproduce efficiency` measures them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Floats, Ints
from sightline.collection.models.dataset import Dataset
from sightline.collection.models.landmarks import LandmarksOf
from sightline.collection.models.network_prior import NetworkPrior
from sightline.collection.models.queries import picture_counts
from sightline.words.nouns import Noun, noun_table

if TYPE_CHECKING:
    from sightline.collection.models.recipe import Fitted
    from sightline.collection.models.word_model import KnownScores
    from sightline.store.folder import Reader

# The most tags of a word that the network is asked about, and how much it counts beside one tag.
MOST_TAGS, WEIGHT = 64, 2.0

Serve = Callable[[], tuple["Fitted", "KnownScores | None"]]


@dataclass(frozen=True, slots=True, eq=False)
class NamedWords:
    """The words of a data set that are nouns, and the feature that the network's classes take.

    Attributes
    ----------
    feature : str
        By fingerprint.
    network : str
        The name of the network whose class layer takes its rows.
    size : int
        The side of the pictures that it saw.
    nouns : dict
        The noun at the position of each word that is one.
    """

    feature: str
    network: str
    size: int
    nouns: Mapping[int, Noun]

    @classmethod
    def of(cls, words: Sequence[str], feature: str, network: str, size: int) -> Self:
        """Return the nouns of some words; of a phrase the last one counts.

        >>> named = NamedWords.of(["car side", "dogs", "xyzzy"], "deep", "efficientnet-lite0", 256)
        >>> {at: noun.text for at, noun in named.nouns.items()}
        {0: 'side', 1: 'dogs'}
        """
        nouns = ((i, noun_table().find(w.split())) for i, w in enumerate(words))
        return cls(feature, network, size, {i: of_word[-1] for i, of_word in nouns if of_word})


def named_words(reader: Reader, dataset: Dataset, spelled: Mapping[int, str]) -> NamedWords | None:
    """Return the nouns among the words of a data set; None where no network can be asked.

    The setting `starting_words` keeps the network out here as well.
    """
    from sightline.collection.search.starting_words import suggesting_feature

    if not reader.store_folder.starting_words:
        return None
    usable, _ = suggesting_feature(reader)
    if usable is None or dataset.unlabelled is not None or dataset.is_streamed:
        return None
    fingerprint, network, size = usable
    words = [spelled.get(t, "") for t in dataset.terms.tolist()]
    return NamedWords.of(words, fingerprint, network.name, size)


@dataclass(frozen=True, slots=True, eq=False)
class LogMasses:
    """The logarithms of the masses of nouns, computed once for all fits of a training.

    Attributes
    ----------
    words : ndarray of int64
        Positions of the nouns, ascending.
    logs : ndarray of float32
        Of each picture and noun.
    """

    words: Ints
    logs: Floats

    @classmethod
    def of(cls, dataset: Dataset, named: NamedWords) -> Self:
        """Return those of the nouns that some pictures of a data set have, and not too many."""
        counts = picture_counts(dataset.labels)
        # A fit without the held-out pictures, a fifth, has fewer tags.
        most = 2 * MOST_TAGS
        few = {w: noun for w, noun in named.nouns.items() if 0 < counts[w] <= most}
        if not few:
            return cls(np.zeros(0, np.int64), np.zeros((len(dataset), 0), np.float32))
        prior = NetworkPrior.of(named.network, named.size, 0, few)
        return cls(prior.words, prior.logs(dataset.views[named.feature]))

    def only(self, rows: Bools) -> LogMasses:
        """Return those of some pictures."""
        return LogMasses(self.words, self.logs[rows])

    def of_words(self, words: Ints) -> Floats:
        """Return those of some of the nouns."""
        return self.logs[:, np.searchsorted(self.words, words)]


def with_prior(
    fitted: Fitted, dataset: Dataset, named: NamedWords, masses: LogMasses | None = None
) -> Fitted:
    """Return a fitted recipe whose words with few tags are helped by the network.

    Parameters
    ----------
    fitted : Fitted
        Fitted to all of `dataset`.
    dataset : Dataset
        What it was fitted to; its rows need not be normalised.
    named : NamedWords
        The nouns among its words.
    masses : LogMasses, optional
        Those of the pictures of `dataset`, if they are known.
    """
    unseen = fitted.unseen
    if unseen is None or len(unseen) != len(dataset):
        return fitted
    if named.feature not in fitted.recipe.features:
        return fitted
    masses = LogMasses.of(dataset, named) if masses is None else masses
    counts = picture_counts(dataset.labels)
    few = {
        w: named.nouns[w] for w in masses.words.tolist() if 0 < counts[w] <= MOST_TAGS
    }  # fmt: skip
    if not few:
        return fitted
    view = fitted.recipe.features.index(named.feature)
    bare = NetworkPrior.of(named.network, named.size, view, few)
    words = bare.words
    logs = masses.of_words(words)
    spread = logs.std(axis=0)
    closeness = np.array([few[w].closeness for w in words.tolist()])
    much = WEIGHT * np.sqrt(closeness / counts[words]) * unseen[:, words].std(axis=0)
    scale = np.where(spread > 0, much / np.where(spread > 0, spread, 1.0), 0.0)
    prior = replace(bare, centre=logs.mean(axis=0), scale=scale.astype(np.float32))
    helped = unseen.copy()
    helped[:, words] += prior.term_of(logs)
    stored = fitted.arrays
    arrays: Mapping[str, NDArray[Any]] = {**stored, **prior.to_arrays()}
    if isinstance(stored, LandmarksOf):
        arrays = stored.joined(prior.to_arrays())
    return replace(fitted, arrays=arrays, left_out=lambda: helped)


def helped(
    proof: Fitted,
    held_out: Floats | None,
    serve: Serve,
    dataset: Dataset,
    held: Bools,
    named: NamedWords,
) -> tuple[Fitted, Floats | None, Serve]:
    """Return a proof, its scores of the held-out pictures and what is served, with the help.

    Parameters
    ----------
    proof : Fitted
        Fitted to the pictures that are not held out.
    held_out : ndarray of float32 or None
        Its scores of the others, if they are known.
    serve : callable
        Returns what is served, and the scores of the pictures it was fitted to.
    dataset : Dataset
        All pictures.
    held : ndarray of bool
        Which are held out.
    named : NamedWords
        The nouns among its words.
    """
    if named.feature not in proof.recipe.features:
        return proof, held_out, serve
    masses, bare = LogMasses.of(dataset, named), replace(dataset, views={})
    proof = with_prior(proof, bare.only(~held), named, masses.only(~held))
    prior = NetworkPrior.from_arrays(proof.arrays)
    if held_out is not None and prior is not None:
        held_out = held_out.copy()
        held_out[:, prior.words] += prior.term_of(masses.only(held).of_words(prior.words))

    def served() -> tuple[Fitted, KnownScores | None]:
        fitted, known = serve()
        fitted = with_prior(fitted, bare, named, masses)
        of_served = NetworkPrior.from_arrays(fitted.arrays)
        if known is None or of_served is None:
            return fitted, known
        return fitted, _known_with(known, of_served, masses)

    return proof, held_out, served


def _known_with(known: KnownScores, prior: NetworkPrior, masses: LogMasses) -> KnownScores:
    """Return known scores of pictures with what the network adds to them."""
    term, plain = prior.term_of(masses.of_words(prior.words)), known.scores

    def scores(pictures: Ints, words: Ints) -> Floats:
        out = plain(pictures, words)
        columns, of_prior = np.nonzero(words[:, None] == prior.words)
        out[:, columns] += term[np.ix_(pictures, of_prior)]
        return out

    return replace(known, scores=scores)
