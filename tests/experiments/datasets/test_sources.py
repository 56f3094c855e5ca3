"""Files of a dataset: an archive and a folder give the same, and nothing leads elsewhere."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sightline.compute.inline import InlineCompute
from sightline.contracts import Done, Failed, Job
from sightline.errors import DataError, UsageError
from sightline_experiments.datasets.sources import DECODE_TASK, FolderSource, ZipSource, open_source
from tests.factories.corel5k import made_files, pack, unpack

FILES = {"labels/words": b"sky\n", "images/1/1.jpeg": b"x" * 100, "README.md": b"hello"}
MARKS = ("labels/words",)


def test_an_archive_and_a_folder_hold_the_same(tmp_path: Path) -> None:
    unpack(FILES, tmp_path / "a" / "set")
    (tmp_path / "b").mkdir()
    pack(FILES, tmp_path / "b" / "set.zip")
    (tmp_path / "c").mkdir()
    pack(FILES, tmp_path / "c" / "set.zip", prefix="set-1.0/")
    for place in (tmp_path / "a", tmp_path / "b", tmp_path / "c", tmp_path / "a" / "set"):
        source = open_source(place, "set", MARKS)
        assert source is not None
        assert source.names() == sorted(FILES)
        assert all(source.read(name) == content for name, content in FILES.items())


def test_a_folder_without_the_set_has_none(tmp_path: Path) -> None:
    assert open_source(tmp_path, "set", MARKS) is None
    with pytest.raises(UsageError, match=r"set\.zip or set/"):
        open_source(tmp_path / "nowhere", "set", MARKS)


@pytest.mark.parametrize("packed", [True, False])
def test_what_is_there_must_be_the_set(tmp_path: Path, packed: bool) -> None:
    wrong = {"README.md": b"something else"}
    if packed:
        pack(wrong, tmp_path / "set.zip")
    else:
        unpack(wrong, tmp_path / "set")
    with pytest.raises(DataError, match="has no labels/words"):
        open_source(tmp_path, "set", MARKS)


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "a/../../evil", "a//b", "a/./b", "a\\b"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    pack({**FILES, name: b"evil"}, tmp_path / "set.zip")
    with pytest.raises(DataError, match="leads elsewhere"):
        ZipSource(tmp_path / "set.zip", MARKS[0])
    unpack(FILES, tmp_path / "set")
    with pytest.raises(DataError):
        FolderSource(tmp_path / "set").read(name)


def test_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = unpack(FILES, tmp_path / "set")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match="link"):
        FolderSource(folder).read("link")
    entry = zipfile.ZipInfo("link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as z:
        z.writestr(entry, "/etc/passwd")
    with pytest.raises(DataError, match="no plain file"):
        ZipSource(tmp_path / "set.zip", MARKS[0])


def test_a_name_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as z:
        z.writestr("labels/words", "sky")
        with pytest.warns(UserWarning, match="Duplicate"):
            z.writestr("labels/words", "sea")
    with pytest.raises(DataError, match="twice"):
        ZipSource(tmp_path / "set.zip", MARKS[0])


def test_large_files_are_refused_whatever_the_archive_says(tmp_path: Path) -> None:
    folder = unpack({"bomb": bytes(5_000_000)}, tmp_path / "set")
    archive = pack({"bomb": bytes(5_000_000)}, tmp_path / "set.zip")
    assert archive.stat().st_size < 20_000
    for source in (FolderSource(folder), ZipSource(archive, "bomb")):
        with pytest.raises(DataError, match="more than 1,000,000 bytes"):
            source.read("bomb", 1_000_000)


def test_blocks_are_the_file_and_stop_at_what_it_may_have(tmp_path: Path) -> None:
    content = np.random.default_rng(0).bytes(2_500_000)
    folder = unpack({"large": content}, tmp_path / "set")
    archive = pack({"large": content}, tmp_path / "set.zip")
    (folder / "link").symlink_to(folder / "large")
    for source in (FolderSource(folder), ZipSource(archive, "large")):
        blocks = list(source.blocks("large"))
        assert b"".join(blocks) == content == source.read("large")
        assert len(blocks) > 2 and max(len(b) for b in blocks) <= 1 << 20
        some = source.blocks("large", 1_200_000)
        assert content.startswith(next(some))
        with pytest.raises(DataError, match="more than 1,200,000 bytes"):
            next(some)
        for name in ("../large", "link", "none"):
            with pytest.raises(DataError):
                list(source.blocks(name))


def test_a_stream_that_cannot_be_inflated_is_named(tmp_path: Path) -> None:
    archive = pack({"labels/words": bytes(range(256)) * 40}, tmp_path / "set.zip")
    with zipfile.ZipFile(archive) as z:
        at = z.infolist()[0].header_offset + 30 + len("labels/words")
    content = bytearray(archive.read_bytes())
    # A block type that deflate does not have.
    content[at] |= 0b111
    archive.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"'labels/words' cannot be read: .*invalid block type"):
        ZipSource(archive, "labels/words").read("labels/words")


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    (tmp_path / "set.zip").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(DataError, match="no zip archive"):
        ZipSource(tmp_path / "set.zip", MARKS[0])
    archive = pack({"labels/words": bytes(range(256)) * 40}, tmp_path / "other.zip")
    content = bytearray(archive.read_bytes())
    content[60] ^= 0xFF
    archive.write_bytes(bytes(content))
    with pytest.raises(DataError, match="cannot be read"):
        ZipSource(archive, "labels/words").read("labels/words")


def test_pictures_are_decoded_from_bytes() -> None:
    files = made_files()
    name = next(n for n in files if n.endswith("1001.jpeg"))
    args: dict[str, object] = {"side": 24, "max_megapixels": 1.0}
    jobs = [Job(b"good", dict(args), files[name]), Job(b"bad", dict(args), b"no picture")]  # type: ignore[arg-type]
    good, bad = InlineCompute().run(DECODE_TASK, jobs, "decode")
    assert isinstance(good, Done) and good.value["shape"] == [16, 24, 3]
    assert np.frombuffer(good.blob, np.uint8).size == 16 * 24 * 3
    assert isinstance(bad, Failed)
