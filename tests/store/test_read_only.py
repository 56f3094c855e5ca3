"""A store on a read-only mount is read with all that was acknowledged."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sightline.store.events import EventLog
from sightline.store.folder import StoreFolder
from sightline.store.upkeep.verify import verify
from sightline.store.writer import Judging
from tests.factories.planted_stores import plant
from tests.factories.small_disks import judge_and_die, judged_event, read_only


def planted(folder: Path) -> StoreFolder:
    return plant(folder / "store", [["tree"]], {"color": np.eye(1, dtype=np.float32)})


def events(store_folder: StoreFolder) -> list[str]:
    log = EventLog(store_folder.events, write=False)
    try:
        return [e.kind for e in log.read()]
    finally:
        log.close()


@pytest.mark.parametrize("left", ["log and index", "log", "neither"])
def test_a_read_only_mount_is_read_with_its_log(tmp_path: Path, left: str) -> None:
    store_folder = planted(tmp_path)
    if left != "neither":
        judge_and_die(store_folder, [judged_event(1), judged_event(1)])
    if left == "log":
        os.unlink(f"{store_folder.events}-shm")
    with read_only(store_folder.path, tmp_path / "mounted") as place:
        mounted = StoreFolder(place)
        assert events(mounted) == ["picture-seen", *["judged"] * (0 if left == "neither" else 2)]
        with mounted.reader() as reader:
            assert reader.snapshot.ids().tolist() == [1]
        assert verify(mounted).problems == ()


def test_a_read_only_mount_of_a_store_that_is_written(tmp_path: Path) -> None:
    store_folder = planted(tmp_path)
    with (
        read_only(store_folder.path, tmp_path / "mounted") as place,
        Judging(store_folder) as judging,
    ):
        for i in range(1, 5):
            judging.append([judged_event(1)])
            assert events(StoreFolder(place)) == ["picture-seen", *["judged"] * i]
