"""Paper C's method on a small Corel5K: what is swept, chosen, measured, read and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.compute.inline import InlineCompute
from sightline.progress import NoProgress
from sightline_experiments.cache import temporary
from sightline_experiments.datasets.corel5k import Row
from sightline_experiments.lscmr import corel, report
from sightline_experiments.lscmr.corel import Swept, sweep
from sightline_experiments.lscmr.paper import PICTURE, TEXT
from sightline_experiments.lscmr.plan import CorelPlan
from sightline_experiments.lscmr.report import draw_curves
from sightline_experiments.lscmr.results import LscmrResults, figures_of
from tests.factories.corel5k import N_TEST, WORDS, load_made

PLAN = CorelPlan(("classic-strict",), (1, 2, 4), (0.01, 0.1), 20, 10, 20)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> list[Swept]:
    c = load_made(tmp_path_factory.mktemp("corel"))
    with pytest.MonkeyPatch.context() as patch, temporary() as cache:
        patch.setattr(corel, "VIEWS", {"classic-strict": ("b32_k20", "tfidf")})
        patch.setattr(corel, "_DISC", 25)
        return sweep(c, PLAN, InlineCompute(), cache, NoProgress())


def test_every_relevance_and_direction_is_swept_and_measured_at_its_best(
    swept: list[Swept],
) -> None:
    said = [(s.relevance, s.direction) for s in swept]
    assert said == [(r, d) for r in ("disc", "word") for d in (PICTURE, TEXT)]
    for s in swept:
        assert [k for k, _ in s.points] == [1, 2, 4] and s.lam in PLAN.lams
        assert dict(s.points)[s.at] == max(value for _, value in s.points)
        assert s.n == N_TEST and 0 < s.at_50 <= 1
    # Colours tell the words; discs are drawn without regard to them.
    by = {(s.relevance, s.direction): s.avgp for s in swept}
    assert by["word", TEXT] > 0.75 and by["word", PICTURE] > 0.75


def test_words_are_read_of_text_queries_alone(swept: list[Swept]) -> None:
    for s in swept:
        assert bool(s.topics) == (s.direction == TEXT)
        assert len(s.topics) == (s.at if s.topics else 0)
        for high, low in s.topics:
            assert set(high) | set(low) <= set(WORDS) and high == low[::-1]
        assert all(word not in near for word, near in s.near.items())


def test_idf_is_that_of_training_pictures_and_unknown_words_say_nothing() -> None:
    rows = [Row(1, (0, 1)), Row(2, (0,))]
    assert corel._idf(rows, 3) == pytest.approx([0, np.log(2), 0])
    side = corel._side(rows, np.array([1.0, 1.0, 1.0]), np.eye(2))
    assert side.relevant["word"].all() and np.linalg.norm(side.texts, axis=1) == pytest.approx(1)


def test_what_was_swept_is_printed_drawn_and_written(swept: list[Swept], tmp_path: Path) -> None:
    found = LscmrResults({}, classes=("a",), swept=swept)
    text = "\n".join(report.lines(found))
    assert "Corel5K: captions and pictures" in text and "near " in text
    figures = figures_of(found)
    (row,) = figures.find(measure="MAP", subset="all", protocol="Corel5K by word", direction=TEXT)
    assert row.value == swept[3].avgp and row.at == swept[3].at
    assert len(figures.find(subset="validation", protocol="Corel5K by disc")) == 6
    pytest.importorskip("matplotlib")
    names = [f.name for f in draw_curves(found, tmp_path)]
    assert names == ["dimensions-corel5k-disc.png", "dimensions-corel5k-word.png"]
