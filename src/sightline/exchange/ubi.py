"""User Behavior Insights, as OpenSearch and Solr write it: queries, and events that follow them.

After the JSON schemas of version 1.3.0 (https://github.com/o19s/ubi, Apache-2.0); 1.0 to 1.2 have
the same names for what is read here:

    query   query_id, user_query, query_response_hit_ids (what was shown, first to last)
    event   query_id, action_name, event_attributes.object.object_id,
            event_attributes.position.ordinal (from 1 on)

Events named `impression` say which picture was shown where; where a query has some, they tell what
was shown, else its hits do. Records may stand in the `_source` of an exported index; lines that
only name an index, as bulk files have them, are passed over.
"""

from __future__ import annotations

from sightline.exchange.impressions import CLICKS, Joining, LogPlace

NAME = "UBI"
_BULK = frozenset(("index", "create"))


def is_bulk_line(body: dict[str, object]) -> bool:
    """Say whether a record only tells where the next one goes.

    >>> is_bulk_line({"index": {"_index": "ubi_events"}})
    True
    """
    return len(body) == 1 and body.keys() <= _BULK


def inner(body: dict[str, object]) -> dict[str, object]:
    """Return the record that an exported document holds."""
    source = body.get("_source")
    return source if isinstance(source, dict) else body


def recognises(body: dict[str, object]) -> bool:
    """Say whether a record is a query or an event.

    >>> recognises({"query_id": "1", "user_query": "sea"}), recognises({"event": "ranking"})
    (True, False)
    """
    return "action_name" in body or "user_query" in body or "query_response_hit_ids" in body


def take(body: dict[str, object], joining: Joining, place: LogPlace) -> None:
    """Add a record to what is known of its query."""
    key = body.get("query_id")
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    action = body.get("action_name")
    if action is not None and not isinstance(action, str):
        joining.skipped.skip("action that is no text", place)
    elif not isinstance(key, str) or not key:
        reason = "query without query_id" if action is None else "event without query_id"
        joining.skipped.skip(reason, place)
    elif action is None:
        _query(body, key, joining, place)
    else:
        _event(body, key, action, joining, place)


def _query(body: dict[str, object], key: str, joining: Joining, place: LogPlace) -> None:
    query, hits = body.get("user_query"), body.get("query_response_hit_ids", [])
    if not isinstance(query, str):
        joining.skipped.skip(
            "query that is no text", place, f"user_query must be text. Got {query!r:.60}"
        )
    elif not isinstance(hits, list):
        joining.skipped.skip(
            "hits that are no list", place,
            f"query_response_hit_ids must be a list. Got {hits!r:.60}",
        )  # fmt: skip
    else:
        joining.add_query(NAME, key, query, hits, place)


def _event(
    body: dict[str, object], key: str, action: str, joining: Joining, place: LogPlace
) -> None:
    attributes = _dict(body.get("event_attributes"))
    name = _dict(attributes.get("object")).get("object_id", body.get("object_id"))
    rank = _dict(attributes.get("position")).get("ordinal")
    if action in CLICKS:
        joining.clicked(NAME, key, name, place, rank)
    elif action == "impression":
        joining.saw(NAME, key, name, rank, place)
    else:
        joining.skipped.skip(f"event {action!r:.40}")


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
