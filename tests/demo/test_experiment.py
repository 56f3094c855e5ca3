"""The demo experiment: its protocol, its figures, and their form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sightline.collection.models.dataset import Dataset
from sightline.demo import experiment as demo
from sightline.demo.emoji import WITHHELD, build_demo, withheld_rows
from sightline.measures.figures import Figure, Figures
from sightline.progress import NoProgress

N = 500


@pytest.fixture(scope="module")
def truth() -> Dataset:
    """Pictures in 12 clusters of one feature; another feature tells less."""
    rng = np.random.default_rng(0)
    which = rng.integers(0, 12, N)
    clear = rng.normal(size=(12, 8))[which] + 0.4 * rng.normal(size=(N, 8))
    dim = clear[:, :2] + rng.normal(size=(N, 2))
    labels = np.zeros((N, 13), np.float32)
    labels[np.arange(N), which] = 1
    labels[:4, 12] = 1  # a word on too few pictures to be asked for
    views = {"deep-0": clear.astype(np.float32), "color-0": dim.astype(np.float32)}
    return Dataset(np.arange(1, N + 1), np.arange(13), csr_matrix(labels), views)


@pytest.fixture(scope="module")
def figures(truth: Dataset) -> Figures:
    return demo.run_demo(truth, demo.sets_of(truth), NoProgress(), seeds=(0, 1))


def test_deep_sees_everything_and_classic_all_but_the_network(truth: Dataset) -> None:
    assert demo.sets_of(truth) == {"deep": ("deep-0", "color-0"), "classic": ("color-0",)}


def test_every_method_has_its_figures(figures: Figures) -> None:
    for features in ("deep", "classic"):
        for method in ("PAMIR", "kernel ridge", "random"):
            for measure in demo.MEASURES:
                (row,) = figures.find(method=method, features=features, measure=measure)
                assert 0 <= row.value <= 1 and row.spread is not None
                assert row.n == 12  # every word but the rare one
    for method in ("PAMIR", "kernel ridge"):
        good, less = (
            figures.find(method=method, features=f, measure="AvgP")[0].value
            for f in ("deep", "classic")
        )
        (chance,) = figures.find(method="random", features="deep", measure="AvgP")
        assert good > less > chance.value
    assert {(t.a, t.b) for t in figures.tests} >= {("PAMIR (deep)", "random (deep)")}
    assert all(0 <= t.p <= 1 for t in figures.tests)


def test_random_is_what_a_random_order_gives(truth: Dataset) -> None:
    split = demo._Split.of(truth, 0)
    rng = np.random.default_rng(1)
    from sightline.measures.many import measure_queries

    found = [
        measure_queries(
            np.repeat(rng.random((len(split.withheld), 1), np.float32), 13, axis=1), split.queries
        )
        for _ in range(300)
    ]
    want = split.untrained()
    assert np.mean([f.mean_avgp for f in found]) == pytest.approx(want["AvgP"].mean(), rel=0.03)
    assert np.mean([f.p10.mean() for f in found]) == pytest.approx(want["P10"].mean(), rel=0.05)
    assert np.mean([f.bep.mean() for f in found]) == pytest.approx(want["BEP"].mean(), rel=0.05)


def test_withheld_pictures_are_never_trained_on(truth: Dataset) -> None:
    for seed in demo.SEEDS:
        split = demo._Split.of(truth, seed)
        assert not set(split.training.ids.tolist()) & set(split.withheld.ids.tolist())
        assert len(split.withheld) == WITHHELD
    assert withheld_rows(1883, 400, 0) != withheld_rows(1883, 400, 1)


def test_figures_are_written_in_the_common_form(figures: Figures, tmp_path: Path) -> None:
    figures.write(tmp_path / "f.json")
    said = json.loads((tmp_path / "f.json").read_bytes())
    assert set(said) == {"experiment", "settings", "rows", "tests"} and said["experiment"] == "demo"
    keys = {"method", "features", "protocol", "subset", "direction", "at", "measure", "value",
            "spread", "n", "paper"}  # fmt: skip
    assert all(set(r) == keys for r in said["rows"])
    assert all(set(t) == {"a", "b", "measure", "p"} for t in said["tests"])
    assert Figures.read(tmp_path / "f.json").as_json() == figures.as_json()
    nan = Figures("x", {}, [Figure("a", "AvgP", float("nan"))])
    assert nan.as_json()["rows"][0]["value"] is None  # type: ignore[index, call-overload]


def test_unchanged_figures_are_not_measured_again(
    figures: Figures, truth: Dataset, tmp_path: Path
) -> None:
    file = tmp_path / "f.json"
    assert demo.measured_before(file, truth) is None
    figures.write(file)
    assert demo.measured_before(file, truth) is not None
    assert demo.measured_before(file, truth.only(np.arange(N) > 3)) is None
    file.write_text("{")
    assert demo.measured_before(file, truth) is None


def test_the_table_names_every_method(figures: Figures) -> None:
    text = "\n".join(demo.lines(figures))
    for part in ("PAMIR", "kernel ridge", "random", "deep", "classic", "±", "p against random"):
        assert part in text


def test_the_demo_collection_withholds_words(tmp_path: Path) -> None:
    built = build_demo(tmp_path, WITHHELD)
    kept = built.words.read_text(encoding="utf-8").splitlines()[1:]
    hidden = built.withheld.read_text(encoding="utf-8").splitlines()[1:]
    assert (built.n_pictures, len(kept), len(hidden)) == (1883, 1483, 400)
    assert not {x.split(",")[0] for x in kept} & {x.split(",")[0] for x in hidden}
    before = built.words.stat().st_mtime_ns
    assert build_demo(tmp_path, WITHHELD).words.stat().st_mtime_ns == before
