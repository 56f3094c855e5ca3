"""`export xmp --into-collection`: words beside the pictures, and nothing else is touched."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.collection.export import atomic_files, run, sidecars
from sightline.collection.export.run import ExportReport
from sightline.errors import StoreBusy, StoreIOError
from sightline.pictures._xmp import read_xmp
from sightline.records import ProposedWord
from sightline.store.locks import Lock
from tests.factories.exported_collections import folder_of, indexed, judge, reindex, terms_of
from tests.factories.photos import fingerprint
from tests.factories.sidecars import ALL, DARKTABLE, DIGIKAM, HOSTILE

STAREA = "{http://ns.adobe.com/xmp/sType/Area#}"


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return indexed(tmp_path, 4)


def into(c: Collection, **options: Any) -> ExportReport:
    return c.export("xmp", into_collection=True, **options)


def left(report: ExportReport) -> dict[str, str]:
    return {x.path.decode(): x.reason for x in report.left}


def test_index_reads_the_same_words_and_a_second_run_writes_nothing(c: Collection) -> None:
    judge(c, "cold", 1, True)
    before = fingerprint(folder_of(c))
    report = into(c)
    assert report.written == report.new == 4 and report.changed == 0 and not report.left
    now = fingerprint(folder_of(c))
    made = {Path(p).name for p in now.keys() - before.keys()}
    assert made == {f"00{i}.jpg.xmp" for i in range(4)}, "and nothing is left lying about"
    assert all(now[p] == f for p, f in before.items() if Path(p).is_file())
    had = terms_of(c)
    reindex(c)
    assert terms_of(c) == {**had, b"000.jpg": had[b"000.jpg"] | {"cold"}}
    kept = fingerprint(folder_of(c))
    assert into(c).written == 0 and fingerprint(folder_of(c)) == kept


@pytest.mark.parametrize("kind", ["accepted", "proposed"])
def test_a_new_sidecar_has_all_words_whatever_was_the_reason(c: Collection, kind: str) -> None:
    judge(c, "cold", 1, True)
    report = into(c, only=[kind], proposed={2: [ProposedWord("warm", 0.9, None)]})
    made = sorted(p.name for p in folder_of(c).glob("*.xmp"))
    assert report.new == 1 and made == [f"00{int(kind == 'proposed')}.jpg.xmp"]
    read = read_xmp((folder_of(c) / made[0]).read_bytes())
    wanted = {"accepted": {"tree", "snow", "cold"}, "proposed": {"tree", "red barn", "warm"}}
    assert set(read.labels) == wanted[kind]


@pytest.mark.parametrize("program", ALL)
@pytest.mark.parametrize("name", ["000.jpg.xmp", "000.xmp", "000.XMP"])
def test_the_sidecar_that_is_there_is_added_to(c: Collection, program: str, name: str) -> None:
    sidecar = folder_of(c) / name
    sidecar.write_bytes(ALL[program].encode())
    os.chmod(sidecar, 0o640)
    reindex(c)
    had = terms_of(c)
    report = into(c)
    assert report.changed == 1 and report.new == 3
    assert sorted(p.name for p in folder_of(c).glob("000*.[xX]*")) == [name]
    labels = set(read_xmp(sidecar.read_bytes()).labels)
    assert labels == {*read_xmp(ALL[program].encode()).labels, "tree", "snow"}
    assert stat.S_IMODE(sidecar.stat().st_mode) == 0o640
    reindex(c)
    assert terms_of(c) == had


def test_of_both_names_the_longer_is_used(c: Collection) -> None:
    for name in ("000.xmp", "000.jpg.xmp"):
        (folder_of(c) / name).write_text(DARKTABLE)
    into(c)
    assert (folder_of(c) / "000.xmp").read_text() == DARKTABLE
    assert "tree" in (folder_of(c) / "000.jpg.xmp").read_text()


@pytest.mark.parametrize("other", ["000.nef", "000.PNG"])
def test_a_sidecar_of_two_pictures_is_left_to_the_other(c: Collection, other: str) -> None:
    (folder_of(c) / "000.xmp").write_text(DARKTABLE)
    (folder_of(c) / other).write_bytes(b"another picture of the same stem")
    into(c)
    assert (folder_of(c) / "000.xmp").read_text() == DARKTABLE
    assert "tree" in (folder_of(c) / "000.jpg.xmp").read_text()


def test_words_the_files_have_are_no_reason_to_write(c: Collection) -> None:
    for path in folder_of(c).glob("*.txt"):
        path.unlink()
    (folder_of(c) / "000.jpg.xmp").write_text(DIGIKAM)
    reindex(c)
    before = fingerprint(folder_of(c))
    assert into(c).written == 0 and fingerprint(folder_of(c)) == before
    # A program that reads sidecars alone must not lose words the picture's own file has.
    embedded = Image.open(folder_of(c) / "001.jpg")
    packet = DIGIKAM.replace("Anna", "Otto").encode()
    embedded.save(folder_of(c) / "001.jpg", "JPEG", xmp=packet)
    reindex(c)
    assert into(c).written == 0
    judge(c, "ice", 2, True)
    report = into(c)
    assert [s.path for s in report.sidecars] == [b"001.jpg.xmp"]
    said = read_xmp((folder_of(c) / "001.jpg.xmp").read_bytes()).labels
    assert set(said) == {"ice", "People/Otto", "Places/Germany/Berlin"}


def test_what_is_refused_is_as_it_was_and_never_stops_the_rest(
    tmp_path: Path, c: Collection
) -> None:
    photos = folder_of(c)
    (tmp_path / "elsewhere.xmp").write_text(DARKTABLE)
    (photos / "000.jpg.xmp").symlink_to(tmp_path / "elsewhere.xmp")
    (photos / "001.jpg.xmp").write_text(DARKTABLE)
    os.chmod(photos / "001.jpg.xmp", 0o444)
    os.mkfifo(photos / "002.jpg.xmp")
    before = fingerprint(photos)
    report = into(c)
    assert report.written == 1
    said = left(report)
    assert "a link" in said["000.jpg.xmp"] and "read-only" in said["001.jpg.xmp"]
    assert "regular" in said["002.jpg.xmp"]
    now = fingerprint(photos)
    assert {Path(p).name for p in now.keys() - before.keys()} == {"003.jpg.xmp"}
    assert all(now[p] == f for p, f in before.items() if p != str(photos))
    assert (tmp_path / "elsewhere.xmp").read_text() == DARKTABLE


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sidecars_are_named_and_left(c: Collection, name: str) -> None:
    data, _ = HOSTILE[name]
    (folder_of(c) / "000.jpg.xmp").write_bytes(data)
    report = into(c)
    assert list(left(report)) == ["000.jpg.xmp"] and report.written == 3
    assert (folder_of(c) / "000.jpg.xmp").read_bytes() == data


def meanwhile(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Let another program act right before a sidecar gets its name."""
    real = getattr(os, name)

    def late(*args: Any, **kwargs: Any) -> Any:
        act()
        return real(*args, **kwargs)

    monkeypatch.setattr(os, name, late)


def test_a_sidecar_changed_since_it_was_shown_is_left(c: Collection) -> None:
    sidecar = folder_of(c) / "000.jpg.xmp"
    sidecar.write_text(DARKTABLE)

    def late(report: ExportReport) -> bool:
        sidecar.write_text(DIGIKAM)
        (folder_of(c) / "001.jpg.xmp").write_text(DIGIKAM)
        return True

    report = into(c, confirm=late)
    assert set(left(report)) == {"000.jpg.xmp", "001.jpg.xmp"} and report.written == 2
    assert "changed by another program" in left(report)["000.jpg.xmp"]
    assert sidecar.read_text() == (folder_of(c) / "001.jpg.xmp").read_text() == DIGIKAM


def test_a_sidecar_changed_in_the_last_moment_is_left(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecar = folder_of(c) / "000.jpg.xmp"
    sidecar.write_text(DARKTABLE)
    real = atomic_files._resemble

    def late(*args: Any) -> None:
        real(*args)
        sidecar.write_text(DIGIKAM)

    monkeypatch.setattr(atomic_files, "_resemble", late)
    report = into(c)
    assert "changed by another program" in left(report)["000.jpg.xmp"]
    assert sidecar.read_text() == DIGIKAM and not list(folder_of(c).glob(".sightline*"))


def test_a_sidecar_made_in_the_last_moment_is_left(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidecar = folder_of(c) / "000.jpg.xmp"
    meanwhile(monkeypatch, "link", lambda: sidecar.exists() or sidecar.write_text(DIGIKAM))
    report = into(c)
    assert list(left(report)) == ["000.jpg.xmp"] and report.written == 3
    assert sidecar.read_text() == DIGIKAM and not list(folder_of(c).glob(".sightline*"))


def test_a_file_system_without_links_will_do(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    assert into(c).written == 4
    assert not list(folder_of(c).glob(".sightline*"))


@pytest.mark.parametrize("call", ["fsync", "replace", "link"])
def test_a_full_disk_ends_the_run_and_loses_nothing(
    c: Collection, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(run, "AT_ONCE", 1)
    (folder_of(c) / "000.jpg.xmp").write_text(DARKTABLE)
    before = fingerprint(folder_of(c))

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(StoreIOError, match="No space left"):
        into(c)
    monkeypatch.undo()
    sidecar = str(folder_of(c) / "000.jpg.xmp")
    # Only a new sidecar gets its name by a link, so there the first one was added to before.
    unchanged = fingerprint(folder_of(c))[sidecar] == before[sidecar]
    assert unchanged == (call != "link")
    for path in folder_of(c).glob("*.xmp"):
        ElementTree.fromstring(path.read_bytes())
    assert not list(folder_of(c).glob(".sightline*"))


def test_a_folder_that_may_not_be_written_is_named(
    c: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def guarded(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT and os.fsencode(path).startswith(b".sightline-"):
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", guarded)
    report = into(c)
    assert report.written == 0 and set(left(report).values()) == {
        "it cannot be written: Permission denied"
    }


def test_a_read_only_collection_ends_the_run(tmp_path: Path, c: Collection) -> None:
    photos = folder_of(c)
    if subprocess.run(
        ["mount", "--bind", str(photos), str(photos)], capture_output=True
    ).returncode:
        pytest.skip("a bind mount needs privileges")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(photos)], check=True)
        with pytest.raises(StoreIOError, match=r"000.jpg.xmp cannot be written: Read-only"):
            into(c)
        assert c.export("csv", tmp_path / "w.csv").written == 1
    finally:
        subprocess.run(["umount", "-l", str(photos)], check=True)


def test_nothing_is_written_without_a_yes(c: Collection) -> None:
    before = fingerprint(folder_of(c))
    asked: list[ExportReport] = []

    def no(plan: ExportReport) -> bool:
        asked.append(plan)
        return False

    assert into(c, confirm=no).written == 0 and asked[0].new == 4
    assert fingerprint(folder_of(c)) == before
    assert into(c, dry_run=True).new == 4 and fingerprint(folder_of(c)) == before


def test_pictures_that_are_gone_get_no_sidecar(c: Collection) -> None:
    os.remove(folder_of(c) / "000.jpg")
    report = into(c)
    assert "no longer there" in left(report)["000.jpg"] and report.written == 3
    assert not (folder_of(c) / "000.jpg.xmp").exists()


def test_what_a_killed_run_left_is_removed(c: Collection) -> None:
    stray = folder_of(c) / ".sightline-0123456789abcdef.part"
    mine = folder_of(c) / ".sightline-notes.part"
    stray.write_text("half")
    mine.write_text("mine")
    into(c)
    assert not stray.exists() and mine.read_text() == "mine"


def test_two_runs_do_not_meet(c: Collection) -> None:
    with Lock(c.store_folder.path, "index"), pytest.raises(StoreBusy):
        into(c)
    assert not list(folder_of(c).glob("*.xmp"))


def test_a_box_is_turned_as_the_file_is(c: Collection) -> None:
    picture = folder_of(c) / "000.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(picture).save(picture, "JPEG", exif=exif)
    reindex(c)
    into(c, proposed={1: [ProposedWord("tree", 0.9, (0.0, 0.0, 0.5, 0.25))]})
    root = ElementTree.fromstring((folder_of(c) / "000.jpg.xmp").read_bytes())
    (area,) = (e for e in root.iter() if e.tag.endswith("}Area"))
    assert [area.get(f"{STAREA}{k}") for k in "xywh"] == ["0.125", "0.75", "0.25", "0.5"]


def test_folders_that_became_links_are_not_written_through(tmp_path: Path, c: Collection) -> None:
    photos = folder_of(c)
    (photos / "sub").mkdir()
    for name in ("000.jpg", "000.txt"):
        shutil.copy(photos / name, photos / "sub" / name)
    reindex(c)
    shutil.move(photos / "sub", tmp_path / "outside")
    (photos / "sub").symlink_to(tmp_path / "outside")
    report = into(c)
    assert "a link or a file" in left(report)["sub/000.jpg"]
    assert not list((tmp_path / "outside").glob("*.xmp"))


def test_names_of_sidecars_are_found_in_listings() -> None:
    many = frozenset(b"%d.jpg" % i for i in range(1000))
    assert sidecars.sidecar_name(b"7.jpg", many) == b"7.jpg.xmp"
