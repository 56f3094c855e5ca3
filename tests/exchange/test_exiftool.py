"""exiftool, by which immich reads, finds every keyword in the sidecars that are written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.exchange.exported import folded, writable
from sightline.exchange.xmp_merge import EMPTY, Additions, merged
from sightline.exchange.xmp_regions import Region, RegionFrame
from sightline.pictures._xmp import read_keywords
from sightline.pictures.keyword_lists import HIERARCHICAL, SUBJECT, TAGS_LIST
from tests.factories.exiftool import SidecarContent, immich, lightroom, read_packets
from tests.factories.sidecars import ALL, keywords_packet

PLACES = (TAGS_LIST, ("Places/Paris",)), (HIERARCHICAL, ("Places|Paris",)), (SUBJECT, ("Paris",))
WORDS = Additions(("Snow", "Places/Paris", ("AC/DC",), "paris"))
BOX = Region("Snow", (0.1, 0.2, 0.3, 0.4))
# exiftool takes the strange one for a text file, whether something was added or not.
BEFORE = {
    "new": EMPTY,
    **{program: text.encode() for program, text in ALL.items() if program != "strange"},
    "immich": keywords_packet({TAGS_LIST: ("Places/Paris", "Trip")}),
    "flat": keywords_packet({SUBJECT: ("gull",)}),
    **{name: keywords_packet({name: entries}) for name, entries in PLACES[:2]},
}


@pytest.fixture(scope="module")
def both(
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[SidecarContent, SidecarContent]]:
    """Return what exiftool reads before and after words are added, by what was there."""
    new = Additions(WORDS.words, "A caption", (BOX,), RegionFrame(24, 18))
    packets = [*BEFORE.values(), *(merged(before, new).data for before in BEFORE.values())]
    found = read_packets(packets, tmp_path_factory.mktemp("sidecars"))
    pairs = zip(found[: len(BEFORE)], found[len(BEFORE) :], strict=True)
    return dict(zip(BEFORE, pairs, strict=True))


@pytest.fixture(scope="module")
def seen(both: dict[str, tuple[SidecarContent, SidecarContent]]) -> dict[str, SidecarContent]:
    """Return what it reads after."""
    return {name: after for name, (_, after) in both.items()}


@pytest.mark.parametrize("before", BEFORE)
def test_exiftool_reads_what_our_reader_reads(
    before: str, both: dict[str, tuple[SidecarContent, SidecarContent]]
) -> None:
    ours = read_keywords(merged(BEFORE[before], WORDS).data)
    had, has = both[before]
    assert has[:3] == (ours[TAGS_LIST], ours[HIERARCHICAL], ours[SUBJECT])
    for entries, now in zip(had[:3], has[:3], strict=True):
        assert now[: len(entries)] == entries
    assert has.regions == (*had.regions, "Snow")
    assert set(has.warnings) <= set(had.warnings)


@pytest.mark.parametrize("before", BEFORE)
def test_immich_shows_every_word_once(before: str, seen: dict[str, SidecarContent]) -> None:
    had = {
        "digiKam": {"Places/Germany/Berlin", "People/Anna"}, "exiftool": {"gull"},
        "immich": {"Trip"}, "flat": {"gull"},
    }  # fmt: skip
    wanted = had.get(before, set()) | {"Snow", "Places/Paris", "AC|DC"}
    assert immich(seen[before]) == wanted
    # It shows the same of Lightroom's list, which it reads where there is no other.
    assert immich(seen[before]._replace(tags_list=())) == wanted


@pytest.mark.parametrize("before", BEFORE)
def test_lightroom_and_flat_readers_have_every_word(
    before: str, seen: dict[str, SidecarContent]
) -> None:
    assert {("Snow",), ("Places", "Paris"), ("AC/DC",)} <= lightroom(seen[before])
    assert {"Snow", "Paris", "AC/DC"} <= set(seen[before].subject)
    assert len({folded(word) for word in seen[before].subject}) == len(seen[before].subject)


WORD = st.one_of(
    st.text(min_size=1, max_size=20),
    st.text(st.sampled_from("aé/|,;&<>\"' 7.漢"), min_size=1, max_size=12),
    st.sampled_from(
        ["Zürich", "w" * 500, "007", "2024.10", "1e5", "]]>", "a\nb", "👩‍👩‍👧", "-x", "{a=b}"]
    ),
)


@settings(max_examples=4)
@given(st.lists(st.lists(WORD, min_size=1, max_size=5), min_size=25, max_size=25))
def test_flat_words_of_any_kind_are_flat_in_immich_and_lightroom(
    tmp_path: Path, pictures: list[list[str]]
) -> None:
    packets = [merged(EMPTY, Additions(tuple((w,) for w in words))).data for words in pictures]
    for words, now in zip(pictures, read_packets(packets, tmp_path), strict=True):
        every: dict[str, str] = {}
        for word in map(writable, words):
            if folded(word):
                every.setdefault(folded(word.replace("|", "/")), word)
        # exiftool turns two words of any case into truth values.
        wanted = [w for w in every.values() if w.lower() not in ("true", "false")]
        assert set(wanted) <= set(now.subject) and len(now.subject) == len(every)
        assert {w.replace("/", "|") for w in wanted} <= immich(now)
        assert {(w.replace("|", "/"),) for w in wanted} <= lightroom(now)
        assert len(immich(now)) == len(lightroom(now)) == len(every)
        assert now.warnings == ()
