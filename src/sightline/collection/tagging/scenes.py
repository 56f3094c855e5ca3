"""Scenes: the collection grouped by the scene that the model predicts for each picture.

Without a region model, groups of similar pictures take their place (`tagging.groups`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from sightline._typing import Ints
from sightline.collection.models.dataset import cleaned, tag_pairs
from sightline.collection.tagging.dataset import (
    Inputs,
    cut_otherwise,
    cuts,
    kept_ids,
    spelled,
    table,
)
from sightline.collection.tagging.model import RegionTagger, current_region_tagger
from sightline.contracts import Json, Progress
from sightline.regions.model import RegionPrediction
from sightline.store.folder import Reader, StoreFolder

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class SceneWord:
    """A word of a scene: its share in the scene, and in all pictures."""

    word: str
    share: float
    usual: float


@dataclass(frozen=True, slots=True)
class Scene:
    """Pictures that the model assigns to one scene.

    Attributes
    ----------
    number : int
        The number of the scene, from 0, as in `tag`.
    words : tuple of SceneWord
        The words that distinguish it, strongest first.
    pictures : tuple of int
        Ids, best fit first.
    """

    number: int
    words: tuple[SceneWord, ...]
    pictures: tuple[int, ...]

    def to_dict(self) -> dict[str, Json]:
        """Return the scene as JSON."""
        words: list[Json] = [asdict(w) for w in self.words]
        return {"scene": self.number, "words": words, "pictures": list[Json](self.pictures)}


@dataclass(frozen=True, slots=True)
class Scenes:
    """All scenes, the largest first.

    Attributes
    ----------
    scenes : tuple of Scene
        The scenes.
    without_regions : int
        The number of pictures that are in no scene, for want of the regions or the feature.
    version : int
        The version of the store.
    cut_otherwise : int
        How many of `without_regions` have other regions than the model's.
    by : str
        What groups them: "regions", or the feature by which they are similar.
    """

    scenes: tuple[Scene, ...]
    without_regions: int
    version: int
    cut_otherwise: int = 0
    by: str = "regions"

    def __len__(self) -> int:
        return len(self.scenes)

    def __iter__(self) -> Iterator[Scene]:
        return iter(self.scenes)

    def to_dict(self) -> dict[str, Json]:
        """Return the scenes as JSON."""
        return {
            "version": self.version, "without_regions": self.without_regions, "by": self.by,
            "cut_otherwise": self.cut_otherwise, "scenes": [s.to_dict() for s in self.scenes],
        }  # fmt: skip


def find_scenes(
    store_folder: StoreFolder, pictures: Ints | None, n_words: int, progress: Progress
) -> Scenes:
    """Return the scenes of pictures, all by default, with at most `n_words` words each."""
    with store_folder.reader() as reader:
        if not reader.snapshot.regions:
            from sightline.collection.tagging.groups import similar_groups

            return similar_groups(reader, pictures, n_words)
        tagger = current_region_tagger(store_folder, reader.snapshot.regions)
        picture_ids = reader.snapshot.ids() if pictures is None else np.unique(pictures)
        ids = kept_ids(reader.snapshot, tagger.feature, picture_ids)
        names = spelled(tagger.terms, reader.catalogue.terms(), tagger.words)
        predicted, fits = _predicted(reader, tagger, ids, progress)
        tags = table(ids, tagger.terms, *cleaned(*tag_pairs(reader.snapshot), _list(tagger)))
        tags |= predicted.tags
        usual = tags.mean(axis=0) if len(ids) else np.zeros(len(names))
        scenes = []
        for s in range(tagger.n_scenes):
            members = np.flatnonzero(predicted.scenes == s)
            if not len(members):
                continue
            share = tags[members].mean(axis=0)
            best = np.argsort(-(share - usual), kind="stable")[:n_words]
            words = tuple(
                SceneWord(names[j], round(float(share[j]), 4), round(float(usual[j]), 4))
                for j in best.tolist()
                if share[j] > usual[j]
            )
            # The margin to the next best scene.
            next_best = np.delete(fits[members], s, axis=1).max(axis=1, initial=-np.inf)
            order = np.argsort(next_best - fits[members, s], kind="stable")
            scenes.append(Scene(s, words, tuple(ids[members[order]].tolist())))
        scenes.sort(key=lambda g: (-len(g.pictures), g.number))
        next_best = cut_otherwise(reader.snapshot, tagger.feature, picture_ids)
        version = reader.snapshot.version
        return Scenes(tuple(scenes), len(picture_ids) - len(ids), version, len(next_best))


def _predicted(
    reader: Reader, tagger: RegionTagger, ids: Ints, progress: Progress
) -> tuple[RegionPrediction, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return predicted tags and scenes of pictures, and the score of each scene."""
    tags = np.zeros((len(ids), len(tagger.terms)), np.bool_)
    scenes, fits = np.zeros(len(ids), np.int64), np.zeros((len(ids), tagger.n_scenes))
    progress.start("find scenes", len(ids))
    for begin in range(0, len(ids), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        inputs = Inputs.of(cuts(reader.snapshot, tagger.feature, ids[part]))
        predicted = tagger.predict(inputs)
        tags[part], scenes[part] = predicted.tags, predicted.scenes
        fits[part] = tagger.served.scene_fits(inputs.X, inputs.whole, inputs.areas)
        progress.advance(len(ids[part]))
    progress.finish()
    return RegionPrediction(tags, scenes, []), fits


def _list(tagger: RegionTagger) -> dict[int, int | None]:
    return tagger.words.counts_as()
