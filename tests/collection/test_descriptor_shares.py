"""What each descriptor did for a score, and pictures as hits wherever a list has them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sightline.collection import Collection
from sightline.collection.explain import Explanation
from sightline.collection.models.dataset import as_view
from sightline.collection.models.word_model import load_word_model
from sightline.compute.inline import InlineCompute
from sightline.words.term_ids import term_id
from tests.factories.servers import painted


def whys(c: Collection, query: str, **more: object) -> list[Explanation]:
    return c.explain(query, 200, pictures=0, compute=InlineCompute(), **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    found = painted(tmp_path_factory.mktemp("shares"), train=False)
    found.train(rankers=["ridge"], features=["color", "edges"], force=True)
    return found


def test_a_contribution_is_what_an_average_row_would_lose(c: Collection) -> None:
    with c.store_folder.reader() as reader:
        learnt, snapshot = load_word_model(c.store_folder, reader.snapshot.model), reader.snapshot
        assert learnt is not None
        ids = snapshot.ids()
        every = {f: as_view(snapshot.rows(f, ids)) for f in learnt.features}
    (word,) = np.searchsorted(learnt.terms, [term_id("red")]).tolist()
    words = np.array([word])

    def score(rows: dict[str, np.ndarray]) -> float:
        return float(learnt.combination.some(words).rows(learnt.served.scores(rows, words))[0, 0])

    weight = float(learnt.query(np.array([term_id("red")]), [1.0]).weights[0])
    for w in whys(c, "red", cut=False)[::20]:
        (i,) = np.flatnonzero(ids == w.hit.picture).tolist()
        own = {f: rows[i : i + 1] for f, rows in every.items()}
        assert [f.feature for f in w.features] == [f.rpartition("-")[0] for f in learnt.features]
        for share, f in zip(w.features, learnt.features, strict=True):
            usual = {**own, f: every[f].mean(axis=0, keepdims=True)}
            lost = weight * (score(own) - score(usual))
            assert share.contribution == pytest.approx(lost, abs=1e-3)


def test_colours_are_seen_by_colour(c: Collection) -> None:
    found = [w for w in whys(c, "red") if not w.hit.tagged]
    assert found
    for w in found:
        by = {f.feature: f.contribution for f in w.features}
        if "color" in by and "edges" in by:
            assert by["color"] > abs(by["edges"])
        assert w.model and w.recipe.startswith("ridge on")


def test_without_a_model_nothing_is_said_of_descriptors(c: Collection) -> None:
    (w, *_) = whys(c, "red", predicted=False)
    assert w.features == () and w.to_dict()["model"] is None and w.to_dict()["recipe"] is None


def test_pictures_as_hits(c: Collection, tmp_path: Path) -> None:
    every = {h.picture: h for h in c.search("red cold", 500, cut=False)}
    some = sorted(every)[::17]
    assert list(c.pictures.as_hits("red cold", some)) == [every[p] for p in some]
    assert c.pictures.as_hits("red", []).hits == ()
    plain = painted(tmp_path, train=False, n=24)
    first, last = plain.pictures.as_hits("red", [2, 1])
    # The second picture is of another colour, and no model says how little it fits.
    assert (first.picture, first.score, first.tagged) == (2, 0.0, False)
    assert (last.picture, last.tagged) == (1, True)
    os.remove(os.path.join(plain.root, first.path))
    found = plain.pictures.as_hits("red", [2, 1])
    assert [h.picture for h in found] == [1] and found.missing == 1
