"""Features of files outside the store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.collection import Collection, extraction
from sightline.collection.extraction import Extractor, feature_class_paths
from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job, SerialMapper, WorkerKind
from sightline.errors import DataError
from sightline.pictures.reading import ReadLimits
from sightline.settings import Settings
from tests.factories.servers import painted


class Counted(SerialMapper):
    """Computes in this process, and counts how often it was closed."""

    opened: list[Counted]
    fails = False

    def __init__(self, workers: int = 1, *, seconds: float = 10.0) -> None:
        self.workers, self.seconds, self.closed = workers, seconds, 0
        self._inline = InlineCompute()
        self.opened.append(self)

    def run(self, task: str, jobs: Iterable[Job], kind: WorkerKind) -> Iterator[Done | Failed]:
        if self.fails:
            raise OSError("no more processes")
        return self._inline.run(task, jobs, kind)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    monkeypatch.setattr(Counted, "opened", [], raising=False)
    monkeypatch.setattr(extraction, "LocalCompute", Counted)
    return Counted.opened


@pytest.fixture(scope="module")
def c(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return painted(tmp_path_factory.mktemp("extraction"), train=False)


def test_it_closes_the_workers_it_started(c: Collection, started: list[Counted]) -> None:
    with Extractor(Settings(seconds=3.0), workers=2) as extractor:
        assert list(extractor.pixels(c.root, [])) == []
    (own,) = started
    assert (own.workers, own.seconds, own.closed) == (2, 3.0, 1)


@pytest.mark.parametrize("fails", [False, True], ids=["a bad file", "no worker"])
def test_it_closes_its_workers_also_on_failure(
    c: Collection,
    tmp_path: Path,
    started: list[Counted],
    monkeypatch: pytest.MonkeyPatch,
    fails: bool,
) -> None:
    monkeypatch.setattr(Counted, "fails", fails)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with c.store_folder.reader() as reader, pytest.raises(OSError if fails else DataError):
        features = sorted({f for s in reader.snapshot.segments for f in s.features})
        with Extractor(Settings()) as extractor:
            extractor.describe(reader, [os.fsencode(tmp_path / "broken.png")], features, [0])
    assert [own.closed for own in started] == [1]


def test_it_does_not_close_workers_that_it_was_given(started: list[Counted]) -> None:
    lent = Counted()
    with Extractor(Settings(), lent) as extractor:
        assert extractor.compute is lent
    assert lent.closed == 0 and started == [lent]


def test_a_file_outside_gets_the_vector_that_index_would_store(c: Collection) -> None:
    with c.store_folder.reader() as reader:
        ids = reader.snapshot.ids()[:2]
        (feature, *_) = sorted({f for s in reader.snapshot.segments for f in s.features})
        stored = reader.snapshot.rows(feature, ids)
        facts = reader.catalogue.facts(ids.tolist())
        files = [os.path.join(c.root, facts[i].path) for i in ids.tolist()]
        with Extractor(Settings(), InlineCompute()) as extractor:
            found = extractor.describe(reader, files, [feature, "gone-00"], [0, 5])
    np.testing.assert_array_equal(found.views[0], stored.rows)  # type: ignore[union-attr]
    assert found.have.tolist() == [[True, False]] * 2
    assert found.views[1].shape == (2, 5) and not found.views[1].any()


def test_a_feature_that_cannot_be_computed_has_no_place(c: Collection) -> None:
    with c.store_folder.reader() as reader:
        (feature, *_) = sorted({f for s in reader.snapshot.segments for f in s.features})
        places = feature_class_paths(reader, [feature, "color-000000000000", "nothing-1"], 384)
        other_size = feature_class_paths(reader, [feature], 64)
    assert places[feature] and not places["color-000000000000"] and not places["nothing-1"]
    assert other_size == {feature: ""}


def test_pictures_come_in_order_and_failures_with_a_reason(tmp_path: Path) -> None:
    Image.new("RGB", (30, 20), "red").save(tmp_path / "red.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with Extractor(Settings(), InlineCompute()) as extractor:
        bad, good = extractor.pixels(os.fsencode(tmp_path), [b"broken.png", b"red.png"])
    assert bad.rgb is None and bad.failure
    assert good.rgb is not None and good.rgb.shape == (20, 30, 3) and not good.failure


def test_limits_are_those_of_the_settings() -> None:
    s = Settings(working_size=64, max_megapixels=2.0, max_file_mb=1.5, follow=True)
    assert ReadLimits.of(s) == ReadLimits(64, 2.0, 1_500_000, True)
    assert ReadLimits.of(Settings()) == ReadLimits()
