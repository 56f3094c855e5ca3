"""What a network adds to the scores of words with few tags, and that a model keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline._typing import Floats, Ints
from sightline.collection.models import few_tags, held_out, training
from sightline.collection.models.dataset import Dataset, load_dataset, split
from sightline.collection.models.few_tags import NamedWords, with_prior
from sightline.collection.models.landmarks import LandmarksOf
from sightline.collection.models.network_prior import NetworkPrior
from sightline.collection.models.recipe import Fitted, Recipe, fit
from sightline.collection.models.training import TrainOptions, train
from sightline.collection.models.word_model import (
    FORMAT_NETWORK,
    SegmentScorer,
    from_saved,
    load_word_model,
)
from sightline.collection.search import starting_words
from sightline.errors import StoreDamaged
from sightline.features.deep import classes
from sightline.features.deep.classes import ClassLayer
from sightline.features.deep.network import LITE0
from sightline.progress import NoProgress
from sightline.store.folder import StoreFolder
from sightline.store.models import open_model
from sightline.words.term_ids import term_id
from tests.factories.planted_stores import noise_like, plant

WORDS = ("dog", "boat", "xyzzy", "tree")
SIZE = 12
DEEP = "deep-0123456789ab"
RIDGE = Recipe("ridge", (DEEP, "other-0123456789ab"), (("alpha", 0.1),))


@pytest.fixture(autouse=True)
def layer(monkeypatch: pytest.MonkeyPatch) -> ClassLayer:
    """A network whose classes of a noun look along one axis each, that of the noun."""
    weights = np.zeros((1_000, SIZE), np.float32)
    nouns = NamedWords.of(WORDS, DEEP, LITE0.name, SIZE).nouns
    for axis, noun in nouns.items():
        weights[noun.weights > 0.5, axis] = 4.0
    made = ClassLayer(weights, np.zeros(1_000, np.float32))
    monkeypatch.setattr(classes, "class_layer", lambda network, size: made)
    return made


def rows_of(kinds: Ints, seed: int, noise: float = 0.35) -> Floats:
    """Return pictures of kinds, each along the axis of its word."""
    noisy = noise * np.random.default_rng(seed).normal(size=(len(kinds), SIZE))
    return np.asarray(np.eye(SIZE)[kinds] + noisy, np.float32)


def made(n: int, tagged: int, seed: int = 0) -> Dataset:
    """Return pictures of four kinds, of which the first words have few tags."""
    kinds = np.arange(n) % len(WORDS)
    labels = np.eye(len(WORDS), dtype=np.float32)[kinds]
    for word in (0, 2):
        labels[np.flatnonzero(kinds == word)[tagged:], word] = 0
    rows = rows_of(kinds, seed)
    views = {DEEP: rows, "other-0123456789ab": noise_like(rows)}
    return Dataset(np.arange(1, n + 1), np.arange(len(WORDS)), csr_matrix(labels), views)


def named() -> NamedWords:
    return NamedWords.of(WORDS, DEEP, LITE0.name, SIZE)


def gap(fitted: Fitted, word: int) -> float:
    """Return how far new pictures of a word's kind are above others, in their deviations."""
    kinds = np.arange(200) % len(WORDS)
    rows = rows_of(kinds, 7)
    scores = fitted.scores({DEEP: rows, "other-0123456789ab": noise_like(rows)})[:, word]
    return float((scores[kinds == word].mean() - scores[kinds != word].mean()) / scores.std())


def test_words_with_few_tags_are_helped_and_others_stay_as_they_are() -> None:
    dataset = made(400, tagged=2)
    plain = fit(RIDGE, dataset)
    helped = with_prior(plain, dataset, named())
    assert gap(helped, 0) > gap(plain, 0) + 0.3
    prior = NetworkPrior.from_arrays(helped.arrays)
    # The third is no noun, the others have more tags than the network is asked about.
    assert prior is not None and prior.words.tolist() == [0]
    scores, before = helped.scores(dataset.views), plain.scores(dataset.views)
    assert scores[:, 1:].tolist() == before[:, 1:].tolist()
    assert plain.unseen is not None and helped.unseen is not None
    term = scores[:, 0] - before[:, 0]
    assert helped.unseen[:, 0] == pytest.approx(plain.unseen[:, 0] + term, abs=1e-5)
    assert helped.unseen[:, 1:].tolist() == plain.unseen[:, 1:].tolist()


def test_the_more_tags_the_less_the_network_counts() -> None:
    spreads = []
    for tagged in (1, 4, 16, 64):
        dataset = made(400, tagged)
        prior = NetworkPrior.from_arrays(with_prior(fit(RIDGE, dataset), dataset, named()).arrays)
        unseen = fit(RIDGE, dataset).unseen
        assert prior is not None and unseen is not None
        term = prior.term(dataset.views[DEEP])[:, 0]
        assert float(term.mean()) == pytest.approx(0, abs=1e-4)
        closeness = named().nouns[0].closeness
        share = few_tags.WEIGHT * np.sqrt(closeness / tagged)
        assert float(term.std() / unseen[:, 0].std()) == pytest.approx(share, rel=0.01)
        spreads.append(share)
    assert spreads == sorted(spreads, reverse=True)


def test_a_part_of_the_words_has_the_same_scores_in_any_order() -> None:
    dataset = made(200, tagged=3)
    every = with_prior(fit(RIDGE, dataset), dataset, named())
    whole = every.scores(dataset.views)
    for words in ([0], [3, 0], [2], [1, 2, 3]):
        part = every.scores(dataset.views, np.array(words))
        assert part == pytest.approx(whole[:, words], abs=1e-5)
    again = Fitted.from_arrays(RIDGE, every.to_arrays("x."), "x.")
    assert again.scores(dataset.views) == pytest.approx(whole, abs=1e-6)


def test_nothing_is_added_without_a_noun_or_the_feature() -> None:
    dataset = made(120, tagged=2)
    plain = fit(RIDGE, dataset)
    other = replace(named(), feature="deep-medium-0123456789ab")
    for names in (other, NamedWords.of(("xyzzy",) * 4, DEEP, LITE0.name, SIZE)):
        assert with_prior(plain, dataset, names) is plain


def test_the_setting_keeps_the_network_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        starting_words, "suggesting_feature", lambda reader: ((DEEP, LITE0, SIZE), "")
    )
    store_folder = planted(tmp_path / "store", 80)
    spelled = {term_id(w): w for w in WORDS}
    with store_folder.reader() as reader:
        dataset = load_dataset(reader.snapshot)
        some = few_tags.named_words(reader, dataset, spelled)
        assert some is not None and len(some.nouns) == 3 and some.feature == DEEP
        monkeypatch.setattr(reader.store_folder, "starting_words", False)
        assert few_tags.named_words(reader, dataset, spelled) is None


def planted(folder: Path, n: int = 320) -> StoreFolder:
    kinds = np.arange(n) % len(WORDS)
    words = [["scene"] if k == 0 and i >= 24 else [WORDS[k], "scene"]
             for i, k in enumerate(kinds.tolist())]  # fmt: skip
    rows = rows_of(kinds, 0)
    return plant(folder, words, {DEEP: rows, "noise": noise_like(rows)}, segments=2)


def test_training_helps_proof_and_served_model_and_knows_their_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        starting_words, "suggesting_feature", lambda reader: ((DEEP, LITE0, SIZE), "")
    )
    store_folder = planted(tmp_path / "store")
    recorded = {}
    plain = held_out.measure_candidate

    def measure(held: Any, proof: Any, how: Any, current: Any, compute: Any, scores: Any) -> Any:
        recorded["scores"] = scores, proof
        return plain(held, proof, how, current, compute, scores)

    monkeypatch.setattr(training, "measure_candidate", measure)
    train(store_folder, TrainOptions(), 0.0, NoProgress())
    with store_folder.reader() as reader:
        dataset = load_dataset(reader.snapshot)
        name = reader.snapshot.model
        held, _ = split(dataset)
        of_held, proof = recorded["scores"]
        assert NetworkPrior.from_arrays(proof.arrays) is not None
        slow = proof.scores(dataset.only(held).views)
        assert of_held == pytest.approx(slow, abs=1e-4)
        saved = open_model(store_folder.models, name)
        assert saved.about["format"] == FORMAT_NETWORK
        model = from_saved(saved)
        assert NetworkPrior.from_arrays(model.served.arrays) is not None
        assert isinstance(model.proof.arrays, LandmarksOf)
        assert NetworkPrior.from_arrays(model.proof.arrays) is not None
        for segment in reader.snapshot.segments:
            again = SegmentScorer(model).scores(segment)
            assert segment.scores is not None and again is not None
            # Published are those of the training, computed from what it knew.
            known, computed = np.asarray(segment.scores.rows), np.asarray(again.rows)
            assert known == pytest.approx(computed, abs=2e-4)
    broken = {**saved.about, "format": FORMAT_NETWORK + 1}
    with pytest.raises(StoreDamaged, match="its format is"):
        from_saved(replace(saved, about=broken))
    assert load_word_model(store_folder, name) is not None
