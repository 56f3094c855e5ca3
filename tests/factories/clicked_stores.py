"""A small store, and click logs imported into it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from sightline.collection.clicks.deduplication import distinct_impressions
from sightline.collection.clicks.labels import FromClicks, from_clicks
from sightline.collection.clicks.log_import import ClicksReport, import_clicks
from sightline.progress import NoProgress
from sightline.records import ClickedList
from sightline.store.events import EventLog, NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Judging
from tests.factories.planted_stores import plant

ROOT = b"/nowhere/photos"


def eight_pictures(folder: Path) -> StoreFolder:
    """Return a store of eight pictures, 0000.jpg to 0007.jpg, with ids 1 to 8."""
    rows = np.eye(8, dtype=np.float32)
    words = [["tree"], ["tree"], ["tree"], ["sea"], ["sea"], ["sea"], [], []]
    return plant(folder / "store", words, {"own": rows})


def import_logs(
    store_folder: StoreFolder, *paths: str, eta: float | None = None, dry_run: bool = False
) -> ClicksReport:
    return import_clicks(store_folder, ROOT, paths, eta, dry_run, NoProgress())


def impressions_of(store_folder: StoreFolder) -> list[ClickedList]:
    with contextlib.closing(EventLog(store_folder.events, write=False)) as log:
        return distinct_impressions(log)


def revert(store_folder: StoreFolder, session: str) -> None:
    with Judging(store_folder) as judging:
        judging.append([NewEvent("session-reverted", body={"session": session})])


def labels_from_clicks(store_folder: StoreFolder) -> FromClicks:
    with store_folder.reader() as reader:
        return from_clicks(impressions_of(store_folder), reader.snapshot)
