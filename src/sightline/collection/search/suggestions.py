"""Suggested pictures: what a network trained on ImageNet says about nouns.

A noun has a weight w_c for each class c of the network (`words.nouns`), and a picture x a
probability P(c | x) (`features.deep.classes`). The mass of a noun is m(x) = sum over c of
w_c P(c | x); that of several nouns is their geometric mean, weighted by their closeness.

The pictures teach how the noun looks in this collection: the ridge direction for targets m(x) is

    v = (S + r I)^-1 (mean of x weighted by m(x) - mean of x),

with mean and covariance S of the collection's unit vectors (from a sample), and r their mean
variance. Pictures that are tagged with the words count as well: the network's mean counts like
`_PRIOR_PICTURES` of them, so the owner's tags soon outweigh it. Then

    p(x) = sigmoid(a log m(x) + b z(x) + c k + d k log m(x) + e),

where z is v · x standardised over the collection and k the closeness of the nouns. The five numbers
were fitted once, on samples of 30 to 8,677 pictures of Corel5K and Caltech-101, with half of the
names of the latter.

Only the pictures that the network's classes rank first are looked at: the time of a query hardly
grows with the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.sessions.feature_space import unit_rows
from sightline.features.deep.classes import ClassLayer
from sightline.records import DenseQuery, FeatureRows, Top
from sightline.store.snapshot import Snapshot
from sightline.words.nouns import Noun

# Pictures that teach how a noun looks are chosen among so many.
_CANDIDATES = 3_000
_SAMPLE = 1_200
_PRIOR_PICTURES = 5.0
_MOST_EXAMPLES = 200  # Tagged pictures that are averaged.
_FEW = 1e-6  # Added to masses before their logarithm.
# Classes with less than this share of a noun's largest weight do not choose candidates.
_LEADING = 0.2
# a, b, c, d, e of the module's docstring, for natural logarithms.
_LOG_MASS, _Z, _CLOSE, _CLOSE_LOG_MASS, _OFFSET = 0.148, 0.178, 3.153, 0.635, -2.297


class _Moments:
    """Mean and covariance of a collection's unit vectors, from a sample.

    The covariance is never formed: there are fewer rows than columns, so the ridge direction comes
    from the products of rows, by (X'X + n r I)^-1 = (I - X' (X X' + n r I)^-1 X) / (n r). Other
    pictures say how products with the direction vary: those of the sample vary too little.
    """

    def __init__(self, rows: Floats, others: Floats) -> None:
        from scipy.linalg import cho_factor

        self._others = others
        self.mean = rows.mean(axis=0, dtype=np.float64)
        self._centred = rows - self.mean.astype(np.float32)
        products = (self._centred @ self._centred.T).astype(np.float64)
        # n times the mean variance of a column.
        self._ridge = max(float(np.trace(products)) / rows.shape[1], 1e-9)
        self._factor = cho_factor(products + self._ridge * np.eye(len(rows)))

    def direction(self, mean: Doubles) -> Doubles:
        """Return the ridge direction towards a mean, but for a factor."""
        from scipy.linalg import cho_solve

        away = mean - self.mean
        inside = cho_solve(self._factor, self._centred @ away)
        return np.asarray((away - self._centred.T @ inside) / self._ridge)

    def standardised(self, rows: Floats, direction: Doubles) -> Doubles:
        """Return products with a direction, standardised over the collection."""
        others, products = self._others @ direction, rows @ direction
        deviation = float(np.std(others))
        if deviation == 0:
            return np.zeros(len(rows))
        return np.asarray((products - others.mean()) / deviation)


class Suggester:
    """Ranks the pictures of one version for nouns.

    Parameters
    ----------
    snapshot : Snapshot
        The version.
    feature : str
        The feature whose rows the class layer takes, by fingerprint.
    layer : ClassLayer
        The class layer.
    """

    def __init__(self, snapshot: Snapshot, feature: str, layer: ClassLayer) -> None:
        self.snapshot, self.feature, self.layer = snapshot, feature, layer
        self.ids = np.sort(snapshot.having(feature))

    def top(
        self,
        nouns: Sequence[Noun],
        tagged: Ints,
        allowed: Ints | None,
        without: Ints,
        most: int,
    ) -> Top:
        """Return the best pictures with the probability that they show the nouns.

        Parameters
        ----------
        nouns : sequence of Noun
            What to show, all of them.
        tagged : ndarray of int64
            Pictures tagged with the words; they teach how the nouns look.
        allowed : ndarray of int64, optional
            The only ids that may appear.
        without : ndarray of int64
            Ids that must not appear.
        most : int
            How many to rank.
        """
        where = self.ids if allowed is None else np.intersect1d(self.ids, allowed)
        where = np.setdiff1d(where, without)
        if not len(where) or not nouns:
            return Top(np.zeros(0, np.int64), np.zeros(0, np.float32))
        moments = self._moments()
        direction = moments.direction(self._mean(nouns, tagged))
        query = DenseQuery(self.feature, direction.astype(np.float32), "cosine")
        similar = self.snapshot.top(query, most, where).ids
        ids = np.union1d(similar, self._first(nouns, where, most))
        rows = self._rows(ids)
        likely = probability(nouns, self._mass(nouns, rows), moments.standardised(rows, direction))
        order = np.lexsort((ids, -likely))[:most]
        return Top(ids[order], likely[order].astype(np.float32))

    def _mean(self, nouns: Sequence[Noun], tagged: Ints) -> Doubles:
        """Return the mean unit vector of pictures that show the nouns."""
        rows = self._rows(self._first(nouns, self.ids, _CANDIDATES))
        mass = self._mass(nouns, rows)
        mean = mass @ rows / max(float(mass.sum()), np.finfo(np.float64).tiny)
        examples = np.intersect1d(tagged, self.ids)[:_MOST_EXAMPLES]
        total = _PRIOR_PICTURES * mean + self._rows(examples).sum(axis=0, dtype=np.float64)
        return np.asarray(total / (_PRIOR_PICTURES + len(examples)))

    def _first(self, nouns: Sequence[Noun], where: Ints, most: int) -> Ints:
        """Return the pictures that the classes of each noun rank first, ids ascending."""
        if len(where) <= most:
            return where
        share = -(-most // len(nouns))
        centred = self.layer.weights - self.layer.weights.mean(axis=0)
        firsts = []
        for noun in nouns:
            weights = np.where(noun.weights >= _LEADING * noun.weights.max(), noun.weights, 0)
            query = DenseQuery(self.feature, (weights @ centred).astype(np.float32), "cosine")
            firsts.append(self.snapshot.top(query, share, where).ids)
        return np.unique(np.concatenate(firsts))

    def _mass(self, nouns: Sequence[Noun], rows: Floats) -> Doubles:
        probabilities = self.layer.probabilities(rows)
        logs = [n.closeness * np.log(probabilities @ n.weights + _FEW) for n in nouns]
        return np.asarray(np.exp(np.sum(logs, axis=0) / sum(n.closeness for n in nouns)))

    def _rows(self, ids: Ints) -> Floats:
        if not len(ids):
            return np.zeros((0, self.layer.weights.shape[1]), np.float32)
        stored = self.snapshot.rows(self.feature, ids)
        if not isinstance(stored, FeatureRows):
            raise TypeError(f"The rows of {self.feature} are not dense.")
        return np.asarray(unit_rows(stored.rows), np.float32)

    def _moments(self) -> _Moments:
        """Return the moments of a sample; a server that keeps the version keeps them."""
        known = _KNOWN_MOMENTS.setdefault(self.snapshot, {})
        if self.feature not in known:
            step = max(2, -(-len(self.ids) // _SAMPLE))
            sample = self._rows(self.ids[::step])
            others = self._rows(self.ids[1::step]) if len(self.ids) > 1 else sample
            known[self.feature] = _Moments(sample, others)
        return known[self.feature]


def probability(nouns: Sequence[Noun], mass: Doubles, z: Doubles) -> Doubles:
    """Return the probability that pictures show nouns, from their mass and standardised product."""
    close = float(np.mean([n.closeness for n in nouns]))
    log_mass = np.log(mass + _FEW)
    logit = (_LOG_MASS + _CLOSE_LOG_MASS * close) * log_mass + _Z * z + _CLOSE * close + _OFFSET
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))


_KNOWN_MOMENTS: WeakKeyDictionary[Snapshot, dict[str, _Moments]] = WeakKeyDictionary()
