"""Scenes: the collection in groups by the kind of picture the model takes each for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sightline.collection.models.dataset import carried, cleaned
from sightline.collection.tagging.dataset import (
    Inputs,
    Int,
    cut_otherwise,
    cuts,
    kept_ids,
    spelled,
    table,
)
from sightline.collection.tagging.model import RegionTagger, current_region_tagger
from sightline.contracts import Progress
from sightline.regions.model import Tagging
from sightline.store.home import Home, Reader

_BLOCK = 256


@dataclass(frozen=True, slots=True)
class SceneWord:
    """A word of a scene: the share of its pictures that have it, and that of all pictures."""

    word: str
    share: float
    usual: float


@dataclass(frozen=True, slots=True)
class Scene:
    """Pictures that the model takes for one kind.

    Attributes
    ----------
    number : int
        From 0, as `tag` names it.
    words : tuple of SceneWord
        Those that set its pictures apart, strongest first.
    pictures : tuple of int
        Ids, those that fit best first.
    """

    number: int
    words: tuple[SceneWord, ...]
    pictures: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scenes:
    """All scenes, the largest first, and how many pictures lack the regions the model knows.

    `cut_otherwise` of these have others.
    """

    scenes: tuple[Scene, ...]
    without_regions: int
    version: int
    cut_otherwise: int = 0

    def __len__(self) -> int:
        return len(self.scenes)

    def __iter__(self) -> Iterator[Scene]:
        return iter(self.scenes)


def find_scenes(home: Home, pictures: Int | None, n_words: int, progress: Progress) -> Scenes:
    """Return the scenes of pictures, all by default, each with so many words at most."""
    with home.reader() as reader:
        placer = current_region_tagger(home, reader.snapshot.regions)
        wanted = reader.snapshot.ids() if pictures is None else np.unique(pictures)
        ids = kept_ids(reader.snapshot, placer.feature, wanted)
        names = spelled(placer.terms, reader.catalogue.terms(), placer.words)
        said, fits = _said(reader, placer, ids, progress)
        has = table(ids, placer.terms, *cleaned(*carried(reader.snapshot), _list(placer)))
        has |= said.tags
        usual = has.mean(axis=0) if len(ids) else np.zeros(len(names))
        found = []
        for s in range(placer.n_scenes):
            mine = np.flatnonzero(said.scenes == s)
            if not len(mine):
                continue
            share = has[mine].mean(axis=0)
            best = np.argsort(-(share - usual), kind="stable")[:n_words]
            words = tuple(
                SceneWord(names[j], round(float(share[j]), 4), round(float(usual[j]), 4))
                for j in best.tolist()
                if share[j] > usual[j]
            )
            # How much better it fits than the next best scene.
            others = np.delete(fits[mine], s, axis=1).max(axis=1, initial=-np.inf)
            order = np.argsort(others - fits[mine, s], kind="stable")
            found.append(Scene(s, words, tuple(ids[mine[order]].tolist())))
        found.sort(key=lambda g: (-len(g.pictures), g.number))
        others = cut_otherwise(reader.snapshot, placer.feature, wanted)
        version = reader.snapshot.version
        return Scenes(tuple(found), len(wanted) - len(ids), version, len(others))


def _said(
    reader: Reader, placer: RegionTagger, ids: Int, progress: Progress
) -> tuple[Tagging, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return tags and scenes of pictures, and how well each scene fits."""
    tags = np.zeros((len(ids), len(placer.terms)), np.bool_)
    scenes, fits = np.zeros(len(ids), np.int64), np.zeros((len(ids), placer.n_scenes))
    progress.start("find scenes", len(ids))
    for begin in range(0, len(ids), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        seen = Inputs.of(cuts(reader.snapshot, placer.feature, ids[part]))
        found = placer.predict(seen)
        tags[part], scenes[part] = found.tags, found.scenes
        fits[part] = placer.served.scene_fits(seen.X, seen.whole, seen.areas)
        progress.advance(len(ids[part]))
    progress.finish()
    return Tagging(tags, scenes, []), fits


def _list(placer: RegionTagger) -> dict[int, int | None]:
    return placer.words.counts_as()
