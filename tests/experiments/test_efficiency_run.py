"""The experiment on label efficiency: which tags are kept, what is measured, printed, written."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.collection.models.dataset import Dataset
from sightline.collection.models.queries import picture_counts
from sightline.errors import UsageError
from sightline.measures.figures import Figures
from sightline.progress import NoProgress
from sightline_experiments import efficiency_page
from sightline_experiments.efficiency import run
from sightline_experiments.efficiency.methods import METHODS, RIDGE, SERVED, TAGS_ALONE
from sightline_experiments.efficiency.plan import full_plan, quick_plan
from sightline_experiments.efficiency.report import lines
from sightline_experiments.efficiency.results import EfficiencyResults, figures_of, tags_needed
from sightline_experiments.efficiency.tags import measured_words, with_few_tags, without_test
from sightline_experiments.noise.inputs import TaggedSet
from tests.experiments.command import reproduce

PLAN = replace(quick_plan(), numbers=(2, 8, 16), compared=8, features=("clusters",))
KINDS = 8


def made(n: int, seed: int) -> Dataset:
    """Return pictures of eight kinds with the word of the kind."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % KINDS
    centres = np.random.default_rng(5).normal(size=(KINDS, 10))
    rows = (centres[kind] + 1.2 * rng.normal(size=(n, 10))).astype(np.float32)
    ids = np.arange(1, n + 1) + 10_000 * seed
    labels = csr_matrix(np.eye(KINDS, dtype=np.float32)[kind])
    return Dataset(ids, np.arange(KINDS), labels, {"clusters-made": rows})


def tagged_set() -> TaggedSet:
    return TaggedSet("Made", made(240, 0), made(120, 1), tuple(f"w{i}" for i in range(KINDS)))


@pytest.fixture(scope="module")
def results() -> EfficiencyResults:
    return run([tagged_set()], PLAN, NoProgress())


def test_every_word_keeps_so_many_tags_and_fewer_are_among_more() -> None:
    whole = made(200, 0)
    few, more = (with_few_tags(whole, n, 3) for n in (2, 5))
    assert picture_counts(few.labels).tolist() == [2] * KINDS and len(few) == 16
    assert picture_counts(more.labels).tolist() == [5] * KINDS
    assert set(few.ids.tolist()) < set(more.ids.tolist()) < set(whole.ids.tolist())
    assert with_few_tags(whole, 2, 3).ids.tolist() == few.ids.tolist()
    assert with_few_tags(whole, 2, 4).ids.tolist() != few.ids.tolist()
    assert with_few_tags(whole, 99, 3).labels.nnz == whole.labels.nnz
    rows = dict(zip(whole.ids.tolist(), whole.views["clusters-made"], strict=True))
    kept = zip(few.ids.tolist(), few.views["clusters-made"], strict=True)
    assert all((rows[i] == r).all() for i, r in kept)


def test_words_with_too_few_tags_or_no_test_picture_are_not_measured() -> None:
    s = tagged_set()
    assert measured_words(s, 30).all() and not measured_words(s, 31).any()
    labels = s.test.labels.tolil()
    labels[:, 2] = 0
    bare = replace(s, test=replace(s.test, labels=labels.tocsr()))
    assert np.flatnonzero(~measured_words(bare, 30)).tolist() == [2]


def test_choosing_never_sees_the_test() -> None:
    s = tagged_set()
    chosen = without_test(s)
    ids = set(chosen.training.ids.tolist()), set(chosen.test.ids.tolist())
    assert not ids[0] & ids[1] and ids[0] | ids[1] == set(s.training.ids.tolist())
    assert len(chosen.test) == len(s.training) // 4


def test_every_method_is_measured_once_for_each_number_and_draw(
    results: EfficiencyResults,
) -> None:
    for method in METHODS:
        assert [len(results.values("Made", method, n)) for n in PLAN.numbers] == [2, 2, 2]
        assert np.mean(results.values("Made", method, 16)) > np.mean(
            results.values("Made", method, 2)
        )
    # No word is a noun, so there is nothing to ask a network.
    assert results.values("Made", SERVED, 8) == results.values("Made", TAGS_ALONE, 8)


def test_needed_tags_are_read_off_the_curve() -> None:
    assert tags_needed((1, 4), (0.5, 0.9), 0.5) == 1.0
    assert tags_needed((1, 4), (0.5, 0.9), 0.7) == pytest.approx(2.0)
    assert tags_needed((2, 4, 8), (0.5, 0.4, 0.9), 0.65) == pytest.approx(2**2.5)
    assert math.isinf(tags_needed((1, 4), (0.5, 0.9), 0.95))


def test_figures_page_and_tables_agree(results: EfficiencyResults, tmp_path: Path) -> None:
    figures = figures_of(results)
    (ridge,) = figures.find(method=RIDGE, measure="AvgP", at=8)
    values = results.values("Made", RIDGE, 8)
    error = float(np.std(values, ddof=1) / math.sqrt(2))
    assert ridge.value == pytest.approx(np.mean(values))
    assert ridge.spread == pytest.approx(error) and ridge.n == KINDS
    text = "\n".join(lines(results))
    assert f"{ridge.value:.4f} ± {error:.4f}" in text
    figures.write(tmp_path / "efficiency.json")
    assert Figures.read(tmp_path / "efficiency.json").rows == figures.rows
    page = efficiency_page.values_of(tmp_path)
    assert "Made, 8 words: tags" in page["tables"] and "tags" in page["needed"]
    needed = figures.find(measure="tags needed")
    if needed:
        assert f"{needed[0].value:.1f}" in text and f"{needed[0].value:.1f}" in page["needed"]


def test_the_test_is_measured_once() -> None:
    from sightline_experiments.efficiency import _Measured

    measured = _Measured(tagged_set(), PLAN, EfficiencyResults({}))
    scores = np.zeros((120, KINDS), np.float32)
    measured._measured(RIDGE, 2, 0, scores)
    measured._measured(RIDGE, 2, 1, scores)
    with pytest.raises(UsageError, match="was measured on the test pictures"):
        measured._measured(RIDGE, 2, 0, scores)


def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    code, out, _ = reproduce(capfd, "efficiency", "--data", "empty", "--json", "f.json")
    assert code == 0 and "Caltech-101      data unavailable" in out
    assert set(quick_plan().features) <= set(full_plan().features)
