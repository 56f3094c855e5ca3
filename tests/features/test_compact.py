"""Compact vectors: the contract, a naive twin, and stores that hold nothing else of a network."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import load_file, save_file

from sightline import plugins
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.contracts import FittedFeature
from sightline.errors import DataError, MissingExtra, UsageError
from sightline.features.deep import outputs, session
from sightline.features.deep.compact import CompactVector, principal_directions
from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepVector
from sightline.registry import session_preference
from sightline.testing import check_feature
from sightline.vectors import Fingerprint
from tests.factories.photos import COLOURS, make_photos, paint, patches
from tests.naive import compact as naive

Floats = NDArray[np.float32]

PARTS = (DeepVector(), DeepStages(), DeepPeaks())


class Small(CompactVector):
    """Few directions of few pictures."""

    n_directions = 4
    least_pictures = 8
    most_pictures = 10


PICTURES = [patches(seed) for seed in range(12)]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Floats]:
    return Small.fit(PICTURES[:10], seed=1)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `compact` be fitted to as few pictures as a test has."""
    monkeypatch.setattr(CompactVector, "n_directions", 4)
    monkeypatch.setattr(CompactVector, "least_pictures", 12)


def test_it_keeps_the_contract(fitted: dict[str, Floats]) -> None:
    feature = Small(fitted)
    assert isinstance(feature, FittedFeature)
    check_feature(feature)
    assert plugins.load("features", "compact") is CompactVector


def test_each_feature_has_256_numbers_and_the_same_weight() -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Floats] = {}
    for part in PARTS:
        arrays[f"{part.name}_mean"] = np.zeros(part.length, np.float32)
        arrays[f"{part.name}_directions"] = rng.standard_normal((part.length, 256), np.float32)
    assert CompactVector.n_directions == 256
    feature = CompactVector(arrays)
    row = feature.describe(PICTURES[0])
    assert feature.length == len(row) == 768
    assert row.dtype == np.float32
    for part_of_row in np.split(row, 3):
        assert np.linalg.norm(part_of_row) == pytest.approx(3**-0.5, abs=1e-5)


def test_cosines_equal_those_of_the_naive_twin(fitted: dict[str, Floats]) -> None:
    feature = Small(fitted)
    rows = [np.stack([part.describe(p) for p in PICTURES]) for part in PARTS]
    for a, b in ((0, 1), (3, 11), (10, 11)):
        expected = naive.cosine(
            [r[:10] for r in rows], [r[a] for r in rows], [r[b] for r in rows], 4
        )
        cosine = float(feature.describe(PICTURES[a]) @ feature.describe(PICTURES[b]))
        assert cosine == pytest.approx(expected, abs=1e-3)


def test_made_rows_are_turned_as_by_the_naive_twin() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((300, 6)) @ rng.normal(0, 2, (6, 6)) + 7).astype(np.float32)
    mean, directions = principal_directions(rows, 3)
    assert directions.shape == (6, 3) and mean.dtype == directions.dtype == np.float32
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=1e-5)
    points = (rows[:2] - mean) @ directions
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    expected = naive.reduced(rows, rows[0], 3) @ naive.reduced(rows, rows[1], 3)
    assert float(points[0] @ points[1]) == pytest.approx(float(expected), abs=1e-4)


def test_too_few_pictures_are_refused() -> None:
    with pytest.raises(DataError, match=r"at least 512 pictures\. Got 12\. Use the features deep,"):
        CompactVector.fit(PICTURES)


def test_directions_are_those_of_a_seeded_sample(fitted: dict[str, Floats]) -> None:
    again = Small.fit([p.copy() for p in PICTURES[:10]], seed=2)
    assert {k: a.tobytes() for k, a in again.items()} == {k: a.tobytes() for k, a in fitted.items()}
    one, same, other = (Small.fit(PICTURES, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one["deep_mean"], same["deep_mean"])
    assert not np.array_equal(one["deep_mean"], other["deep_mean"])


def test_it_is_made_again_from_its_arrays_alone(fitted: dict[str, Floats], tmp_path: Path) -> None:
    file = tmp_path / "arrays.safetensors"
    save_file(fitted, file)
    one, again = Small(fitted), Small(load_file(file))
    assert np.array_equal(one.describe(PICTURES[3]), again.describe(PICTURES[3].copy()))
    assert one.parameters == again.parameters
    changed = {**fitted, "deep_mean": fitted["deep_mean"] + 1}
    assert Small(changed).parameters != one.parameters
    with pytest.raises(DataError, match="lack deep-stages_mean"):
        Small({k: a for k, a in fitted.items() if k != "deep-stages_mean"})


def test_a_picture_takes_one_pass_of_the_network(
    fitted: dict[str, Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[int] = []
    run = session.run

    def counted(*args: object) -> object:
        passes.append(1)
        return run(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "run", counted)
    outputs._recent.clear()
    Small(fitted).describe(PICTURES[0])
    assert len(passes) == 1
    outputs._recent.clear()
    Small.fit(PICTURES[:9])
    assert len(passes) == 10


def test_a_missing_network_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(session, "is_available", lambda network: False)
    c = Collection.open(make_photos(tmp_path / "photos", 2), store=tmp_path / "store")
    with pytest.raises(MissingExtra, match=r"sightline\[deep\]"):
        c.index(features=["compact"], compute=InlineCompute())


def test_full_deep_features_come_first_in_sessions() -> None:
    assert session_preference("deep") < session_preference("compact") < session_preference("fisher")


def stored_features(c: Collection) -> dict[str, int]:
    """Return the features of a store with their number of values."""
    with c.store_folder.reader() as reader:
        files = [s.features for s in reader.snapshot.segments]
        return {Fingerprint.parse(f).name: rows.shape[1] for s in files for f, rows in s.items()}


def painted(folder: Path, n: int) -> Path:
    folder.mkdir()
    paint(folder, n, True, 0)
    return folder


@pytest.mark.usefixtures("few")
def test_an_index_stores_no_row_of_the_features_that_are_reduced(tmp_path: Path) -> None:
    c = Collection.open(painted(tmp_path / "photos", 40), store=tmp_path / "store")
    report = c.index(features=["compact"], compute=InlineCompute())
    assert (report.indexed, report.problems) == (40, ())
    assert stored_features(c) == {"compact": 12}


@pytest.mark.usefixtures("few")
def test_a_collection_is_learned_searched_and_judged_by_it_alone(tmp_path: Path) -> None:
    c = Collection.open(painted(tmp_path / "photos", 60), store=tmp_path / "store")
    c.index(features=["compact"], compute=InlineCompute())
    report = c.train(compute=InlineCompute())
    assert report.version and "compact" in report.recipe
    paint(Path(os.fsdecode(c.root)), 2, False, 3, start=60)
    c.index(compute=InlineCompute())
    assert stored_features(c) == {"compact": 12}
    # The first of the two is red, and no word says so.
    hits = {h.path: h for h in c.search("red", 30, cut=False).hits}
    assert hits[b"060_x.png"].match == "predicted"
    (why,) = c.explain("red", 1, hits=[hits[b"060_x.png"]], compute=InlineCompute())
    assert why.problem == ""
    red = {f"{i:03d}_x.png".encode() for i in range(0, 66, 6)}
    assert {h.path for h in c.similar(1, k=8).hits} <= red
    outside = tmp_path / "outside.png"
    Image.new("RGB", (40, 30), COLOURS["red"]).save(outside)
    assert {h.path for h in c.similar(str(outside), k=8, compute=InlineCompute()).hits} <= red
    session = c.judge(pictures=1)
    session.mark(positive=[7, 13], negative=[2, 3])
    assert {h.path for h in session.next(6)} <= red
    assert c.duplicates().groups


def test_too_few_pictures_are_indexed_without_it_until_there_are_enough(tmp_path: Path) -> None:
    folder = painted(tmp_path / "photos", 10)
    c = Collection.open(folder, store=tmp_path / "store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompactVector, "n_directions", 4)
        patch.setattr(CompactVector, "least_pictures", 12)
        report = c.index(features=["color", "compact"], compute=InlineCompute())
        assert (report.indexed, len(report.problems)) == (10, 1)
        assert report.problems[0] == (
            "compact is not computed: it is fitted to at least 12 pictures, and 10 can be read for "
            "it. Add pictures and index again, or compute one that is not fitted: "
            "sightline index --features deep"
        )
        assert stored_features(c) == {"color": 81}
        with pytest.raises(UsageError, match="compact"):
            c.train(features=["compact"], compute=InlineCompute())
        # Two more are there, of which one cannot be read.
        paint(folder, 1, True, 1, start=10)
        (folder / "broken.png").write_bytes(b"no picture")
        (problem,) = c.index(compute=InlineCompute()).problems
        assert problem.startswith("compact is not computed: ") and "and 11 can be read" in problem
        paint(folder, 1, True, 1, start=11)
        report = c.index(compute=InlineCompute())
        assert (report.added, report.described, report.problems) == (1, 11, ())
        assert stored_features(c) == {"color": 81, "compact": 12}


@pytest.mark.usefixtures("few")
def test_a_refit_computes_it_for_every_picture(tmp_path: Path) -> None:
    folder = painted(tmp_path / "photos", 20)
    c = Collection.open(folder, store=tmp_path / "store")
    c.index(features=["compact"], compute=InlineCompute())
    paint(folder, 6, True, 1, start=20)
    assert c.index(compute=InlineCompute()).added == 6
    assert c.index(refit=True, compute=InlineCompute()).described == 26
    with c.store_folder.reader() as reader:
        prints = {f for s in reader.snapshot.segments for f in s.features}
    assert len(prints) == 1, "no row of the former directions is left"
