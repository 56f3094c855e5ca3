"""Logs that are exported again: new clicks on known lists count, and no list counts twice."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

from sightline.collection.clicks.labels import known_judgements
from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from tests.factories.click_logs import ubi_event, ubi_query, write_lines
from tests.factories.clicked_stores import (
    eight_pictures,
    import_logs,
    impressions_of,
    labels_from_clicks,
    revert,
)
from tests.factories.planted_stores import plant


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    return eight_pictures(tmp_path)


def exports(tmp_path: Path) -> list[str]:
    """Return a log as it was exported on four days; on the last, clicks of old are left out."""
    shown = [ubi_query("1", "gold", ["7", "8", "6"]), ubi_query("2", "gold", ["8", "7"])]
    days = [[("1", "7")], [("1", "7"), ("2", "7")], [("1", "7"), ("2", "7"), ("1", "8")]]
    return [
        write_lines(tmp_path / f"day{i}", [*shown, *(ubi_event(*c) for c in clicks)])
        for i, clicks in enumerate([*days, [("1", "6")]])
    ]


def test_a_log_exported_again_adds_its_new_clicks_and_no_list_twice(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    days = exports(tmp_path)
    did = [(r.added, r.grown) for r in (import_logs(store_folder, day) for day in days)]
    assert did == [(2, 0), (0, 1), (0, 1), (0, 1)]
    assert {x.pictures: x.clicked for x in impressions_of(store_folder)} == {
        (7, 8, 6): {7, 8, 6},
        (8, 7): {7},
    }
    assert len(impressions_of(store_folder)) == 2 and labels_from_clicks(store_folder).lists == 2
    for day in days:
        again = import_logs(store_folder, day)
        assert (again.added, again.grown, again.written) == (0, 0, ())


def learnt(store_folder: StoreFolder) -> list[tuple[str, int, float]]:
    with (
        store_folder.reader() as reader,
        contextlib.closing(EventLog(store_folder.events, write=False)) as log,
    ):
        both, _ = known_judgements(log, reader.snapshot)
    return [(j.query, j.picture, j.relevance) for j in both]


def test_new_clicks_on_known_lists_reach_what_is_learnt(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    """Two clicks on a picture in two lists say that it fits; one does not."""
    first, second, *_ = exports(tmp_path)
    import_logs(store_folder, first)
    assert not learnt(store_folder)
    import_logs(store_folder, second)
    assert [(query, picture) for query, picture, _ in learnt(store_folder)] == [("gold", 7)]
    once = plant(tmp_path / "once", [["tree"]] * 8, {"own": np.eye(8, dtype=np.float32)})
    import_logs(once, second)
    # Lists that two files have are no more exposure than lists that one has.
    assert learnt(store_folder) == learnt(once)


@pytest.mark.parametrize("reverted", [0, 1, 2])
def test_a_reverted_export_leaves_what_the_others_say(
    store_folder: StoreFolder, tmp_path: Path, reverted: int
) -> None:
    days = exports(tmp_path)[:3]
    sessions = [import_logs(store_folder, day).sessions[0] for day in days]
    revert(store_folder, sessions[reverted])
    # The second day has the list of two pictures, and the third does not write it again.
    left = {
        0: {(7, 8, 6): {7, 8}, (8, 7): {7}},
        1: {(7, 8, 6): {7, 8}, (8, 7): set()},
        2: {(7, 8, 6): {7}, (8, 7): {7}},
    }[reverted]
    assert {x.pictures: x.clicked for x in impressions_of(store_folder)} == left
    again = import_logs(store_folder, days[2])
    assert (again.added, again.grown) == (0, 0 if reverted == 0 else 1)
    assert {x.pictures: x.clicked for x in impressions_of(store_folder)} == {
        (7, 8, 6): {7, 8},
        (8, 7): {7},
    }
