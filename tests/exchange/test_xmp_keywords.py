"""Each of the three keyword lists gets every keyword, once, with its hierarchy and no other."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.exchange.xmp_keywords import missing
from sightline.exchange.xmp_merge import EMPTY, Additions, is_own_packet, merged
from sightline.pictures._xmp import read_keywords, read_xmp
from sightline.pictures.keyword_lists import HIERARCHICAL, SUBJECT, TAGS_LIST, split
from sightline.words.tokens import tag_terms
from tests.factories.sidecars import ALL, keywords_packet

Lists = Mapping[str, tuple[str, ...]]
EVERY = (TAGS_LIST, HIERARCHICAL, SUBJECT)


def after(
    lists: Lists, *words: str | tuple[str, ...], refused: frozenset[str] = frozenset()
) -> Lists:
    return read_keywords(merged(keywords_packet(lists), Additions(words, refused=refused)).data)


def test_a_new_sidecar_has_three_lists() -> None:
    done = merged(EMPTY, Additions(("Snow", "Places/Paris", "Places|Norway|Oslo")))
    assert read_keywords(done.data) == {
        TAGS_LIST: ("Places/Paris", "Places/Norway/Oslo", "Snow"),
        HIERARCHICAL: ("Places|Paris", "Places|Norway|Oslo", "Snow"),
        SUBJECT: ("Paris", "Oslo", "Snow"),
    }
    assert done.words == ("Paris", "Oslo", "Snow") and not done.completed
    assert b"<digiKam:TagsList>\n    <rdf:Seq>" in done.data
    assert b"<lr:hierarchicalSubject>\n    <rdf:Bag>" in done.data


@pytest.mark.parametrize("there", [{TAGS_LIST}, {HIERARCHICAL}, {TAGS_LIST, SUBJECT},
                                   {HIERARCHICAL, SUBJECT}, set(EVERY)])  # fmt: skip
def test_lists_complete_each_other(there: set[str]) -> None:
    own = {TAGS_LIST: ("Places/Paris", "Trip"), HIERARCHICAL: ("Places|Paris", "Trip"),
           SUBJECT: ("Paris", "Trip")}  # fmt: skip
    lists = {name: entries for name, entries in own.items() if name in there}
    done = merged(keywords_packet(lists), Additions(("snow",)))
    assert read_keywords(done.data) == {name: (*own[name], "snow") for name in EVERY}
    assert done.words == ("snow",)
    assert set(done.completed) == (set() if len(there) == 3 else {"Paris", "Trip"})


def test_a_flat_list_alone_is_copied_without_a_hierarchy() -> None:
    """So were the sidecars of versions that wrote `dc:subject` alone."""
    assert after({SUBJECT: ("gull", "b/w")}, "gull") == {
        TAGS_LIST: ("gull", "b|w"), HIERARCHICAL: ("gull", "b/w"), SUBJECT: ("gull", "b/w"),
    }  # fmt: skip


@pytest.mark.parametrize("word", ["Paris", "PARIS", "places"])
def test_a_word_that_a_hierarchy_has_is_no_second_tag(word: str) -> None:
    own = {TAGS_LIST: ("Places/Paris",), HIERARCHICAL: ("Places|Paris",), SUBJECT: ("Paris",)}
    assert not merged(keywords_packet(own), Additions((word,)))
    assert after({TAGS_LIST: ("Places/Paris",)}, word) == own
    assert after({HIERARCHICAL: ("Places|Paris",)}, word) == own
    new = after({}, word, "Places/Paris")
    assert new[TAGS_LIST] == ("Places/Paris",) and new[HIERARCHICAL] == ("Places|Paris",)


def test_the_levels_that_darktable_writes_flat_stay_levels() -> None:
    lists = {HIERARCHICAL: ("trips|föhr|2024",), SUBJECT: ("2024", "föhr", "trips")}
    assert after(lists, "snow") == {
        TAGS_LIST: ("trips/föhr/2024", "snow"),
        HIERARCHICAL: ("trips|föhr|2024", "snow"),
        SUBJECT: ("2024", "föhr", "trips", "snow"),
    }


def test_paths_of_one_name_under_two_parents_stay_two() -> None:
    now = after({TAGS_LIST: ("Places/Paris",)}, "Films/Paris")
    assert now[TAGS_LIST] == ("Places/Paris", "Films/Paris")
    assert now[HIERARCHICAL] == ("Places|Paris", "Films|Paris") and now[SUBJECT] == ("Paris",)


def test_parents_that_are_tagged_themselves_stay_so() -> None:
    lists = {TAGS_LIST: ("Places", "Places/France", "Places/France/Paris")}
    now = after(lists, "snow")
    assert now[HIERARCHICAL] == ("Places", "Places|France", "Places|France|Paris", "snow")
    assert now[SUBJECT] == ("Places", "France", "Paris", "snow")


def test_a_separator_in_a_name_makes_no_hierarchy() -> None:
    for name in ("AC/DC", "AC|DC"):
        assert after({}, (name,)) == {
            TAGS_LIST: ("AC|DC",), HIERARCHICAL: ("AC/DC",), SUBJECT: (name,),
        }  # fmt: skip
    assert after({}, ("Music", "AC/DC")) == {
        TAGS_LIST: ("Music/AC|DC",), HIERARCHICAL: ("Music|AC/DC",), SUBJECT: ("AC/DC",),
    }  # fmt: skip


def test_the_flat_spelling_of_a_known_path_is_the_path() -> None:
    """Windows writes whole paths into `dc:subject`."""
    lists = {"MicrosoftPhoto:LastKeywordXMP": ("Places/Paris",), SUBJECT: ("Places/Paris",)}
    now = after(lists, "snow")
    assert now[TAGS_LIST] == ("Places/Paris", "snow")
    assert now["MicrosoftPhoto:LastKeywordXMP"] == ("Places/Paris",), "not one that is written"


def test_refused_keywords_stay_where_they_are_and_go_nowhere_else() -> None:
    lists = {TAGS_LIST: ("Nature/Tree", "dog", "Trip")}
    assert after(lists, "snow", refused=frozenset(("tree", "dog"))) == {
        TAGS_LIST: ("Nature/Tree", "dog", "Trip", "snow"),
        HIERARCHICAL: ("Trip", "snow"),
        SUBJECT: ("Trip", "snow"),
    }


def test_without_new_words_lists_are_completed_only_if_that_is_wanted() -> None:
    packet = keywords_packet({SUBJECT: ("gull",)})
    assert not merged(packet, Additions(caption=""))
    done = merged(packet, Additions(complete=True))
    assert done and done.completed == ("gull",) and not done.words
    assert not merged(done.data, Additions(complete=True))


def test_packets_of_sightline_are_recognised() -> None:
    assert is_own_packet(EMPTY) and is_own_packet(merged(EMPTY, Additions(("a",))).data)
    assert not any(is_own_packet(other.encode()) for other in ALL.values())


LEVEL = st.one_of(
    st.text(st.sampled_from("ab/|"), min_size=1, max_size=4),
    st.sampled_from(
        ["Zürich", "a,b", "<x> & y", "東京", "l" * 300, "A", "ÀB", "]]>", "'\"", "b w"]
    ),
)
PATH = st.lists(LEVEL, min_size=1, max_size=3).map(tuple)
ENTRY = st.lists(LEVEL, min_size=1, max_size=3)
OWN = st.fixed_dictionaries(
    {},
    optional={
        TAGS_LIST: st.lists(ENTRY.map("/".join), min_size=1, max_size=4).map(tuple),
        HIERARCHICAL: st.lists(ENTRY.map("|".join), min_size=1, max_size=4).map(tuple),
        SUBJECT: st.lists(LEVEL, min_size=1, max_size=4).map(tuple),
    },
)


@given(OWN, st.lists(PATH, min_size=1, max_size=4))
def test_lists_become_complete_lose_nothing_and_stay(
    lists: Lists, words: list[tuple[str, ...]]
) -> None:
    packet = keywords_packet(lists)
    new = Additions(tuple(words))
    done = merged(packet, new)
    now = read_keywords(done.data)
    before = read_keywords(packet)
    for name, entries in before.items():
        assert now[name][: len(entries)] == entries, "what was there stays, in its place"
        assert len(set(now[name][len(entries) :])) == len(now[name]) - len(entries)
    assert not merged(done.data, new) and not missing(now, words).entries
    terms = {t for w in words for level in w for t in tag_terms(level)}
    for name in (TAGS_LIST, HIERARCHICAL):
        read = {t for e in now.get(name, ()) for level in split(e, name) for t in tag_terms(level)}
        assert read >= terms, "each list alone has every word"
    said = {t for label in read_xmp(packet).labels for t in tag_terms(label)}
    assert {t for label in read_xmp(done.data).labels for t in tag_terms(label)} == said | terms


@given(st.lists(LEVEL, min_size=1, max_size=5))
def test_flat_words_are_one_level_in_every_list(words: list[str]) -> None:
    now = after({}, *((w,) for w in words))
    for name, entries in now.items():
        assert all(len(split(entry, name)) == 1 for entry in entries)
    assert len({len(entries) for entries in now.values()}) <= 1
