"""The similarity model: phi by descriptor and measure, and the weight of each component.

Scores are w.phi(q, p). A component whose descriptor one of the two pictures lacks counts 0, which
is the value of an average pair of pictures.

Before any training all components have equal weights (`uniform`); after it, weights are learned
from supervision (`training`). Either way, later judgements move the weights, one triplet at a time
(`online`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Doubles, Floats, Ints
from sightline.collection.models.versions import SIMILARITY, measured_text
from sightline.collection.similarity.descriptors import (
    DescribedPictures,
    ScaledPictures,
    descriptors_of,
    lengths_of,
    stored,
)
from sightline.contracts import Json
from sightline.errors import DataError, StoreDamaged
from sightline.similarity.pairs import Phi
from sightline.similarity.scaling import PLAIN, FeatureScaling
from sightline.store.folder import StoreFolder
from sightline.store.models import SavedModel, load_model, open_model
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint

FORMAT = 2
# Pictures and pairs that the untrained model is scaled by.
FEW_PICTURES = 400
FEW_PAIRS = 4_000
PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class CandidateSearch:
    """How candidates are found: the nearest `depth` by each of some descriptors.

    Attributes
    ----------
    descriptors : tuple of tuple of (int, str)
        Their positions, and whether neighbours are by "cosine" or by "distance".
    recall : float
        Recall of the ten best pictures of a full scan on held-out queries; NaN if not measured.
    queries : int
        Number of held-out queries it was measured on.
    """

    descriptors: tuple[tuple[int, str], ...]
    depth: int
    recall: float = float("nan")
    queries: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityModel:
    """Compares pictures by weighted descriptors and measures.

    Attributes
    ----------
    descriptors : tuple of str
        Fingerprints, in the order of the views of phi.
    frames : tuple of Frame
        The feature scaling of each.
    phi : Phi
        Compares pictures by each descriptor and each measure.
    w : ndarray of float64
        The weight of each component of phi.
    proof : ndarray of float64
        The weights learned without the held-out pictures.
    shortlist : CandidateSearch
        How candidates are retrieved.
    about : mapping
        Its stored description; empty if it is not trained.
    name : str
        Name of the model; empty if it is not trained.
    judged : int
        Number of triplets of later judgements that updated the weights.
    """

    descriptors: tuple[str, ...]
    scalings: tuple[FeatureScaling, ...]
    phi: Phi
    w: Doubles
    proof: Doubles
    shortlist: CandidateSearch
    about: Mapping[str, Json]
    name: str = ""
    judged: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the descriptors."""
        return tuple(Fingerprint.parse(d).name for d in self.descriptors)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The dimension of each stored descriptor."""
        return tuple(f.length for f in self.scalings)

    @property
    def constant(self) -> tuple[str, ...]:
        """The names of descriptors that are equal for all training pairs; their weight is 0."""
        still = (self.phi.factor == 0).reshape(len(self.descriptors), -1).all(axis=1)
        return tuple(n for n, s in zip(self.names, still, strict=True) if s)

    def scaled(self, pictures: DescribedPictures) -> ScaledPictures:
        """Return pictures with their rows scaled."""
        views = zip(self.scalings, pictures.views, strict=True)
        return ScaledPictures(tuple(scaling(rows) for scaling, rows in views), pictures.have)

    def compare(self, queries: ScaledPictures, pictures: ScaledPictures) -> Floats:
        """Return phi of every query with every picture, 0 where either lacks the descriptor."""
        values = self.phi(queries.views, pictures.views)
        both = queries.have[:, None, :] & pictures.have[None, :, :]
        if not both.all():
            values *= np.repeat(both, len(self.phi.kinds), axis=2)
        return values

    def pairs(self, pictures: ScaledPictures, left: Any, right: Any) -> Floats:
        """Return phi of listed pairs, (pairs, components), 0 where either lacks the descriptor."""
        values = self.phi.of_pairs(pictures.views, pictures.views, left, right)
        both = pictures.have[left] & pictures.have[right]
        if not both.all():
            values *= np.repeat(both, len(self.phi.kinds), axis=1)
        return values

    def to_saved(self) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
        """Return the description and the arrays to be stored."""
        s = self.shortlist
        about: dict[str, Json] = {
            **self.about,
            "format": FORMAT,
            "descriptors": list(self.descriptors),
            "frames": [[f.kind, f.length] for f in self.scalings],
            "shortlist": {
                "descriptors": [[v, by] for v, by in s.descriptors],
                "depth": s.depth,
                "recall": None if np.isnan(s.recall) else s.recall,
                "queries": s.queries,
            },
        }
        arrays = {f"phi.{n}": a for n, a in self.phi.to_arrays().items()}
        for v, f in enumerate(self.scalings):
            arrays |= {f"frame.{v}.{n}": a for n, a in f.arrays.items()}
        return about, {**arrays, "w": self.w, "proof": self.proof}


def from_saved(saved: SavedModel) -> SimilarityModel:
    """Return the model that was stored."""
    about, arrays = saved.about, saved.arrays
    try:
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']}")
        parts = {n.removeprefix("phi."): np.array(a) for n, a in arrays.items() if n[:4] == "phi."}
        phi, prints = Phi.from_arrays(parts), _texts(about["descriptors"])
        w, proof = (np.array(arrays[n], np.float64) for n in ("w", "proof"))
        scalings = _scalings(about["frames"], arrays)
        if (
            {w.shape, proof.shape} != {phi.mean.shape}
            or len(scalings) != len(prints)
            or not all(f.scaled_length == n for f, n in zip(scalings, phi.lengths, strict=True))
        ):
            raise ValueError("its parts do not fit together")
        shortlist = _shortlist(about["shortlist"])
        return SimilarityModel(prints, scalings, phi, w, proof, shortlist, about, saved.name)
    except (KeyError, ValueError, TypeError, IndexError, DataError) as e:
        raise StoreDamaged(
            f"The model {saved.name} cannot be read by this release ({e}). "
            "Run: sightline train similarity"
        ) from e


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError("descriptors are no list")
    return tuple(map(str, values))


def _scalings(stored_scalings: Any, arrays: Mapping[str, Any]) -> tuple[FeatureScaling, ...]:
    scalings = []
    for v, (kind, length) in enumerate(stored_scalings):
        start = f"frame.{v}."
        own = {n.removeprefix(start): np.array(a) for n, a in arrays.items() if n.startswith(start)}
        scalings.append(FeatureScaling.from_arrays(str(kind), int(length), own))
    return tuple(scalings)


def _shortlist(stored_shortlist: Any) -> CandidateSearch:
    recall = stored_shortlist["recall"]
    return CandidateSearch(
        tuple((int(v), str(by)) for v, by in stored_shortlist["descriptors"]),
        int(stored_shortlist["depth"]),
        float("nan") if recall is None else float(recall),
        int(stored_shortlist["queries"]),
    )


def load_similarity_model(
    store_folder: StoreFolder, name: str, *, checked: bool = False
) -> SimilarityModel | None:
    """Return the model of a name; None if there is none."""
    if not name:
        return None
    return from_saved((load_model if checked else open_model)(store_folder.models, name))


def describe_similarity_model(store_folder: StoreFolder, name: str) -> str:
    """Return one line on how similarity was learned and its figures on held-out queries."""
    model = load_similarity_model(store_folder, name)
    if model is None:
        return ""
    summary = (
        f"{len(model.names)} descriptors by {model.about['learner']} from {model.about['source']}"
    )
    return summary + measured_text(SIMILARITY, model.about, "queries", "equal weights")


def uniform(snapshot: Snapshot, feature_names: Sequence[str] = ()) -> SimilarityModel:
    """Return the untrained model: equal weights."""
    prints = descriptors_of(snapshot, feature_names)
    lengths = lengths_of(snapshot, prints)
    ids = snapshot.ids()
    few = seeded(ids, FEW_PICTURES)
    data = stored(snapshot, few, prints, lengths)
    data = data.only(complete(data))
    if len(data) < 2:
        raise DataError(
            f"Only {len(data)} of {len(few)} pictures have all of the descriptors "
            f"{', '.join(Fingerprint.parse(f).name for f in prints)}. Run: sightline index"
        )
    return evenly(prints, as_stored(lengths), data, FEW_PAIRS)


def as_stored(lengths: Sequence[int]) -> tuple[FeatureScaling, ...]:
    """Return scalings that leave rows as they are."""
    return tuple(FeatureScaling(PLAIN, n, {}) for n in lengths)


def evenly(
    descriptors: tuple[str, ...],
    scalings: tuple[FeatureScaling, ...],
    data: DescribedPictures,
    pairs: int = PAIRS,
) -> SimilarityModel:
    """Return a model of equal weights for some scalings; phi is scaled by pairs of pictures."""
    views = tuple(scaling(rows) for scaling, rows in zip(scalings, data.views, strict=True))
    phi = Phi.of(views, pairs=pairs)
    w = even_weights(phi)
    return SimilarityModel(descriptors, scalings, phi, w, w, all_of(len(descriptors)), {})


def complete(data: DescribedPictures) -> Ints:
    """Return which pictures have every descriptor, by position."""
    return np.flatnonzero(np.all(data.have, axis=1))


def even_weights(phi: Phi) -> Doubles:
    """Return weights that make the score the mean of all components that differ."""
    moving = phi.factor > 0
    return np.where(moving, 1.0 / max(int(moving.sum()), 1), 0.0)


def all_of(n: int, depth: int = 300) -> CandidateSearch:
    """Return a shortlist of the nearest by every descriptor."""
    return CandidateSearch(tuple((v, "cosine") for v in range(n)), depth)


def seeded(ids: Ints, most: int) -> Ints:
    """Return at most so many of some ids, ascending, the same ones every time."""
    if len(ids) <= most:
        return ids
    return np.sort(np.random.default_rng(0).choice(ids, most, replace=False))
