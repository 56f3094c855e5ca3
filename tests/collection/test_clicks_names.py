"""Which pictures a click log means, and which it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer
from tests.factories.click_logs import ubi_event, ubi_query, write_lines
from tests.factories.clicked_stores import eight_pictures, import_logs, impressions_of
from tests.factories.planted_stores import plant


@pytest.fixture
def store_folder(tmp_path: Path) -> StoreFolder:
    return eight_pictures(tmp_path)


def test_pictures_are_found_by_path_name_and_id(store_folder: StoreFolder, tmp_path: Path) -> None:
    names = ["0000.jpg", "/nowhere/photos/0001.jpg", " 0002.jpg", 4, "5", "./0005.jpg"]
    path = write_lines(tmp_path / "log", [ubi_query("1", "Snow", names), ubi_event("1", "5", 5)])
    report = import_logs(store_folder, path)
    (only,) = impressions_of(store_folder)
    assert only.pictures == (1, 2, 3, 4, 5, 6) and only.clicked == {5}
    assert only.ranks == (1, 2, 3, 4, 5, 6) and only.query == "snow"
    assert (report.lists, report.clicks, report.queries, report.pairs) == (1, 1, 1, 4)
    assert report.bias.how == "assumed" and only.eta == 1.0 and not report.skipped


def test_pictures_that_are_not_here_leave_their_places_empty(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    with Writer(store_folder, "test") as writer:
        events = writer.append([NewEvent("picture-gone", 2)])
        writer.publish(Change(events=events, dead=[2]), finished=True)
    shown = ["no.jpg", "0001.jpg", "0002.jpg", "2", "99", "0003.jpg", "0003.jpg "]
    records = [
        ubi_query("1", "sea", shown),
        ubi_event("1", "no.jpg", 1),
        ubi_event("1", "0003.jpg", 6),
    ]
    report = import_logs(store_folder, write_lines(tmp_path / "log", records))
    (only,) = impressions_of(store_folder)
    assert (only.pictures, only.ranks, only.clicked) == ((3, 4), (3, 6), frozenset({4}))
    assert (report.unknown, report.n_unknown) == (("99", "no.jpg"), 2)
    assert (report.gone, report.n_gone) == (("0001.jpg", "2"), 2)
    assert report.skipped == {"click on a picture that is not here": 1}


def test_a_file_name_two_pictures_have_names_neither(tmp_path: Path) -> None:
    store_folder = plant(tmp_path / "store", [["a"], ["b"]], {"own": np.eye(2, dtype=np.float32)})
    with Writer(store_folder, "test") as writer:
        body = {"path": "x/0000.jpg", "sha": "0" * 64, "size": 1, "mtime": 1}
        writer.publish(
            Change(events=writer.append([NewEvent("picture-seen", 2, body)])),  # type: ignore[arg-type]
            finished=True,
        )
    records = [ubi_query("1", "sea", ["0000.jpg", "y/0000.jpg", "1"]), ubi_event("1", "0000.jpg")]
    report = import_logs(store_folder, write_lines(tmp_path / "log", records))
    assert impressions_of(store_folder)[0].pictures == (1,) and report.unknown == ("y/0000.jpg",)


def test_a_click_under_the_second_name_of_a_picture_is_its_click(
    store_folder: StoreFolder, tmp_path: Path
) -> None:
    shown = ["0003.jpg", "0000.jpg", "./0003.jpg", "4"]
    records = [ubi_query("1", "sea", shown), ubi_event("1", "4"), ubi_event("1", shown[2])]
    report = import_logs(store_folder, write_lines(tmp_path / "log", records))
    (only,) = impressions_of(store_folder)
    assert (only.pictures, only.ranks, only.clicked) == ((4, 1), (1, 2), frozenset({4}))
    assert report.clicks == 1 and not report.skipped


def test_a_name_with_a_folder_is_no_other_picture_of_that_name(tmp_path: Path) -> None:
    store_folder = plant(tmp_path / "store", [["a"]] * 3, {"own": np.eye(3, dtype=np.float32)})
    paths = {1: "2019/IMG_1.jpg", 2: "2020/IMG_1.jpg", 3: "2020/IMG_2.jpg"}
    with Writer(store_folder, "test") as writer:
        seen = [
            NewEvent("picture-seen", i, {"path": p, "sha": f"{i}" * 64, "size": 1, "mtime": 1})
            for i, p in paths.items()
        ]
        events = writer.append([*seen, NewEvent("picture-gone", 1)])
        writer.publish(Change(events=events, dead=[1]), finished=True)
    # The last of them is the name of a picture that is here and of one that is gone.
    names = ["2019/IMG_1.jpg", "/nowhere/photos/2019/IMG_1.jpg", "2018/IMG_2.jpg", "IMG_1.jpg"]
    shown = [*names, "IMG_2.jpg", "2020/IMG_1.jpg"]
    records = [ubi_query("1", "sea", shown), *(ubi_event("1", n) for n in shown)]
    report = import_logs(store_folder, write_lines(tmp_path / "log", records))
    (only,) = impressions_of(store_folder)
    assert (only.pictures, only.ranks, only.clicked) == ((3, 2), (5, 6), frozenset({2, 3}))
    assert report.gone == ("/nowhere/photos/2019/IMG_1.jpg", "2019/IMG_1.jpg", "IMG_1.jpg")
    assert report.unknown == ("2018/IMG_2.jpg",)
    assert report.skipped == {"click on a picture that is not here": 4}
