"""The real command with its real workers, killed at random moments."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from sightline.collection import Collection
from tests.factories.photos import make_photos
from tests.waiting import until_ended

# The command, which ends at its n-th call of a function of ours as if by a power cut. It makes
# some 23,000 of them for these pictures.
CUT_SHORT = """
import os, signal, sys
from sightline.cli import main
left, ours = int(sys.argv[1]), os.sep + "sightline" + os.sep
def count(frame, event, argument):
    global left
    left -= event == "call" and ours in frame.f_code.co_filename
    if left == 0:
        with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as children:
            print(children.read(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(count)
main(sys.argv[2:])
"""


def test_index_killed_at_random_moments_goes_on(tmp_path: Path) -> None:
    photos, store = make_photos(tmp_path / "photos", 150), tmp_path / "store"
    where = ["-C", str(photos), "--store", str(store), "--workers", "2", "--wait", "20"]
    chance = random.Random(3)
    killed = 0
    for _ in range(8):
        cut_short = [sys.executable, "-c", CUT_SHORT, str(chance.randrange(300, 23_000))]
        run = subprocess.run(
            [*cut_short, "index", *where], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if run.returncode == -signal.SIGKILL:
            killed += 1
            # The kernel ends its workers with it.
            until_ended(*map(int, run.stdout.split()))
        else:
            assert run.returncode == 0
    assert killed >= 3
    c = Collection.open(photos, store=store, workers=2)
    assert c.index().indexed == 150
    assert c.store.verify().sound and c.store.verify().sealed
