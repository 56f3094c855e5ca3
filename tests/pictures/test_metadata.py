"""The metadata readers, on files that other programs wrote and on hostile bytes."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.pictures._iptc import iptc_resource, read_iptc
from sightline.pictures._xmp import MAX_BYTES, EmbeddedMetadata, read_xmp
from sightline.pictures.metadata import Metadata, read_metadata
from sightline.pictures.tally import Loss
from sightline.records import Tags
from tests.factories.counted_work import calls

FIXTURES = Path(__file__).parent / "fixtures"
KINDS = {".jpg": "JPEG", ".png": "PNG", ".tif": "TIFF", ".webp": "WEBP", ".gif": "GIF"}
FILES = sorted(path.name for path in FIXTURES.iterdir() if path.suffix in KINDS)

PARIS = Tags(
    "xmp",
    ("Places/France/Paris", "night", "tower"),
    "Eiffel\nThe tower at night",
)
SNOW = Tags("iptc", ("Bäume", "snow", "東京"), "Première neige\nTrees under snow")
BOATS = Tags("xmp", ("Things/boats", "harbour"), "Harbour")


def at(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp())  # type: ignore[misc, arg-type]


def by_camera(caption: str) -> Loss:
    return Loss("by-camera", "a caption that cameras and editors write by themselves", caption)


EXPECTED = {
    "base.gif": Metadata(),
    "base.jpg": Metadata(),
    "base.png": Metadata(),
    "base.tif": Metadata(),
    "base.webp": Metadata(),
    "exiftool-all.jpg": Metadata(
        1, at(2001, 2, 3, 4, 5, 6), (Tags("xmp", ("in both",)), Tags("iptc", ("in iptc",)))
    ),
    "exiftool-compressed.png": Metadata(
        8, at(2005, 6, 7, 8, 9, 10), (Tags("xmp", ("kind zpng",)),)
    ),
    "exiftool-exif-big.jpg": Metadata(6, at(2010, 1, 2, 3, 4, 5)),
    "exiftool-exif-iptc.tif": Metadata(
        7, at(2005, 6, 7, 8, 9, 11), (Tags("iptc", ("tiff iptc",)),)
    ),
    "exiftool-exif-little.jpg": Metadata(3, at(2009, 8, 7, 6, 5, 4)),
    "exiftool-exif-zero-date.jpg": Metadata(1, at(2012, 3, 4, 5, 6, 7)),
    "exiftool-iptc-boilerplate.jpg": Metadata(
        tags=(Tags("iptc", ("kept",)),), losses=(by_camera("OLYMPUS DIGITAL CAMERA"),)
    ),
    "exiftool-iptc-latin1.jpg": Metadata(
        tags=(Tags("iptc", ("Bäume", "café"), "Noël à la plage"),)
    ),
    "exiftool-iptc-utf8.jpg": Metadata(1, at(2008, 12, 24, 18, 30, 15), (SNOW,)),
    **{f"exiftool-orientation-{n}.jpg": Metadata(n) for n in range(1, 9)},
    "exiftool-xmp-german.jpg": Metadata(
        1, at(2016, 5, 4, 3, 2, 1), (Tags("xmp", (), "Nur Deutsch"),), (by_camera("SONY DSC"),)
    ),
    "exiftool-xmp-shorthand.jpg": Metadata(
        1, at(2013, 2, 1, 10, 20, 30), (Tags("xmp", ("short",)),)
    ),
    "exiftool-xmp.gif": Metadata(tags=(Tags("xmp", ("A|gif", "kind gif")),)),
    "exiftool-xmp.jpg": Metadata(1, at(2014, 7, 14, 23, 0, 1), (PARIS,)),
    "exiftool-xmp.png": Metadata(tags=(Tags("xmp", ("A|png", "kind png")),)),
    "exiftool-xmp.tif": Metadata(tags=(Tags("xmp", ("A|tif", "kind tif")),)),
    "exiv2-all.webp": Metadata(5, at(2005, 6, 7, 8, 9, 12), (Tags("xmp", ("webp word",)),)),
    "exiv2-iptc.jpg": Metadata(
        1, at(2007, 6, 5), (Tags("iptc", ("Ärger", "harbour"), "Boats in the harbour"),)
    ),
    "exiv2-xmp.jpg": Metadata(1, at(2007, 6, 5, 4, 3, 2), (BOATS,)),
    "imagemagick-exif.png": Metadata(3, at(2009, 8, 7, 6, 5, 4)),
    "imagemagick-iptc.jpg": Metadata(1, at(2008, 12, 24, 18, 30, 15), (SNOW,)),
    "imagemagick-iptc.png": Metadata(1, at(2008, 12, 24, 18, 30, 15), (SNOW,)),
    "imagemagick-iptc.tif": Metadata(1, at(2008, 12, 24, 18, 30, 15), (SNOW,)),
    "imagemagick-xmp.png": Metadata(1, at(2014, 7, 14, 23, 0, 1), (PARIS,)),
    "pillow-bigtiff.tif": Metadata(6, at(2011, 2, 3, 4, 5, 6)),
}


def content(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def kind_of(name: str) -> str:
    return KINDS[Path(name).suffix]


def test_every_fixture_has_its_expectation() -> None:
    assert set(EXPECTED) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_what_the_file_says(name: str) -> None:
    assert read_metadata(content(name), kind_of(name)) == EXPECTED[name]
    assert read_metadata(memoryview(content(name)), kind_of(name)) == EXPECTED[name]


def exif_of(name: str) -> bytes:
    data = content(name)
    start = data.index(b"Exif\0\0")
    return data[start : start - 2 + int.from_bytes(data[start - 2 : start], "big")]


@pytest.mark.parametrize("before", [b"", b"\0\0\0\x06"])
@pytest.mark.parametrize("named", [True, False])
def test_blocks_a_decoder_took_out(before: bytes, named: bool) -> None:
    exif = exif_of("exiftool-exif-little.jpg")
    xmp = content("exiftool-sidecar.xmp")
    block = before + (exif if named else exif[6:])
    found = read_metadata(b"", "HEIF", exif=block, xmp=xmp)
    assert found == Metadata(3, at(2009, 8, 7, 6, 5, 4), (PARIS,))


def test_unknown_kind_says_nothing() -> None:
    assert read_metadata(content("exiftool-xmp.jpg"), "BMP") == Metadata()


def packet(body: str, attributes: str = "") -> bytes:
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<R:RDF xmlns:R="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:d="http://purl.org/dc/elements/1.1/" xmlns:o="http://other/">'
        f"<R:Description {attributes}>{body}</R:Description></R:RDF></x:xmpmeta>"
    ).encode()


def subject(*words: str) -> str:
    return f"<d:subject><R:Bag>{''.join(f'<R:li>{w}</R:li>' for w in words)}</R:Bag></d:subject>"


@pytest.mark.parametrize("where", ["inside", "after the start-of-scan marker"])
def test_jpeg_is_read_up_to_the_scan(where: str) -> None:
    segment = b"http://ns.adobe.com/xap/1.0/\0" + packet(subject("snow"))
    app1 = b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment
    scan = b"\xff\xda\x00\x02"
    fill = b"\xff\xff"
    body = app1 + scan if where == "inside" else scan + app1
    found = read_metadata(b"\xff\xd8" + fill + body, "JPEG")
    assert found.tags == ((Tags("xmp", ("snow",)),) if where == "inside" else ())


def photoshop_segments(resources: bytes, size: int) -> bytes:
    pieces = [resources[i : i + size] for i in range(0, len(resources), size)]
    return b"".join(
        b"\xff\xed" + struct.pack(">H", len(piece) + 16) + b"Photoshop 3.0\0" + piece
        for piece in pieces
    )


def test_resources_that_go_on_in_the_next_segment() -> None:
    other = b"8BIM\x04\x22\x03abc" + struct.pack(">I", 3) + b"xyz\0"
    records = b"\x1c\x02\x19\x00\x04snow"
    resources = other + b"8BIM\x04\x04\0\0" + struct.pack(">I", len(records)) + records
    data = b"\xff\xd8" + photoshop_segments(resources, 20) + b"\xff\xda"
    assert read_metadata(data, "JPEG").tags == (Tags("iptc", ("snow",)),)


@pytest.mark.parametrize(
    ("date", "taken"),
    [
        ("1999:12:31 23:59:59", at(1999, 12, 31, 23, 59, 59)),
        ("1943-05-06T07:08+02:00", at(1943, 5, 6, 7, 8)),
        ("2001-02-03", at(2001, 2, 3)),
        ("0000:00:00 00:00:00", None),
        ("2001:13:03 00:00:00", None),
        ("2001:02:30 00:00:00", None),
        ("2001:02:03 25:00:00", None),
        ("2001", None),
        ("٢٠٠١:02:03", None),
        ("yesterday", None),
    ],
)
def test_dates(date: str, taken: int | None) -> None:
    said = packet("", f'xmlns:e="http://ns.adobe.com/exif/1.0/" e:DateTimeOriginal="{date}"')
    assert read_metadata(b"", "AVIF", xmp=said).taken == taken


def test_namespaces_count_not_prefixes() -> None:
    assert read_xmp(packet(subject("snow", "snow", " tree "))).labels == ("snow", "tree")
    foreign = "<o:subject><R:Bag><R:li>no</R:li></R:Bag></o:subject>"
    rebound = '<o:subject xmlns:o="http://purl.org/dc/elements/1.1/">yes</o:subject>'
    assert read_xmp(packet(foreign + rebound + foreign)).labels == ("yes",)


def test_shorthand_and_alternatives() -> None:
    said = read_xmp(packet("", 'd:title="A lake" d:description="Untitled" title="no"'))
    assert said.text == "A lake"
    both = (
        '<d:title><R:Alt><R:li xml:lang="fr">Lac</R:li>'
        '<R:li xml:lang="x-default">Lake</R:li></R:Alt></d:title>'
    )
    assert read_xmp(packet(both)).text == "Lake"


def test_words_of_an_ingredient_are_not_ours() -> None:
    inner = f"<R:Bag><R:li><R:Description>{subject('theirs')}</R:Description></R:li></R:Bag>"
    assert read_xmp(packet(f"<o:Pantry>{inner}</o:Pantry>{subject('ours')}")).labels == ("ours",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_packet_encodings(encoding: str) -> None:
    data = packet(subject("café")).decode().encode(encoding)
    assert read_xmp(data).labels == ("café",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("declaration", ["<!DOCTYPE x>", '<!DOCTYPE x [<!ENTITY a "b">]>'])
def test_entities_are_refused(encoding: str, declaration: str) -> None:
    good = packet(subject("snow")).decode()
    assert read_xmp(good.encode(encoding)).labels == ("snow",)
    refused = read_xmp((declaration + good).encode(encoding))
    assert refused[:3] == EmbeddedMetadata()[:3]
    assert [loss.kind for loss in refused.losses] == ["xmp-entities"]


def test_packet_size_limit() -> None:
    good = packet(subject("snow"))
    assert read_xmp(good.ljust(MAX_BYTES)).labels == ("snow",)
    refused = read_xmp(good.ljust(MAX_BYTES + 1))
    assert refused[:3] == EmbeddedMetadata()[:3]
    assert [loss.kind for loss in refused.losses] == ["xmp-too-large"]


def test_malformed_packet_says_nothing() -> None:
    refused = read_xmp(packet(subject("snow"))[:-5])
    assert refused[:3] == EmbeddedMetadata()[:3]
    assert [loss.kind for loss in refused.losses] == ["xmp-broken"] and refused.losses[0].example


def test_a_long_namespace_is_not_copied_for_each_attribute() -> None:
    attributes = " ".join(f'n:a{i}=""' for i in range(500))
    said = packet(subject("snow"), f'xmlns:n="{"u" * 200_000}" {attributes}')
    tracemalloc.start()
    try:
        assert read_xmp(said).labels == ("snow",)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_iptc_cut_inside_a_character() -> None:
    utf8 = b"\x1c\x01\x5a\x00\x03\x1b%G"
    cut = b"\x1c\x02\x19\x00\x04caf\xc3"
    assert read_iptc(utf8 + cut).labels == ("caf",)
    assert read_iptc(cut).labels == ("cafÃ",)


def test_iptc_long_record_and_lying_lengths() -> None:
    long = b"\x1c\x02\x78\x80\x04" + struct.pack(">I", 40_000) + b"x" * 40_000
    assert read_iptc(long).text == "x" * 40_000
    cut = read_iptc(long[:-1])
    assert cut[:3] == EmbeddedMetadata()[:3]
    assert [loss.kind for loss in cut.losses] == ["iptc-broken"]
    assert iptc_resource(b"8BIM\x04\x04\0\0\xff\xff\xff\xff\x1c") == b"\x1c"


def png(name: bytes, body: bytes) -> bytes:
    chunk = struct.pack(">I", len(body)) + name + body + b"crc!"
    return b"\x89PNG\r\n\x1a\n" + chunk


def test_png_inflates_no_more_than_the_limit() -> None:
    good = packet(subject("snow"))
    head = b"XML:com.adobe.xmp\0\1\0\0\0"
    fits = png(b"iTXt", head + zlib.compress(good.ljust(MAX_BYTES)))
    bomb = png(b"iTXt", head + zlib.compress(good.ljust(MAX_BYTES + 1)))
    assert read_metadata(fits, "PNG").tags == (Tags("xmp", ("snow",)),)
    refused = read_metadata(bomb, "PNG")
    assert refused.tags == () and [loss.kind for loss in refused.losses] == ["metadata-too-large"]


@pytest.mark.parametrize("name", [b"iptc", b"8bim"])
def test_png_profile_that_is_not_hexadecimal(name: bytes) -> None:
    good = b"\x1c\x02\x19\x00\x04snow".hex().encode()
    text = b"Raw profile type %b\0\n%b\n      9\n" % (name, name)
    assert read_metadata(png(b"tEXt", text + good), "PNG").tags == (Tags("iptc", ("snow",)),)
    damaged = read_metadata(png(b"tEXt", text + good[:-1]), "PNG")
    assert damaged.tags == () and [loss.kind for loss in damaged.losses] == ["metadata-broken"]


def tiff(*entries: tuple[int, int, int, int]) -> bytes:
    packed = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + packed + b"\0\0\0\0"


@pytest.mark.parametrize(
    ("kind", "count", "value", "orientation"),
    [(3, 1, 6, 6), (4, 1, 6, 6), (1, 1, 6, 6), (3, 1, 9, 1), (3, 1, 0, 1), (2, 0, 6, 1)],
)
def test_orientation_out_of_range(kind: int, count: int, value: int, orientation: int) -> None:
    found = read_metadata(tiff((0x0112, kind, count, value)), "TIFF")
    assert found.orientation == orientation


def test_exif_directory_that_points_at_itself_or_nowhere() -> None:
    looped = tiff((0x8769, 4, 1, 8), (0x0112, 3, 1, 6))
    outside = tiff((0x8769, 4, 1, 0xFFFFFFFF), (0x9003, 2, 20, 0xFFFFFFF0), (0x0112, 3, 1, 6))
    assert read_metadata(looped, "TIFF") == Metadata(6)
    assert read_metadata(outside, "TIFF") == Metadata(6)


ANY_KIND = st.sampled_from(["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "HEIF", "AVIF"])
ANY_BYTES = st.binary(max_size=400)
MANY = settings(max_examples=300)
# Ordinary files take up to 900, and none that is damaged much more.
MOST_CALLS = 5_000


def bounded(read: Callable[..., Metadata]) -> Metadata:
    """Return what is read, which must not take much work."""
    found: list[Metadata] = []
    assert calls(lambda: found.append(read())) < MOST_CALLS
    return found[0]


@MANY
@given(ANY_BYTES, ANY_KIND, ANY_BYTES, ANY_BYTES)
def test_any_bytes_have_an_answer(data: bytes, kind: str, exif: bytes, xmp: bytes) -> None:
    for head in (b"", b"II*\0\x08\0\0\0", b"MM\0+\0\x08\0\0\0\0\0\0\0\x10"):
        found = bounded(lambda h=head: read_metadata(data, kind, exif=h + exif, xmp=xmp))
        assert 1 <= found.orientation <= 8
    read_iptc(data)
    read_iptc(b"8BIM" + data)


@MANY
@given(st.sampled_from(FILES), st.data())
def test_any_damage_has_an_answer(name: str, data: st.DataObject) -> None:
    damaged = bytearray(content(name))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x3C, 0x20]))
    cut = data.draw(st.integers(0, len(damaged)))
    found = bounded(lambda: read_metadata(bytes(damaged[:cut]), kind_of(name)))
    assert 1 <= found.orientation <= 8
    assert all(words.source in ("xmp", "iptc") for words in found.tags)
