"""Sidecars and words files: what people keep beside their pictures, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.pictures.captions import MAX_SIDECAR, read_sidecar, sidecar_names
from sightline.records import Tags

FIXTURES = Path(__file__).parent / "fixtures"
ROOT = b"/home/me/pictures"


def test_sidecar_written_by_exiftool() -> None:
    data = (FIXTURES / "exiftool-sidecar.xmp").read_bytes()
    labels = ("Places/France/Paris", "night", "tower")
    expected = Tags("xmp-sidecar", labels, "Eiffel\nThe tower at night")
    assert read_sidecar(b"exiftool-sidecar.xmp", data) == expected
    assert read_sidecar(b"SIDECAR.XMP", data) == expected


def test_sidecar_written_by_exiv2() -> None:
    data = (FIXTURES / "exiv2-sidecar.xmp").read_bytes()
    labels = ("Things/boats", "harbour")
    assert read_sidecar(b"a.xmp", data) == Tags("xmp-sidecar", labels, "Harbour")


def test_malformed_xmp_sidecar_says_nothing() -> None:
    assert read_sidecar(b"a.xmp", b"<x:xmpmeta>") == Tags("xmp-sidecar")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_text_sidecar_encodings(encoding: str) -> None:
    data = "un café,\r\nla nuit\x07\0".encode(encoding)
    assert read_sidecar(b"a.txt", data) == Tags("txt", (), "un café,\nla nuit")


def test_sidecar_size_limit() -> None:
    assert read_sidecar(b"a.txt", b"x" * MAX_SIDECAR).text == "x" * MAX_SIDECAR
    with pytest.raises(DataError, match=r"a\.txt has 1048577 bytes; at most 1048576"):
        read_sidecar(b"a.txt", b"x" * (MAX_SIDECAR + 1))


def test_sidecar_names_in_order() -> None:
    expected = b"I.jpg.xmp I.jpg.XMP I.xmp I.XMP I.txt I.TXT I.jpg.txt I.jpg.TXT".split()
    assert sidecar_names(b"I.jpg") == tuple(expected)
    assert sidecar_names(b"a.b/I") == (b"a.b/I.xmp", b"a.b/I.XMP", b"a.b/I.txt", b"a.b/I.TXT")


@given(st.binary(max_size=300), st.sampled_from([b"a.txt", b"a.xmp"]))
def test_any_sidecar_has_an_answer(data: bytes, name: bytes) -> None:
    said = read_sidecar(name, data)
    (said.text + "".join(said.tags)).encode()
