"""A store is its owner's alone: files 0600 and folders 0700, whatever the umask and the folder."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sightline.cli import sightline as cli
from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.errors import UsageError
from sightline.store.folder import StoreFolder
from sightline.store.upkeep import verify as verify_module
from sightline.store.upkeep.permissions import Exposed, describe, exposed, restrict
from sightline.store.upkeep.repair import repair
from sightline.store.upkeep.verify import verify
from tests.factories.photos import make_photos, paint
from tests.factories.planted_stores import plant
from tests.factories.servers import Process
from tests.factories.small_disks import judge_and_die, judged_event

COMMANDS: list[list[str]] = [
    ["index", "--workers", "1", "--features", "color", "--folder-words"],
    ["train", "--ranker", "ridge", "--force"],
    ["export", "faiss"],
    ["store", "rollback"],
    ["index", "--workers", "1"],
    ["store", "repair"],
]


@pytest.fixture(params=[0o000, 0o022])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """Return the permissions of a folder and of everything in it."""
    found = [folder, *folder.rglob("*")]
    return {str(p.relative_to(folder)): stat.S_IMODE(p.lstat().st_mode) for p in found}


def assert_private(folder: Path) -> None:
    wrong = {
        name: oct(mode)
        for name, mode in modes(folder).items()
        if mode != (0o700 if (folder / name).is_dir() else 0o600)
    }
    assert not wrong
    assert exposed(folder) == ()


def sightline(c: Collection, *command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    where = ["-C", os.fsdecode(c.root), "--store", str(c.store_folder.path)]
    return subprocess.run(
        [sys.executable, "-m", "sightline", *command, *where], capture_output=True, text=True,
        env={**os.environ, "SIGHTLINE_IVF_ROWS": "10"}, **more,
    )  # fmt: skip


# Under 022 nothing is wider than under 0, and what commands write goes through the same functions
# as what the tests below try under both.
@pytest.mark.parametrize("umask", [0o000], indirect=True)
def test_all_that_commands_and_a_server_write_is_private(tmp_path: Path, umask: int) -> None:
    (tmp_path / "photos").mkdir()
    paint(tmp_path / "photos", 60, True, 0)
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o755)
    c = Collection.open(tmp_path / "photos", store=store, workers=1)
    for command in COMMANDS:
        ran = sightline(c, *command)
        assert ran.returncode == 0, (command, ran.stderr)
        assert_private(store)
    assert any(store.glob("ivf/*.faiss")) and any(store.glob("models/*/model.json"))
    assert (store / "log" / "sightline.log").exists() and (store / "config.toml").exists()
    with c.judge("red") as session:
        session.mark([1, 7], [2])
        assert (
            Path(f"{c.store_folder.events}-wal").exists()
            and Path(f"{c.store_folder.events}-shm").exists()
        )
        assert_private(store)
    with Process(c, f"import os; os.umask({umask})") as server:
        judging = server.client.begin("red").session
        server.client.judge(judging, [1], [2])
        assert_private(store)
        server.kill(signal.SIGTERM)
    assert_private(store)
    (tmp_path / "copy").mkdir(mode=0o755)
    c.store.backup(tmp_path / "copy")
    assert_private(tmp_path / "copy")


def test_what_is_kept_of_older_stores_and_damaged_ones_is_private(
    tmp_path: Path, umask: int
) -> None:
    store_folder = plant(tmp_path / "store", [["tree"]], {"color": np.eye(1, dtype=np.float32)})
    raw = bytearray(store_folder.events.read_bytes())
    raw[raw.index(b"0000.jpg")] ^= 1
    store_folder.events.write_bytes(bytes(raw))
    repair(store_folder, lambda said: None)
    assert any(store_folder.path.glob("*.damaged-*"))
    assert_private(store_folder.path)


def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path) -> None:
    photos, own = make_photos(tmp_path / "photos", 2), tmp_path / "own"
    own.mkdir()
    own.chmod(0o755)
    (own / "letter.txt").write_text("mine")
    (own / "letter.txt").chmod(0o644)
    with pytest.raises(UsageError, match="holds other files"):
        Collection.open(photos, store=own, workers=1).index()
    assert modes(own) == {".": 0o755, "letter.txt": 0o644}


def test_settings_that_lie_in_an_adopted_folder_become_private(tmp_path: Path, umask: int) -> None:
    photos, store = make_photos(tmp_path / "photos", 2), tmp_path / "store"
    store.mkdir()
    (store / "config.toml").write_text("top = 3\n")
    (store / "config.toml").chmod(0o644)
    Collection.open(photos, store=store, workers=1).index()
    assert_private(store)
    assert (store / "config.toml").read_text() == "top = 3\n"


@pytest.fixture
def widened(tmp_path: Path) -> Collection:
    """Return a collection whose store everybody may read and write, last judged by a killed."""
    c = Collection.open(make_photos(tmp_path / "photos", 4), store=tmp_path / "store", workers=1)
    c.index(compute=InlineCompute())
    judge_and_die(c.store_folder, [judged_event(1)])
    subprocess.run(["chmod", "-R", "a=rwX", c.store_folder.path], check=True)
    return c


def test_an_open_store_is_named_and_not_called_damaged(widened: Collection) -> None:
    found = widened.store.verify()
    assert found.sound and found.restricted == 0
    assert {e.file for e in found.exposed} == set(modes(widened.store_folder.path))
    assert (
        Exposed(".", 0o777) in found.exposed and Exposed("events.sqlite3", 0o666) in found.exposed
    )
    n = len(found.exposed)
    told = f"other users have permissions for {n} files and folders of the store (. 0777, "
    assert describe(found.exposed).startswith(told)
    ran = sightline(widened, "store", "verify")
    assert ran.returncode == 0 and "Sound" in ran.stdout
    assert told in ran.stderr and "Run: sightline store verify --fix-permissions" in ran.stderr
    said = sightline(widened, "doctor").stdout
    assert told in said and "Run: sightline store verify --fix-permissions" in said


def test_fixing_mends_all_of_it(widened: Collection) -> None:
    wide = len(widened.store.exposed())
    ran = sightline(widened, "store", "verify", "--fix-permissions")
    assert ran.returncode == 0, ran.stderr
    assert f"Removed the permissions of other users for {wide} files and folders" in ran.stdout
    assert "warning" not in ran.stderr
    assert_private(widened.store_folder.path)
    assert "the owner's alone" in sightline(widened, "doctor").stdout
    widened.store_folder.shards.chmod(0o750)
    found = widened.store.verify(fix_permissions=True)
    assert found.sound and found.restricted == 1 and found.exposed == ()
    assert widened.search("tree").hits


def test_a_server_of_an_open_store_says_so(widened: Collection) -> None:
    with Process(widened) as server:
        assert server.client.search("tree").hits
        server.kill(signal.SIGTERM)
    log = (widened.store_folder.path / "log" / "sightline.log").read_text()
    assert "WARNING other users have permissions for" in log and "--fix-permissions" in log


def test_links_are_never_followed(widened: Collection, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "letter.txt").write_text("mine")
    for path, mode in ((outside, 0o755), (outside / "letter.txt", 0o644)):
        path.chmod(mode)
    store = widened.store_folder.path
    (store / "shards" / "linked.txt").symlink_to(outside / "letter.txt")
    (store / "models" / "linked").symlink_to(outside)
    (store / "dangling").symlink_to(outside / "nowhere")
    os.mkfifo(store / "pipe", 0o666)
    restrict(store)
    assert modes(outside) == {".": 0o755, "letter.txt": 0o644}
    assert exposed(store) == ()


def test_a_store_named_by_a_link_is_mended_behind_it(widened: Collection, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(widened.store_folder.path)
    assert verify(StoreFolder(link), fix_permissions=True).exposed == ()
    assert_private(widened.store_folder.path)


def test_what_belongs_to_another_is_left() -> None:
    if os.geteuid() != 0:
        pytest.skip("giving a file to another user needs privileges")
    with tempfile.TemporaryDirectory() as above:
        os.chmod(above, 0o711)  # It can be passed and not be listed.
        store = Path(above, "store")
        (store / "shards").mkdir(parents=True)
        for path in (store / "lock", store / "shards" / "a"):
            path.touch()
        subprocess.run(["chmod", "-R", "a=rwX", store], check=True)
        for path in (store, *store.rglob("*")):
            os.chown(path, *((65534, 65534) if path.name == "lock" else (65533, 65533)))
        pid = os.fork()
        if pid == 0:
            try:
                os.setuid(65533)
                os._exit(restrict(store))
            finally:
                os._exit(99)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
        assert [str(e) for e in exposed(store)] == ["lock 0666"]


def test_what_could_not_be_mended_is_named(
    widened: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_module, "restrict", lambda folder: 0)
    where = ["-C", os.fsdecode(widened.root), "--store", str(widened.store_folder.path)]
    command = ["store", "verify", "--fix-permissions", *where]
    ran = CliRunner().invoke(cli, command, standalone_mode=False)
    assert ran.return_value == 1
    assert "other users have permissions for" in ran.stderr
    assert "They belong to another user" in ran.stderr
    told = json.loads(CliRunner().invoke(cli, [*command, "--json"]).stdout)
    assert told["sound"] and told["permissions"]["restricted"] == 0
    assert {"file": ".", "mode": "0777"} in told["permissions"]["exposed"]
