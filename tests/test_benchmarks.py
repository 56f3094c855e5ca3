"""The benchmarks run, say what they promise, and are documented; their figures are not judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.bench import QUICK, Bench, Sizes
from benchmarks.pictures import real_or_synthetic
from benchmarks.rows import BenchmarkError, Goal, alone, compared, table
from benchmarks.runner import SUBJECTS, report, run, subject

DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
TINY = Sizes(repetitions=1, starts=1, worded=300, vocabulary=200)
KEYS = {
    "name", "value", "unit", "baseline", "baseline_value", "rival", "rival_value", "ratio",
    "goal", "met", "repetitions", "samples", "note",
}  # fmt: skip


def test_a_tiny_run_gives_rows_that_can_be_kept_as_json(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TINY)
    rows = run(["start-up"], bench)
    outcome = json.loads(json.dumps(report(rows, bench, quick=True)))
    assert set(outcome) == {"quick", "machine", "rows"}
    assert {"cpu", "cores", "libraries", "commit", "file_system"} <= set(outcome["machine"])
    assert [r["name"] for r in outcome["rows"]] == list(subject("start-up").ROWS)
    for r in outcome["rows"]:
        assert set(r) == KEYS
        assert r["value"] > 0 and r["repetitions"] == len(r["samples"]["ours"]) == 1
    assert all(r.name in table(rows) for r in rows)


def test_sessions_and_their_log_are_measured(tmp_path: Path) -> None:
    sizes = Sizes(repetitions=1, worded=400, queries=(300,))
    rows = {r.name: r for r in run(["feedback-session", "replay"], Bench(tmp_path, sizes))}
    p95, read = rows["feedback-session/p95"], rows["feedback-session/read"]
    assert p95.value >= read.value > 0 and len(read.samples["ours"]) == 3
    assert rows["replay/judgements"].value > 0 and rows["replay/events-a-second"].value > 100


def test_a_sentence_is_measured_against_its_words(tmp_path: Path) -> None:
    sizes = Sizes(repetitions=1, sentences=(120, 240))
    rows = run(["sentence-query"], Bench(tmp_path, sizes))
    assert [r.name for r in rows] == list(subject("sentence-query").ROWS)
    assert all(r.ratio is not None and r.ratio > 0 for r in rows)
    # What is asked of one store is asked in turn: both rows have the same samples.
    assert rows[0].samples["ours"] == rows[1].samples["ours"]


def test_tags_of_regions_are_measured_against_general_solvers(tmp_path: Path) -> None:
    rows = {r.name: r for r in run(["region-inference"], Bench(tmp_path, TINY))}
    assert set(rows) == set(subject("region-inference").ROWS)
    assert all(r.value > 0 and r.ratio is not None for r in rows.values())
    assert "fractional in" in rows["region-inference/exact"].note


def test_without_a_browser_the_page_is_not_measured_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIGHTLINE_BROWSER", "no-such-browser")
    rows = run(["page"], Bench(tmp_path, TINY))
    assert all("apt-get install chromium" in r.note and r.met is None for r in rows)


def test_names_are_unique_and_documented() -> None:
    subjects = [subject(name) for name in SUBJECTS]
    assert [s.NAME for s in subjects] == list(SUBJECTS)
    names = [row for s in subjects for row in s.ROWS]
    assert len(set(names)) == len(names)
    assert all(row.startswith(f"{s.NAME}/") for s in subjects for row in s.ROWS)
    text = DOCUMENT.read_text(encoding="utf-8")
    missing = [n for n in (*SUBJECTS, *names) if f"`{n}`" not in text]
    assert not missing


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no benchmark 'speed'"):
        run(["speed"], Bench(tmp_path, TINY))


def test_a_ratio_is_the_median_of_pairs_and_a_goal_is_judged_by_it() -> None:
    row = compared("a/b", "s", [1.0, 4.0, 3.0], "baseline", [2.0, 2.0, 2.0], Goal("ratio", 1.4))
    assert (row.value, row.baseline_value, row.ratio, row.met) == (3.0, 2.0, 1.5, False)
    assert alone("a/c", "s", [1.0], Goal("value", 1.0)).met is True
    assert alone("a/d", "s", [1.0]).met is None


def test_data_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"neither caltech101.zip"):
        real_or_synthetic(Bench(tmp_path, QUICK, tmp_path / "nothing"))
