"""Clicks on rankings that other programs show: import of logs, live events, and their labels.

Both kinds of import write impressions and clicks to the event log, where each counts once
(`deduplication`); `labels` turns them into judgements for training.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from sightline.errors import UsageError
from sightline.progress import NoProgress

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.clicks.live import LiveClick, LiveRanking, LiveReport
    from sightline.collection.clicks.log_import import ClicksReport
    from sightline.contracts import Progress


class Clicks:
    """The clicks of a collection: `Collection.clicks`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def import_logs(
        self,
        *files: str | os.PathLike[str],
        eta: float | Literal["auto"] = "auto",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ClicksReport:
        """Import impressions and clicks from the logs of another program, to train on.

        Impressions that were imported before are skipped. Each file is a session, which can be
        reverted.

        Parameters
        ----------
        *files : str or path
            Logs in UBI 1.3 JSON or Metarank's JSON lines, read as one: queries may be in one file
            and events in another. Pictures are named by path, file name or id.
        eta : float or "auto"
            Strength of position bias: a picture at rank k is examined with probability (1/k)^eta.
            "auto" estimates it from pictures shown at several ranks for the same query.
        dry_run : bool
            Read and estimate, and keep nothing.
        progress : Progress, optional
            Shows how far it is.
        """
        from sightline.collection.clicks.log_import import import_clicks

        if not files:
            raise UsageError("No file is named. Name the click log, or all files it lies in.")
        paths = [os.path.abspath(os.fspath(f)) for f in files]
        fixed, c = None if eta == "auto" else eta, self._collection
        return import_clicks(
            c.store_folder, c.root, paths, fixed, dry_run, progress or NoProgress()
        )

    def record(
        self, rankings: Sequence[LiveRanking], clicks: Sequence[LiveClick] = ()
    ) -> LiveReport:
        """Record rankings that another program shows, and clicks on them when they happen.

        A click may cite a ranking that any process recorded before; if one cites none, nothing is
        written and the report names it. Each ranking is a session, which can be reverted.
        """
        from sightline.collection.clicks.live import record_events

        return record_events(self._collection.store_folder, rankings, clicks)
