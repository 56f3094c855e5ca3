"""A keyword that several lists hold is one label, and separators inside a name part nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sightline.pictures._xmp import read_xmp
from sightline.pictures.keyword_lists import (
    HIERARCHICAL,
    MAX_LABEL,
    MICROSOFT,
    SUBJECT,
    TAGS_LIST,
    joined,
    labels,
    split,
)
from sightline.pictures.metadata import xmp_packet
from sightline.words.tokens import tag_terms
from tests.factories.sidecars import DIGIKAM

NAME = st.text(st.sampled_from("aé/| ,&<\"'"), min_size=1, max_size=6).filter(str.strip)


@given(st.lists(NAME.map(str.strip), min_size=1, max_size=4))
def test_a_path_comes_back_from_every_hierarchical_list(path: list[str]) -> None:
    wanted = tuple(level.replace("|", "/") for level in path)
    for name in (TAGS_LIST, HIERARCHICAL, MICROSOFT):
        assert split(joined(tuple(path), name), name) == wanted


def test_the_lists_of_digikam_give_each_keyword_once() -> None:
    assert read_xmp(DIGIKAM.encode()).labels == ("Places/Germany/Berlin", "People/Anna")


def test_windows_has_whole_paths_in_its_flat_list() -> None:
    lists = {SUBJECT: ["Places/Berlin", "b/w"], MICROSOFT: ["Places/Berlin", "b/w"]}
    assert set(labels(lists)) == {"Places/Berlin", "b/w"}


def test_a_path_that_will_be_cut_does_not_hide_its_last_level() -> None:
    long = "/".join(["x" * 60] * (MAX_LABEL // 60 + 1) + ["Oslo"])
    assert labels({TAGS_LIST: [long], SUBJECT: ["Oslo"]}) == (long, "Oslo")


ENTRIES = st.lists(st.text(st.sampled_from("abC/|"), min_size=1, max_size=5), max_size=4)


@given(ENTRIES, ENTRIES, ENTRIES, ENTRIES)
def test_no_term_is_lost_by_giving_each_keyword_once(
    tags: list[str], hierarchical: list[str], subject: list[str], microsoft: list[str]
) -> None:
    lists = {TAGS_LIST: tags, HIERARCHICAL: hierarchical, SUBJECT: subject, MICROSOFT: microsoft}
    every = {t for entries in lists.values() for e in entries for t in tag_terms(e)}
    assert {t for label in labels(lists) for t in tag_terms(label)} == every


def test_the_packet_of_a_heif_file_is_found() -> None:
    packet = DIGIKAM[DIGIKAM.index("<x:") :].strip().encode()
    data = b"\0\0\0\x18ftypheic" + b"\xff" * 100 + packet + b"\0rest</x:xmpmeta>"
    assert xmp_packet(data, "HEIF") == packet
    assert xmp_packet(b"\0\0\0\x18ftypheic <x:xmpmeta cut", "HEIF") == b""
