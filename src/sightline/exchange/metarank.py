"""Metarank's events, one JSON object a line: rankings, and interactions with them.

After its event schema (https://github.com/metarank/metarank, doc/event-schema.md, Apache-2.0):

    ranking      id, items: [{id}] in the order shown, fields: [{name: "query", value}]
    interaction  ranking: the id of a ranking, item, type

Rankings without a field `query`, such as recommendations, are counted and skipped; so are
interactions that belong to no ranking. Events about items and users are ignored.
"""

from __future__ import annotations

from sightline.exchange.impressions import CLICKS, LogJoiner, LogPlace

NAME = "Metarank"
_EVENTS = frozenset(("item", "user", "ranking", "interaction"))


def recognises(body: dict[str, object]) -> bool:
    """Return whether a record is one of Metarank's events.

    >>> recognises({"event": "ranking"}), recognises({"event": ["ranking"]})
    (True, False)
    """
    event = body.get("event")
    return isinstance(event, str) and event in _EVENTS


def add_record(body: dict[str, object], joiner: LogJoiner, place: LogPlace) -> None:
    """Add an event to the impression of its ranking."""
    if body["event"] == "ranking":
        _ranking(body, joiner, place)
    elif body["event"] == "interaction":
        _interaction(body, joiner, place)


def _ranking(body: dict[str, object], joiner: LogJoiner, place: LogPlace) -> None:
    key, items = _id(body.get("id")), body.get("items")
    if not key:
        joiner.skipped.skip("ranking without id", place)
    elif not isinstance(items, list):
        joiner.skipped.skip(
            "items that are no list", place, f"items must be a list. Got {items!r:.60}"
        )
    elif (query := _query(body.get("fields"))) is None:
        joiner.skipped.skip("ranking without a query", place)
    else:
        names = [i.get("id") if isinstance(i, dict) else i for i in items]
        joiner.add_query(NAME, key, query, names, place)


def _interaction(body: dict[str, object], joiner: LogJoiner, place: LogPlace) -> None:
    kind, key = body.get("type"), _id(body.get("ranking"))
    if not isinstance(kind, str):
        joiner.skipped.skip("interaction without type", place)
    elif kind not in CLICKS:
        joiner.skipped.skip(f"event {kind!r:.40}")
    elif not key:
        joiner.skipped.skip("click without a list")
    else:
        joiner.add_click(NAME, key, body.get("item"), place)


def _query(fields: object) -> str | None:
    """Return the text of a ranking's query; None if no field has it."""
    for f in fields if isinstance(fields, list) else ():
        if isinstance(f, dict) and f.get("name") == "query":
            value = f.get("value")
            if isinstance(value, list) and all(isinstance(v, str) for v in value):
                return " ".join(value)
            return value if isinstance(value, str) else None
    return None


def _id(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""
