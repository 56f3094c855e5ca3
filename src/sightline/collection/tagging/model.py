"""The region model: margins of words, their regions, and scenes.

It is stored with its proof, a model fitted without the held-out pictures, so that a later model can
be compared with it, and with cross-validated margins of the training pictures, which thresholds are
chosen on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Bools, Doubles, Ints
from sightline.collection.models.versions import REGIONS, measured_text
from sightline.collection.tagging.dataset import Inputs, WordList
from sightline.contracts import Json
from sightline.errors import NoRegions, StoreDamaged
from sightline.regions.model import RegionPrediction
from sightline.regions.scored import ScoredRegionModel
from sightline.store.folder import StoreFolder
from sightline.store.models import load_model
from sightline.words.calibration import calibrate


@dataclass(frozen=True, slots=True, eq=False)
class RegionTagger:
    """Predicts the words of pictures and the regions they are in.

    Attributes
    ----------
    served, proof : ScoredRegionModel
        Models fitted to all pictures, and to those not held out.
    terms : ndarray of int64
        The words, ascending.
    feature : str
        The fingerprint of the stored regions.
    ids : ndarray of int64
        Ids of the training pictures.
    margins : ndarray of float32
        Their cross-validated margins, (pictures, words).
    tagged : ndarray of bool
        Which words they had as tags at training time, (pictures, words).
    marks : ndarray of int64
        Digests of their regions, to notice changed ones.
    words : WordList
        The owner's list at training time.
    about : dict
        Its metrics.
    """

    served: ScoredRegionModel
    proof: ScoredRegionModel
    terms: Ints
    feature: str
    ids: Ints
    margins: NDArray[np.float32]
    tagged: Bools
    marks: Ints
    words: WordList = field(default_factory=WordList)
    about: dict[str, Json] = field(default_factory=dict)

    @property
    def n_scenes(self) -> int:
        """The number of scenes."""
        return int(self.served.n_scenes)

    def of(self, inputs: Inputs, ids: Ints) -> Doubles:
        """Return margins of words; cross-validated ones for training pictures.

        Parameters
        ----------
        inputs : Inputs
            The regions of the pictures.
        ids : ndarray of int64
            Ids of the pictures.
        """
        margins = np.empty((len(ids), len(self.terms)))
        position = np.minimum(np.searchsorted(self.ids, ids), max(len(self.ids) - 1, 0))
        # A replaced picture keeps its id, so its regions are compared too.
        is_learned = np.isin(ids, self.ids) & (self.marks[position] == inputs.marks())
        margins[is_learned] = self.margins[np.searchsorted(self.ids, ids[is_learned])]
        new = np.flatnonzero(~is_learned)
        if len(new):
            some = inputs.only(new)
            margins[new] = self.served.decision_function(some.X, some.whole, some.areas)
        return margins

    def likely(self, margins: Doubles) -> Doubles:
        """Return the probabilities of words from their margins."""
        slope, offset = calibrate(self.margins, self.tagged)
        # Beyond 700 exp overflows.
        return 1 / (1 + np.exp(-np.clip(slope * margins + offset, -700, 700)))

    def place(self, inputs: Inputs, tags: Bools) -> RegionPrediction:
        """Return the regions of given words, and the best scene."""
        return self.served.place(inputs.X, tags, inputs.whole, inputs.areas)

    def predict(self, inputs: Inputs) -> RegionPrediction:
        """Return the most likely words, regions and scenes of pictures."""
        return self.served.predict(inputs.X, inputs.whole, inputs.areas)

    def columns(self, terms: Iterable[int]) -> list[int | None]:
        """Return the columns of terms, mapped by the owner's list; None for unknown ones."""
        counts_as = self.words.counts_as()
        now = [counts_as.get(t, t) for t in terms]
        place = {int(t): i for i, t in enumerate(self.terms)}
        return [None if t is None else place.get(t) for t in now]

    def to_saved(self) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
        """Return the description and arrays that `load_region_tagger` reads."""
        merge: list[Json] = [list[Json](pair) for pair in self.words.merge]
        words: dict[str, Json] = {"drop": list[Json](self.words.drop), "merge": merge}
        arrays = {
            **{f"served/{k}": a for k, a in self.served.to_arrays().items()},
            **{f"proof/{k}": a for k, a in self.proof.to_arrays().items()},
            "terms": self.terms, "ids": self.ids, "margins": self.margins,
            "carried": self.tagged.astype(np.uint8), "marks": self.marks,
        }  # fmt: skip
        plain = {k: a.astype(np.uint8) if a.dtype == np.bool_ else a for k, a in arrays.items()}
        return {**self.about, "feature": self.feature, "list": words}, plain

    @classmethod
    def from_saved(cls, about: dict[str, Json], arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a stored model."""
        served, proof = (_model(arrays, part) for part in ("served/", "proof/"))
        words = about["list"]
        if not isinstance(words, dict):
            raise TypeError("no list of words")
        return cls(
            served, proof, np.asarray(arrays["terms"]), str(about["feature"]),
            np.asarray(arrays["ids"]), np.asarray(arrays["margins"]),
            np.asarray(arrays["carried"]).astype(np.bool_), np.asarray(arrays["marks"]),
            _list(words), about,
        )  # fmt: skip


def _model(arrays: dict[str, NDArray[Any]], part: str) -> ScoredRegionModel:
    part_arrays = {
        k.removeprefix(part): np.asarray(a) for k, a in arrays.items() if k.startswith(part)
    }
    part_arrays["latent.known"] = part_arrays["latent.known"].astype(np.bool_)
    return ScoredRegionModel.from_arrays(part_arrays)


def _list(words: dict[str, Json]) -> WordList:
    drop, merge = words["drop"], words["merge"]
    if not isinstance(drop, list) or not isinstance(merge, list):
        raise TypeError("no list of words")
    pairs = [(str(m[0]), str(m[1])) for m in merge if isinstance(m, list)]
    return WordList(tuple(map(str, drop)), tuple(pairs))


def load_region_tagger(store_folder: StoreFolder, name: str) -> RegionTagger | None:
    """Return the model of that name; None for the empty name."""
    if not name:
        return None
    saved = load_model(store_folder.models, name)
    try:
        return RegionTagger.from_saved(saved.about, saved.arrays)
    except (KeyError, TypeError, ValueError, IndexError) as e:
        raise StoreDamaged(
            f"The model {name} cannot be read by this release ({e}). Run: sightline train regions"
        ) from e


def current_region_tagger(store_folder: StoreFolder, name: str) -> RegionTagger:
    """Return the model in use; raise `NoRegions` if there is none."""
    tagger = load_region_tagger(store_folder, name)
    if tagger is None:
        raise NoRegions("There is no region model yet. Run: sightline train regions")
    return tagger


def describe_region_tagger(store_folder: StoreFolder, name: str) -> str:
    """Return one line on the model and its figures on held-out pictures."""
    tagger = current_region_tagger(store_folder, name)
    summary = f"{len(tagger.terms)} words in {tagger.n_scenes} scenes by {tagger.feature}"
    return summary + measured_text(REGIONS, tagger.about, "pictures")
