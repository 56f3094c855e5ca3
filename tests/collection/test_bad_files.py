"""Indexing among bad files: each is named with its reason, no other is, and the counts add up."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.index.plan import make_plan
from sightline.collection.index.run import IndexReport
from sightline.compute.inline import InlineCompute
from sightline.contracts import Compute
from sightline.pictures.folder import PictureFile
from sightline.store.catalogue import KnownPicture
from sightline.testing.faults import FAULTY_READ_TASK
from tests.factories.picture_files import bad, good, huge_png, odd_but_good, zoo
from tests.factories.worker_tasks import READ_LYING, let_workers_import
from tests.waiting import LIMIT, time_only_hanging_jobs

READ_TASK = "sightline.collection.index.batches.READ_TASK"


def adds_up(report: IndexReport) -> IndexReport:
    """Check that everything seen is either indexed or named."""
    assert report.seen == report.indexed + len(report.skipped)
    assert len({s.path for s in report.skipped}) == len(report.skipped)
    assert all(s.reason and s.kind for s in report.skipped)
    return report


def index(c: Collection, compute: Compute | None = None, *, retry: bool = False) -> IndexReport:
    return adds_up(c.index(compute=compute or InlineCompute(), retry=retry))


# -- the zoo ---------------------------------------------------------------------------------------


def test_every_bad_file_is_named_and_every_good_one_indexed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    photos = zoo(tmp_path / "photos")
    (photos / "hundred-megapixels.png").write_bytes(huge_png(10_000, 10_000))
    c = Collection.open(photos, store=tmp_path / "store", workers=2)
    report = adds_up(c.index())
    expected = {os.fsencode(n): (kind, reason) for n, (_, kind, reason) in bad().items()}
    assert {s.path for s in report.skipped} == set(expected)
    for s in report.skipped:
        kind, reason = expected[s.path]
        assert s.kind == kind and reason in s.reason
    good_names = [*odd_but_good(), "hundred-megapixels.png"]
    assert (
        report.indexed
        == report.added
        == len(good_names)
        == len(set(c.pictures.resolve(good_names)))
    )
    assert capfd.readouterr().err == ""  # No decoder has spoilt the terminal.
    again = adds_up(c.index())
    assert (again.skipped, again.version) == (report.skipped, report.version)
    assert [s.path for s in c.pictures.skipped()] == [s.path for s in report.skipped]


def test_turned_pictures_look_the_same(tmp_path: Path) -> None:
    c = Collection.open(zoo(tmp_path / "photos"), store=tmp_path / "store")
    index(c)
    with c.store_folder.reader() as reader:
        ids = [reader.catalogue.find(b"turned-%d.jpg" % n) for n in range(1, 9)]
        facts = reader.catalogue.facts(i for i in ids if i)
    assert {(f.width, f.height) for f in facts.values()} == {(60, 40)} and len(facts) == 8


def test_limits_can_be_set(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "a.bmp").write_bytes(good("BMP"))
    store = tmp_path / "store"
    small = index(Collection.open(photos, store=store, max_megapixels=0.002))
    assert "--max-megapixels" in small.skipped[0].reason
    small = index(Collection.open(photos, store=store, max_file_mb=0.001), retry=True)
    assert "--max-file-mb" in small.skipped[0].reason
    assert index(Collection.open(photos, store=store), retry=True).indexed == 1


# -- planted faults --------------------------------------------------------------------------------

PLANTED = {"crash": "crash", "exit": "crash", "hang": "timeout", "hog": "memory"}


def test_exactly_the_planted_faults_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 good pictures and 12 that crash, exit, hang or eat memory, with one worker and two."""
    monkeypatch.setattr(READ_TASK, FAULTY_READ_TASK)
    time_only_hanging_jobs(monkeypatch)
    photos = tmp_path / "photos"
    photos.mkdir()
    for i in range(60):
        (photos / f"{i % 26 + 97:c}-{i:02}.png").write_bytes(good("PNG", 16, 12, seed=i))
        (photos / f"{i % 26 + 97:c}-{i:02}.txt").write_text(f"paint, word{i % 7}")
    counts = {"crash": 2, "exit": 2, "hang": 2, "hog": 6}
    guilty = [f"{fault}-{n}.png" for fault, count in counts.items() for n in range(count)]
    for name in guilty:
        (photos / name).write_bytes(good("PNG", 16, 12))
    outcomes = []
    for workers in (1, 2):
        store = tmp_path / f"store-{workers}"
        c = Collection.open(photos, store=store, workers=workers, seconds=2.0)
        report = adds_up(c.index())
        named = {s.path.decode(): s.kind for s in report.skipped}
        assert named == {name: PLANTED[name.split("-")[0]] for name in guilty}
        assert (report.seen, report.indexed) == (72, 60)
        hits = [(h.picture, h.path, h.score) for h in c.search("paint word3", k=100).hits]
        assert len(hits) == 60
        outcomes.append((hits, report.skipped, c.pictures.thumbnails([h[0] for h in hits])))
    assert outcomes[0] == outcomes[1]


def test_worker_that_was_taken_over_cannot_stop_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_workers_import(monkeypatch)
    monkeypatch.setattr(READ_TASK, READ_LYING)
    photos = tmp_path / "photos"
    photos.mkdir()
    for name in ("a", "lie-nothing", "lie-shape", "lie-number", "lie-words", "z"):
        (photos / f"{name}.png").write_bytes(good("PNG", 16, 12))
    c = Collection.open(photos, store=tmp_path / "store", workers=1)
    # Without pixels nobody looks at a shape, so that lie is found only when it is wanted.
    report = adds_up(c.index())
    named = {s.path: s.kind for s in report.skipped}
    assert named.pop(b"lie-shape.png", "crash") == "crash"
    assert named == {b"lie-nothing.png": "crash", b"lie-number.png": "crash"}
    assert [h.path for h in c.search("tree").hits] == [b"lie-words.png"]


# -- memory --------------------------------------------------------------------------------------


def _tree(pid: int) -> list[int]:
    found = [pid]
    for task in _listed(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as f:
                found += [p for child in f.read().split() for p in _tree(int(child))]
        except OSError:
            continue
    return found


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _pss(pid: int) -> int:
    """Return the bytes a process takes; a page shared by n of them counts as 1/n of a page."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            return next(int(line.split()[1]) << 10 for line in f if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0  # It has just ended.


class Peak:
    """Watches the memory of this process and all below it while a block runs."""

    def __enter__(self) -> Peak:
        self.idle = self.now()
        self.above = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def now(self) -> int:
        return sum(_pss(p) for p in _tree(os.getpid()))

    def _watch(self) -> None:
        while not self._end.wait(0.01):
            self.above = max(self.above, self.now() - self.idle)

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="needs Linux's /proc")
def test_memory_stays_bounded_with_several_huge_pictures(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "0.png").write_bytes(huge_png(10_000, 10_000))
    for n in range(1, 4):
        shutil.copy(photos / "0.png", photos / f"{n}.png")
    c = Collection.open(photos, store=tmp_path / "store", workers=2, seconds=LIMIT)
    with Peak() as peak:
        report = adds_up(c.index())
    assert report.indexed == 4
    assert peak.above < 1 << 30
    # One of them takes 400 MB: the watch has seen it, and never two at once.
    assert 400e6 < peak.above < 700e6


# -- pictures that come and go ---------------------------------------------------------------------


def spoil(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:40])


def test_picture_that_breaks_and_is_mended_keeps_its_id(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for n in range(3):
        (photos / f"{n}.png").write_bytes(good("PNG", seed=n))
        (photos / f"{n}.txt").write_text("tree")
    c = Collection.open(photos, store=tmp_path / "store")
    index(c)
    ids = c.pictures.resolve(["0.png", "1.png", "2.png"])
    spoil(photos / "1.png")
    for _ in range(2):
        report = index(c)
        assert [s.path for s in report.skipped] == [b"1.png"] and report.gone == 0
        assert {h.path for h in c.search("tree").hits} == {b"0.png", b"2.png"}
    for seed in (1, 77):  # First the old content, then another.
        (photos / "1.png").write_bytes(good("PNG", seed=seed))
        report = index(c)
        assert (report.indexed, report.skipped, report.added) == (3, (), 0)
        assert c.pictures.resolve(["0.png", "1.png", "2.png"]) == ids
        spoil(photos / "1.png")
        index(c)


def test_picture_that_cannot_be_read_for_a_while_keeps_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "a.png").write_bytes(good("PNG"))
    c = Collection.open(photos, store=tmp_path / "store")
    index(c)
    before = c.pictures.resolve(["a.png"])
    let_workers_import(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(READ_TASK, "worker_tasks:read_unreadable")
        os.utime(photos / "a.png", ns=(1, 1))
        (photos / "a.png").write_bytes(good("PNG", seed=5))
        assert [s.kind for s in index(c).skipped] == ["unreadable"]
    # Size and time are the same as when it failed, but such failures pass by themselves.
    assert index(c).indexed == 1 and c.pictures.resolve(["a.png"]) == before


def test_picture_replaced_by_a_link_and_restored_keeps_its_id(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for n in range(2):
        (photos / f"{n}.png").write_bytes(good("PNG", seed=n))
    c = Collection.open(photos, store=tmp_path / "store")
    index(c)
    ids = c.pictures.resolve(["0.png", "1.png"])
    (photos / "0.png").unlink()
    (photos / "0.png").symlink_to("1.png")
    assert [s.kind for s in index(c).skipped] == ["special"]
    (photos / "0.png").unlink()
    (photos / "0.png").write_bytes(good("PNG", seed=0))
    assert index(c).indexed == 2 and c.pictures.resolve(["0.png", "1.png"]) == ids


def test_plan_neither_follows_links_nor_waits_for_pipes(tmp_path: Path) -> None:
    """Files that changed are hashed here; what took their place since the walk is not read."""
    photos = tmp_path / "photos"
    photos.mkdir()
    (tmp_path / "outside.png").write_bytes(b"secret")
    root = os.fsencode(photos)
    names = (b"link.png", b"new.png", b"pipe.png")
    walked = [PictureFile(n, 1, 1) for n in names]
    os.mkfifo(photos / "pipe.png")
    os.mkfifo(photos / "new.png")
    (photos / "link.png").symlink_to(tmp_path / "outside.png")
    secret = hashlib.sha256(b"secret").hexdigest()
    known = [
        KnownPicture(1, b"link.png", secret, 9, 9, ""),
        KnownPicture(2, b"pipe.png", "0", 9, 9, ""),
    ]
    plan = make_plan(walked, known, [], {1, 2}, root)
    assert [t.file.path for t in plan.read] == list(names)
    assert plan.touched == []  # Its content outside, though known, was not looked at.


def test_the_pictures_themselves_are_never_touched(tmp_path: Path) -> None:
    photos = zoo(tmp_path / "photos")
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in photos.iterdir()}
    c = Collection.open(photos, store=tmp_path / "store")
    index(c)
    index(c, retry=True)
    assert before == {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in photos.iterdir()}
