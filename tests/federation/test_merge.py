"""The law of the merge: lists of shards make up the list of the whole, page by page."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from sightline.federation.merge import FederatedHit, group_of, is_ordered, measure_of, merge
from sightline.records import Hit

PROBABILITIES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.500001, 0.75, 0.999999, 1.0])
KINDS = ("exact", "rare", "predicted", "unproven", "partial", "suggested")


def hit(picture: int, kind: str, value: float) -> Hit:
    if kind in ("predicted", "suggested"):
        return Hit(picture, b"a", value, kind, probability=value)  # type: ignore[arg-type]
    if kind == "unproven":
        return Hit(picture, b"a", value, "predicted", proven=False)
    score = {"exact": 1 + value, "rare": 1.0005, "partial": value}[kind]
    return Hit(picture, b"a", score, "partial" if kind == "rare" else kind)  # type: ignore[arg-type]


def ordered(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits as one collection ranks them; equal ones by id."""
    return sorted(hits, key=lambda h: (group_of(h), -(measure_of(h) or h.score), h.picture))


def of_member(name: str, hits: Sequence[Hit]) -> list[FederatedHit]:
    return [FederatedHit(name, h) for h in hits]


hits_of_all_kinds = st.lists(st.tuples(st.sampled_from(KINDS), PROBABILITIES), max_size=30).map(
    lambda rows: [hit(i, *row) for i, row in enumerate(rows)]
)


@given(hits_of_all_kinds, st.integers(1, 8), st.randoms(use_true_random=False))
def test_shards_of_one_list_merge_to_its_order(hits: list[Hit], k: int, rng: random.Random) -> None:
    whole = ordered(hits)
    shards: list[list[Hit]] = [[] for _ in range(k)]
    for h in whole:
        rng.choice(shards).append(h)
    merged = [f.hit for f in merge([of_member(str(i), s) for i, s in enumerate(shards)])]
    assert sorted(h.picture for h in merged) == sorted(h.picture for h in whole)
    # Rank by rank the same kind and the same probability; those that are equal may change places.
    keys = [(group_of(h), measure_of(h)) for h in whole]
    assert [(group_of(h), measure_of(h)) for h in merged] == keys
    assert is_ordered(merged)
    if k == 1:
        assert merged == whole


@given(st.lists(hits_of_all_kinds, min_size=1, max_size=4), st.integers(1, 12))
def test_first_hits_of_each_list_decide_the_first_of_the_whole(
    lists: list[list[Hit]], depth: int
) -> None:
    members = [of_member(str(i), ordered(some)) for i, some in enumerate(lists)]
    whole = merge(members)
    assert merge([m[:depth] for m in members])[:depth] == whole[:depth]
    assert merge(members) == whole


def test_exact_matches_take_turns_whatever_their_scores() -> None:
    a = of_member("a", [hit(i, "exact", 0.9) for i in range(3)])
    b = of_member("b", [hit(i, "exact", 0.1) for i in range(2)])
    assert [h.collection for h in merge([a, b])] == ["a", "b", "a", "b", "a"]
    assert [h.collection for h in merge([b, a])] == ["b", "a", "b", "a", "a"]


def test_predictions_are_ordered_by_probability_and_not_by_score() -> None:
    a = [FederatedHit("a", Hit(1, b"x", 0.2, "predicted", probability=0.9))]
    b = [FederatedHit("b", Hit(1, b"x", 0.8, "predicted", probability=0.4))]
    assert [h.collection for h in merge([b, a])] == ["a", "b"]


def test_one_content_of_two_members_is_shown_once_where_it_ranks_best() -> None:
    same = "0" * 64
    a = [
        FederatedHit("a", hit(1, "predicted", 0.9), content="1" * 64),
        FederatedHit("a", hit(2, "predicted", 0.8), content=same),
        FederatedHit("a", hit(3, "predicted", 0.7), content=same),
    ]
    b = [FederatedHit("b", hit(7, "exact", 0.5), content=same)]
    merged = merge([a, b])
    assert [(h.collection, h.hit.picture) for h in merged] == [("b", 7), ("a", 1)]
    assert [h.also_in for h in merged] == [("a",), ()]
    # Within one member both are shown, as in a search of that member alone.
    assert [h.hit.picture for h in merge([a])] == [1, 2, 3]
    # Nothing is known of the content of a server's pictures: none is taken for another.
    unknown = [FederatedHit("s", hit(9, "exact", 0.5))]
    assert len(merge([unknown, [FederatedHit("t", hit(9, "exact", 0.5))]])) == 2
