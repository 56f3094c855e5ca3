"""`--compute`: the same command and the same outcome on a cluster, and Ctrl-C on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.factories.photos import paint
from tests.factories.ray_clusters import TwoNodes, needs_ray
from tests.waiting import LIMIT


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "sightline", *args]


def test_what_computes_is_a_setting_with_an_origin(tmp_path: Path) -> None:
    env = {**os.environ, "SIGHTLINE_COMPUTE": "10.0.0.1:6379"}
    done = subprocess.run(command("doctor"), capture_output=True, text=True, env=env, check=True)
    (line,) = [row for row in done.stdout.splitlines() if row.startswith("  compute")]
    assert line.split() == ["compute", "10.0.0.1:6379", "SIGHTLINE_COMPUTE"]
    env["SIGHTLINE_COMPUTE"] = "elsewhere"
    done = subprocess.run(command("doctor"), capture_output=True, text=True, env=env)
    assert (
        done.returncode == 2 and "must be local, ray, HOST:PORT or ray://HOST:PORT" in done.stderr
    )


def test_shards_of_what_has_none_are_refused(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 3, True, 0)
    where = (str(photos), "--store", str(tmp_path / "store"))
    subprocess.run(command("index", *where, "--workers", "1"), capture_output=True, check=True)
    for more in (["--similar"], ["--regions"], ["--ranker", "ridge"]):
        given = command("train", *where[1:], "--shards", "2", *more)
        done = subprocess.run(given, capture_output=True, text=True)
        assert (
            done.returncode == 2
            and "--shards is an option of training words, by pamir" in done.stderr
        )


@needs_ray
def test_a_command_on_a_cluster_prints_what_it_prints_here(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    paint(photos, 60, True, 0)
    said = {}
    for where in ("local", cluster.address):
        store = str(tmp_path / where.replace(":", "-"))
        env = {**os.environ, "SIGHTLINE_COMPUTE": where, "OPENBLAS_NUM_THREADS": "1"}
        for verb in (["index", str(photos), "--features", "color"], ["train", "--ranker", "ridge"]):
            done = subprocess.run(
                command(*verb, "--store", store, "--json"),
                capture_output=True, text=True, env=env, check=True,
            )  # fmt: skip
            told = json.loads(done.stdout)
            for changing in ("seconds", "tried", "trials", "table", "model"):
                told.pop(changing, None)
            said[where, verb[0]] = told
            assert (f"computing on the Ray cluster at {where}" in done.stderr) == (where != "local")
    assert said["local", "index"] == said[cluster.address, "index"]
    assert said["local", "train"] == said[cluster.address, "train"]


@needs_ray
def test_an_interrupt_ends_the_command_and_a_second_run_goes_on(
    tmp_path: Path, cluster: TwoNodes
) -> None:
    photos, store = tmp_path / "photos", str(tmp_path / "store")
    photos.mkdir()
    paint(photos, 1200, True, 0)
    verb = command("index", str(photos), "--store", store, "--compute", cluster.address)
    running = subprocess.Popen(
        verb, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        # Whatever runs the tests may have interrupts ignored, which commands inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert running.stderr is not None
    assert "computing on" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    told = running.stderr.read()
    running.stderr.close()
    assert running.wait(LIMIT) == 130 and "Traceback" not in told, told
    done = subprocess.run(verb, capture_output=True, text=True, check=True)
    assert "1200 seen = 1200 indexed + 0 skipped" in done.stdout
