"""The experiment on label noise: what is made wrong or dropped, measured, printed and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.collection.models.dataset import Dataset
from sightline.compute.inline import InlineCompute
from sightline.measures.figures import Figures
from sightline.progress import NoProgress
from sightline_experiments.cache import temporary
from sightline_experiments.datasets.classed import CALTECH, Classed
from sightline_experiments.noise import run
from sightline_experiments.noise.corruption import corrupted
from sightline_experiments.noise.inputs import TaggedSet, caltech, corel
from sightline_experiments.noise.methods import RIDGE, SERVED
from sightline_experiments.noise.plan import full_plan, quick_plan
from sightline_experiments.noise.report import lines
from sightline_experiments.noise.results import NoiseResults, figures_of
from sightline_experiments.noise.suspected import suspicion
from tests.experiments.command import reproduce
from tests.factories.classed import load_made
from tests.factories.corel5k import load_made as load_corel

PLAN = replace(quick_plan(), splits=2, rankers=("ridge",), features=("clusters",))


def made(n: int, seed: int) -> Dataset:
    """Return pictures of eight kinds with the word of the kind, and of pairs of kinds."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 8
    centres = np.random.default_rng(5).normal(size=(8, 10))
    rows = (centres[kind] + 0.6 * rng.normal(size=(n, 10))).astype(np.float32)
    labels = csr_matrix(np.hstack([np.eye(8)[kind], np.eye(4)[kind // 2]]).astype(np.float32))
    ids = np.arange(1, n + 1) + 10_000 * seed
    return Dataset(ids, np.arange(12), labels, {"clusters-made": rows})


@pytest.fixture(scope="module")
def found() -> NoiseResults:
    words = tuple(f"w{i}" for i in range(12))
    return run([TaggedSet("Made", made(240, 0), made(120, 1), words)], PLAN, NoProgress())


def test_noise_replaces_or_drops_its_share_and_repeats() -> None:
    clean = made(200, 0).labels
    wrong, missing = corrupted(clean, "wrong", 0.25, 3), corrupted(clean, "missing", 0.25, 3)
    assert wrong.nnz == clean.nnz and clean.multiply(wrong).nnz == 0.75 * clean.nnz
    assert missing.nnz == 0.75 * clean.nnz and clean.multiply(missing).nnz == missing.nnz
    assert (wrong.max(), wrong.sum(axis=1).min()) == (1, 2)
    again, other = (corrupted(clean, "wrong", 0.25, seed) for seed in (3, 4))
    assert (again != wrong).nnz == 0 and (other != wrong).nnz > 0
    # The same tags are hit, so that both kinds have the same right ones.
    assert (clean.multiply(wrong) != clean.multiply(missing)).nnz == 0
    assert corrupted(clean, "clean", 0.0, 3) is clean


def test_every_condition_is_measured_once_with_every_seed(found: NoiseResults) -> None:
    names = ["clean", "20 % wrong", "20 % missing", "50 % missing"]
    assert list(dict.fromkeys(o.condition for o in found.outcomes)) == names
    for method in (SERVED, RIDGE):
        counts = [len(found.values("Made", method, name)) for name in names]
        assert counts == [1, 2, 2, 2]
        (clean,) = found.values("Made", method, "clean")
        assert clean > 0.9 and clean >= np.mean(found.values("Made", method, "50 % missing"))
    assert [(name, seed) for _, name, seed, _ in found.suspicions] == [
        ("clean", 0), ("20 % wrong", 0), ("20 % wrong", 1),
    ]  # fmt: skip


def test_figures_and_tables_agree(found: NoiseResults, tmp_path: Path) -> None:
    figures = figures_of(found)
    (loss,) = figures.find(method=SERVED, subset="20 % wrong", measure="loss of AvgP")
    (clean,), noisy = (found.values("Made", SERVED, name) for name in ("clean", "20 % wrong"))
    assert loss.value == pytest.approx(clean - np.mean(noisy)) and loss.protocol == "Made"
    (precision,) = figures.find(measure="precision", at="recall 0.5")
    curves = [s.curve[4] for _, name, _, s in found.suspicions if name != "clean"]
    assert precision.value == pytest.approx(np.mean(curves)) and precision.value > 0.8
    text = "\n".join(lines(found))
    assert f"loss {loss.value:+.4f}" in text and f"precision {precision.value:.3f}" in text
    figures.write(tmp_path / "f.json")
    assert Figures.read(tmp_path / "f.json").rows == figures.rows
    assert any("served ridge on clusters" in str(r) for r in figures.settings["recipes"])  # type: ignore[union-attr]


def test_perfect_and_useless_scores_are_told_apart() -> None:
    clean = made(400, 0).labels
    noisy = corrupted(clean, "wrong", 0.2, 0)
    rng = np.random.default_rng(0)
    chance = rng.random(clean.shape)
    perfect = suspicion(9.0 * clean.toarray() + chance, noisy, clean)
    useless = suspicion(chance, noisy, clean)
    assert min(perfect.curve) == 1.0 and perfect.recall > 0.98
    assert perfect.planted == round(0.2 * clean.nnz) == pytest.approx(perfect.expected, rel=0.2)
    assert useless.curve[4] < 0.4 and useless.recall < 0.1
    assert sum(b.tags for b in useless.bins) == useless.tags == clean.nnz


def test_data_sets_have_the_same_words_in_both_parts(tmp_path: Path) -> None:
    with temporary() as cache:
        c = load_made(tmp_path / "classed")
        one = caltech(c, ("ehd",), InlineCompute(), cache, NoProgress())
        tags = load_corel(tmp_path / "corel" / "corel5k")
        files = tuple(tags.files[p] for p in sorted(tags.files))
        discs = Classed(CALTECH, files, (0,) * len(files), ("disc",), tags.source)
    with temporary() as cache:
        many = corel(tags, discs, ("ehd",), InlineCompute(), cache, NoProgress())
    assert len(one.training) + len(one.test) == len(c) and one.words == c.classes
    assert one.training.labels.sum() == len(one.training)
    assert (len(many.training), len(many.test)) == (80, 20) and many.words == tags.words
    for s in (one, many):
        assert s.training.labels.shape[1] == s.test.labels.shape[1] == len(s.words)
        assert not set(s.training.ids.tolist()) & set(s.test.ids.tolist())


def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    code, out, _ = reproduce(capfd, "noise", "--data", "empty", "--json", "f.json")
    assert code == 0 and "Caltech-101      data unavailable" in out
    code, _, err = reproduce(capfd, "noise", "--data", "empty", "--only", "flickr")
    assert code == 2 and "no pictures 'flickr'. Known: corel5k, caltech101" in err


def test_plans_name_what_training_does() -> None:
    assert {k for k, _ in full_plan().corruptions} == {"wrong", "missing"}
    assert set(quick_plan().rankers) <= set(full_plan().rankers)
    assert set(quick_plan().features) <= set(full_plan().features)
    assert full_plan().splits > quick_plan().splits > 1
