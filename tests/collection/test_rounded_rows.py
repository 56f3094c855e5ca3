"""Similar pictures and session rounds of a server: ranked by rounded rows, as by the full scan."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.stores import publish
from sightline.collection import Collection, Filters
from sightline.collection.results import Results
from sightline.records import FeatureRows
from sightline.store.engines import flat, quantised
from sightline.store.engines.quantised import Quantised
from sightline.store.folder import StoreFolder
from sightline.store.matrices import Matrix
from sightline.store.writer import Change, Writer
from sightline.web.warming import warm_first

N, LENGTHS = 12_000, (24, 40)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of many empty files with two features around 30 centres."""
    folder = tmp_path_factory.mktemp("rounded")
    random = np.random.default_rng(0)
    with Writer(StoreFolder(folder / "store"), "test") as writer:
        for first in (0, N // 2):
            which = random.integers(0, 30, N // 2)
            rows = []
            for d in LENGTHS:
                centres = np.random.default_rng(d).standard_normal((30, d))
                noisy = centres[which] + 0.7 * random.standard_normal((N // 2, d))
                rows.append(FeatureRows(f"made{d}-000000000000", noisy.astype(np.float32)))
            words = [[f"cluster{k}"] if k % 2 else [] for k in which.tolist()]
            publish(writer, folder / "pictures", first, words, tuple(rows))
        writer.note(Change(meta=[("root", str(folder / "pictures"))]))
        writer.publish(Change(), finished=True)
    return folder


def opened(place: Path, rounded: bool) -> Collection:
    c = Collection.open(place / "pictures", store=place / "store")
    c.store_folder.fast = rounded
    c.store_folder._quantised = Quantised(1 << 30, 0)
    return c


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Yield the numbers of rows that are read at once, where it is many."""
    many: list[int] = []
    scores = flat._scores

    def counted(matrix: Matrix, *rest: object) -> object:
        if len(matrix) > N // 4:
            many.append(len(matrix))
        return scores(matrix, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(flat, "_scores", counted)
    yield many


def check_same(one: list[Results], other: list[Results]) -> None:
    """Check that hits are the same, with scores that differ by rounding alone."""
    assert [[h.picture for h in r] for r in one] == [[h.picture for h in r] for r in other]
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose([h.score for h in a], [h.score for h in b], atol=2e-6)


def test_similar_pictures_are_those_of_the_scan(place: Path, scans: list[int]) -> None:
    found: list[list[Results]] = []
    for rounded in (False, True):
        c = opened(place, rounded)
        scans.clear()
        found.append(
            [
                c.similar(picture, k=20, filters=filters)
                for filters in (Filters(), Filters(untagged=True))
                for picture in (1, 77, 2_999)
            ]
        )
        assert bool(scans) != rounded
    check_same(*found)


def test_rounds_of_a_session_are_those_of_the_scan(place: Path, scans: list[int]) -> None:
    found: list[list[Results]] = []
    for rounded in (False, True):
        with opened(place, rounded).judge(positive=[5]) as session:
            plain = session.supposing(k=30)
            scans.clear()
            found.append([plain, session.supposing([7, 9], [20, 21], 30)])
            assert bool(scans) != rounded
    check_same(*found)


@pytest.fixture(scope="module")
def trained(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy with a word model, by which words rank every picture."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(place, folder, dirs_exist_ok=True)
    opened(folder, False).train(rankers=["cca"], force=True)
    return folder


@pytest.mark.parametrize("filters", [Filters(), Filters(untagged=True)])
def test_rounds_that_began_with_words_are_those_of_the_scan(
    trained: Path, scans: list[int], filters: Filters
) -> None:
    found: list[list[Results]] = []
    for rounded in (False, True):
        with opened(trained, rounded).judge("cluster3", filters=filters) as session:
            shown = session.supposing(k=30)
            fit, unfit = ([h.picture for h in shown][i::5] for i in (0, 1))
            scans.clear()
            rounds = [session.supposing(fit, unfit, k) for k in (30, 60)]
            found.append([shown, *rounds])
            # Without the filter something is learned, so that scores are sums.
            assert rounds[0].share < 1 or filters.untagged
            assert not (scans and rounded)
    check_same(*found)


def test_a_warmed_server_has_rounded_what_similar_needs(
    place: Path, scans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantised, "ROUNDED_AT_ONCE", 1)
    monkeypatch.setattr(quantised, "LEAST_NUMBERS", 0)
    c = opened(place, True)
    warm_first(c)
    scans.clear()
    assert len(c.similar(77, k=20)) == 20
    assert not scans


def test_what_needs_every_position_scores_every_picture(place: Path, scans: list[int]) -> None:
    with opened(place, True).judge(positive=[5]) as session:
        scans.clear()
        assert len(session.propose(5)) == 5
        assert scans
