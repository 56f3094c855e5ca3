"""The real command with its real workers, killed at random moments."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from sightline.collection import Collection
from tests.photos import make_photos


def children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(p) for p in text.split()]


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_index_killed_at_random_moments_goes_on(tmp_path: Path) -> None:
    photos, store = make_photos(tmp_path / "photos", 150), tmp_path / "store"
    where = ["-C", str(photos), "--store", str(store), "--workers", "2", "--wait", "20"]
    chance = random.Random(3)
    killed = 0
    for _ in range(8):
        run = subprocess.Popen(
            [sys.executable, "-m", "sightline", "index", *where],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=chance.uniform(0.05, 0.9))
        workers = children_of(run.pid)
        run.send_signal(signal.SIGKILL)
        killed += run.wait() == -signal.SIGKILL
        for pid in workers:
            # The kernel ends them with their parent; a bounded look is enough.
            for _ in range(10_000):
                if gone(pid):
                    break
                os.sched_yield()
            assert gone(pid)
    assert killed >= 3
    c = Collection.open(photos, store=store, workers=2)
    assert c.index().indexed == 150
    assert c.verify().sound and c.verify().sealed
