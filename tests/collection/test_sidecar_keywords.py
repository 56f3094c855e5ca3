"""Sidecars that are exported: what other programs read in them, and that nothing is doubled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sightline.collection import Collection
from sightline.collection.export.run import ExportReport
from sightline.pictures._xmp import read_keywords
from sightline.pictures.keyword_lists import HIERARCHICAL, SUBJECT, TAGS_LIST
from sightline.records import ProposedWord
from tests.factories.exiftool import SidecarContent, immich, lightroom, read
from tests.factories.exported_collections import folder_of, indexed, judge, reindex, terms_of
from tests.factories.photos import fingerprint
from tests.factories.sidecars import DARKTABLE, keywords_packet

# What earlier versions made: one flat list, with a hierarchy level by level.
FLAT = """<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Sightline">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:subject>
    <rdf:Bag>
     <rdf:li>Places</rdf:li>
     <rdf:li>Paris</rdf:li>
     <rdf:li>warm</rdf:li>
    </rdf:Bag>
   </dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""


@pytest.fixture
def c(tmp_path: Path) -> Collection:
    return indexed(tmp_path, 4)


def into(c: Collection, **options: Any) -> ExportReport:
    return c.export("xmp", into_collection=True, **options)


def lists(c: Collection, name: str) -> dict[str, tuple[str, ...]]:
    return read_keywords((folder_of(c) / name).read_bytes())


def own_tags(c: Collection) -> dict[str, tuple[str, ...]]:
    """Return the tags that the sidecars give, as they are stored."""
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(range(1, 9))
        return {
            f.path.decode(): words.tags
            for picture, f in facts.items()
            for words in reader.catalogue.words(picture)
            if words.source == "xmp-sidecar"
        }


def embed(picture: Path, packet: bytes) -> None:
    """Write XMP into a picture."""
    with Image.open(picture) as image:
        image.load()
        image.save(picture, "JPEG", xmp=packet)


def without_texts(c: Collection) -> None:
    for path in folder_of(c).glob("*.txt"):
        path.unlink()


@pytest.mark.parametrize("aside", [False, True], ids=["beside", "aside"])
def test_immich_shows_every_word_of_every_picture(
    tmp_path: Path, c: Collection, aside: bool
) -> None:
    (folder_of(c) / "000.txt").write_text("Places/Paris, snow, Paris, a & <b>, Zürich")
    reindex(c)
    judge(c, "cold", 1, True)
    target = tmp_path / "sidecars"
    report = c.export("xmp", target) if aside else into(c)
    assert report.written == 4
    made = sorted((target if aside else folder_of(c)).glob("*.xmp"))
    seen = dict(zip((p.name for p in made), read(made), strict=True))
    first = seen["000.jpg.xmp"]
    assert immich(first) == {"Places/Paris", "snow", "a & <b>", "Zürich", "cold"}
    assert set(first.subject) == {"Paris", "snow", "a & <b>", "Zürich", "cold"}
    assert ("Places", "Paris") in lightroom(first) and ("Paris",) not in lightroom(first)
    assert immich(seen["001.jpg.xmp"]) == {"tree", "red barn"}
    assert not any(s.warnings for s in seen.values())


def test_index_takes_in_what_was_exported_without_doubling_it(c: Collection) -> None:
    (folder_of(c) / "000.txt").write_text("Places/Paris, snow, Music|Rock|Queen")
    reindex(c)
    before = terms_of(c)
    into(c)
    reindex(c)
    assert terms_of(c) == before
    assert own_tags(c)["000.jpg"] == ("Places/Paris", "Music/Rock/Queen", "snow")
    kept = fingerprint(folder_of(c))
    assert into(c).written == 0 and fingerprint(folder_of(c)) == kept
    reindex(c)
    assert terms_of(c) == before


def test_names_with_separators_stay_flat_through_export_and_index(
    tmp_path: Path, c: Collection
) -> None:
    without_texts(c)
    packet = keywords_packet({TAGS_LIST: ("Music/Bands",), SUBJECT: ("Bands", "AC/DC", "b|w")})
    embed(folder_of(c) / "000.jpg", packet)
    reindex(c)
    before = terms_of(c)
    judge(c, "loud", 1, True)
    for _ in range(2):
        into(c)
        assert lists(c, "000.jpg.xmp") == {
            TAGS_LIST: ("Music/Bands", "AC|DC", "b|w", "loud"),
            HIERARCHICAL: ("Music|Bands", "AC/DC", "b/w", "loud"),
            SUBJECT: ("Bands", "AC/DC", "b|w", "loud"),
        }
        reindex(c)
        assert terms_of(c) == {**before, b"000.jpg": before[b"000.jpg"] | {"loud"}}
    # Nor does a folder of sidecars make a hierarchy, of the picture's words and its sidecar's.
    c.export("xmp", tmp_path / "aside")
    made = read_keywords((tmp_path / "aside" / "000.jpg.xmp").read_bytes())
    assert set(made[TAGS_LIST]) == {"Music/Bands", "AC|DC", "b|w", "loud"}


@pytest.mark.parametrize("sidecar", [
    DARKTABLE.encode(), keywords_packet({SUBJECT: ("gull",)}),
    keywords_packet({HIERARCHICAL: ("Birds|gull",)}), keywords_packet({TAGS_LIST: ("gull",)}),
])  # fmt: skip
def test_a_sidecar_that_is_there_is_read_by_immich_too(c: Collection, sidecar: bytes) -> None:
    (folder_of(c) / "000.jpg.xmp").write_bytes(sidecar)
    reindex(c)
    had = terms_of(c)
    own = read_keywords(sidecar)
    into(c)
    (seen,) = read([folder_of(c) / "000.jpg.xmp"])
    gull = {entry.replace("|", "/") for entries in own.values() for entry in entries}
    assert immich(seen) == gull | {"tree", "snow"}
    reindex(c)
    assert terms_of(c) == had and into(c).written == 0


def test_words_of_the_file_are_not_hidden_by_a_sidecar_without_any(c: Collection) -> None:
    """Of a list that file and sidecar both have, galleries take the sidecar's alone."""
    without_texts(c)
    embed(folder_of(c) / "000.jpg", keywords_packet({TAGS_LIST: ("Places/Paris",)}))
    (folder_of(c) / "000.jpg.xmp").write_text(DARKTABLE)
    reindex(c)
    judge(c, "snow", 1, True)
    assert into(c, only=["accepted"]).changed == 1
    assert lists(c, "000.jpg.xmp")[TAGS_LIST] == ("Places/Paris", "snow")


def test_words_taken_out_of_a_sidecar_do_not_come_back_from_the_file(c: Collection) -> None:
    without_texts(c)
    embed(folder_of(c) / "000.jpg", keywords_packet({TAGS_LIST: ("dog", "Trip")}))
    (folder_of(c) / "000.jpg.xmp").write_bytes(keywords_packet({TAGS_LIST: ("Trip",)}))
    reindex(c)
    judge(c, "snow", 1, True)
    into(c)
    assert set(lists(c, "000.jpg.xmp").values()) == {("Trip", "snow")}


def test_refused_words_are_spread_to_no_list(c: Collection) -> None:
    without_texts(c)
    (folder_of(c) / "000.jpg.xmp").write_bytes(keywords_packet({SUBJECT: ("dog", "gull")}))
    reindex(c)
    judge(c, "dog", 1, False)
    judge(c, "snow", 1, True)
    into(c)
    assert lists(c, "000.jpg.xmp") == {
        TAGS_LIST: ("gull", "snow"), HIERARCHICAL: ("gull", "snow"),
        SUBJECT: ("dog", "gull", "snow"),
    }  # fmt: skip


def test_a_new_sidecar_has_no_refused_word_in_any_list(c: Collection) -> None:
    (folder_of(c) / "000.txt").write_text("Nature/Tree, dog, snow")
    reindex(c)
    judge(c, "tree", 1, False)
    into(c)
    assert set(lists(c, "000.jpg.xmp").values()) == {("dog", "snow")}


def test_sidecars_of_earlier_versions_are_completed(c: Collection) -> None:
    without_texts(c)
    (folder_of(c) / "000.jpg.xmp").write_text(FLAT)
    reindex(c)
    had = terms_of(c)
    report = into(c, dry_run=True)
    assert report.completed == 3 and report.words == 0 and report.changed == 1
    assert into(c).written == 1
    assert set(lists(c, "000.jpg.xmp").values()) == {("Places", "Paris", "warm")}
    reindex(c)
    assert terms_of(c) == had and into(c).written == 0


def test_a_word_that_an_earlier_version_gave_to_a_sidecar_is_completed(c: Collection) -> None:
    without_texts(c)
    (folder_of(c) / "000.txt").write_text("Places/Paris, warm")
    flat = keywords_packet({SUBJECT: ("gull", "Places", "Paris", "warm")})
    (folder_of(c) / "000.jpg.xmp").write_bytes(flat)
    (folder_of(c) / "001.txt").write_text("warm")
    (folder_of(c) / "001.jpg.xmp").write_bytes(keywords_packet({SUBJECT: ("warm", "gull")}))
    others = keywords_packet({SUBJECT: ("gull",)})
    (folder_of(c) / "002.jpg.xmp").write_bytes(others)
    reindex(c)
    assert into(c).written == 2
    # Where the hierarchy is still known, its levels are no tags of their own.
    assert lists(c, "000.jpg.xmp") == {
        TAGS_LIST: ("Places/Paris", "gull", "warm"), HIERARCHICAL: ("Places|Paris", "gull", "warm"),
        SUBJECT: ("gull", "Places", "Paris", "warm"),
    }  # fmt: skip
    assert set(lists(c, "001.jpg.xmp").values()) == {("warm", "gull")}
    assert (folder_of(c) / "002.jpg.xmp").read_bytes() == others, "none of its words is ours"
    reindex(c)
    assert into(c).written == 0


def test_a_complete_sidecar_that_is_read_only_is_not_complained_of(c: Collection) -> None:
    without_texts(c)
    sidecar = folder_of(c) / "000.jpg.xmp"
    sidecar.write_text(FLAT)
    reindex(c)
    sidecar.chmod(0o444)
    assert [x.reason for x in into(c).left] == ["it is read-only"]
    sidecar.chmod(0o644)
    into(c)
    reindex(c)
    sidecar.chmod(0o444)
    assert not into(c).left


def test_a_region_of_a_word_in_a_hierarchy_makes_no_second_tag(c: Collection) -> None:
    (folder_of(c) / "000.txt").write_text("Nature/Tree")
    reindex(c)
    into(c, proposed={1: [ProposedWord("tree", 0.9, (0.0, 0.0, 0.5, 0.25))]})
    (seen,) = read([folder_of(c) / "000.jpg.xmp"])
    assert seen == SidecarContent(("Nature/Tree",), ("Nature|Tree",), ("Tree",), ("tree",))


def test_a_folder_of_sidecars_knows_the_hierarchies_of_those_beside_the_pictures(
    tmp_path: Path, c: Collection
) -> None:
    without_texts(c)
    packet = keywords_packet({HIERARCHICAL: ("Music|Bands", "b/w"), SUBJECT: ("Bands", "AC/DC")})
    (folder_of(c) / "000.jpg.xmp").write_bytes(packet)
    reindex(c)
    c.export("xmp", tmp_path / "aside")
    made = read_keywords((tmp_path / "aside" / "000.jpg.xmp").read_bytes())
    assert made[TAGS_LIST] == ("Music/Bands", "b|w", "AC|DC")
    assert made[HIERARCHICAL] == ("Music|Bands", "b/w", "AC/DC")


def test_keywords_of_iptc_and_names_of_folders_are_flat(tmp_path: Path, c: Collection) -> None:
    without_texts(c)
    record = b"\x1c\x02\x19\x00\x05AC/DC"
    block = b"Photoshop 3.0\0" + b"8BIM\x04\x04\0\0" + len(record).to_bytes(4, "big") + record
    data = (folder_of(c) / "000.jpg").read_bytes()
    (folder_of(c) / "b|w").mkdir()
    (folder_of(c) / "b|w" / "new.jpg").write_bytes(
        data[:2] + b"\xff\xed" + (len(block) + 2).to_bytes(2, "big") + block + data[2:]
    )
    store = tmp_path / "store"
    c = Collection.open(folder_of(c), store=store, workers=1, folder_words=True)
    reindex(c)
    c.export("xmp", tmp_path / "aside")
    made = read_keywords((tmp_path / "aside" / "b|w" / "new.jpg.xmp").read_bytes())
    assert made[TAGS_LIST] == ("b|w", "AC|DC") and made[SUBJECT] == ("b|w", "AC/DC")
