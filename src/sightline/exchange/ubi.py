"""User Behavior Insights, as OpenSearch and Solr write it: queries, and events that refer to them.

After the JSON schemas of version 1.3.0 (https://github.com/o19s/ubi, Apache-2.0); 1.0 to 1.2 have
the same names for the fields read here:

    query   query_id, user_query, query_response_hit_ids (the ranking that was shown)
    event   query_id, action_name, event_attributes.object.object_id,
            event_attributes.position.ordinal (the rank, from 1 on)

Events named `impression` give the rank of one picture. A query that has any takes its ranking from
them, otherwise from its hits. Records may be in the `_source` of documents of an exported index;
lines that only name an index, as bulk files have them, are skipped.
"""

from __future__ import annotations

from sightline.exchange.impressions import CLICKS, LogJoiner, LogPlace

NAME = "UBI"
_BULK = frozenset(("index", "create"))


def is_bulk_line(body: dict[str, object]) -> bool:
    """Return whether a record only names the index of the next one.

    >>> is_bulk_line({"index": {"_index": "ubi_events"}})
    True
    """
    return len(body) == 1 and body.keys() <= _BULK


def inner(body: dict[str, object]) -> dict[str, object]:
    """Return the record in an exported document."""
    source = body.get("_source")
    return source if isinstance(source, dict) else body


def recognises(body: dict[str, object]) -> bool:
    """Return whether a record is a query or an event.

    >>> recognises({"query_id": "1", "user_query": "sea"}), recognises({"event": "ranking"})
    (True, False)
    """
    return "action_name" in body or "user_query" in body or "query_response_hit_ids" in body


def add_record(body: dict[str, object], joiner: LogJoiner, place: LogPlace) -> None:
    """Add a record to the impression of its query."""
    key = body.get("query_id")
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    action = body.get("action_name")
    if action is not None and not isinstance(action, str):
        joiner.skipped.skip("action that is no text", place)
    elif not isinstance(key, str) or not key:
        reason = "query without query_id" if action is None else "event without query_id"
        joiner.skipped.skip(reason, place)
    elif action is None:
        _query(body, key, joiner, place)
    else:
        _event(body, key, action, joiner, place)


def _query(body: dict[str, object], key: str, joiner: LogJoiner, place: LogPlace) -> None:
    query, hits = body.get("user_query"), body.get("query_response_hit_ids", [])
    if not isinstance(query, str):
        joiner.skipped.skip(
            "query that is no text", place, f"user_query must be text. Got {query!r:.60}"
        )
    elif not isinstance(hits, list):
        joiner.skipped.skip(
            "hits that are no list", place,
            f"query_response_hit_ids must be a list. Got {hits!r:.60}",
        )  # fmt: skip
    else:
        joiner.add_query(NAME, key, query, hits, place)


def _event(
    body: dict[str, object], key: str, action: str, joiner: LogJoiner, place: LogPlace
) -> None:
    attributes = _dict(body.get("event_attributes"))
    name = _dict(attributes.get("object")).get("object_id", body.get("object_id"))
    rank = _dict(attributes.get("position")).get("ordinal")
    if action in CLICKS:
        joiner.add_click(NAME, key, name, place, rank)
    elif action == "impression":
        joiner.add_impression(NAME, key, name, rank, place)
    else:
        joiner.skipped.skip(f"event {action!r:.40}")


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
