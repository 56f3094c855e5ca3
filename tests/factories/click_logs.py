"""Small click logs, in both formats."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def ubi_query(key: str, query: str, shown: Sequence[object]) -> Record:
    """Return a UBI query."""
    return {
        "application": "gallery", "query_id": key, "client_id": "c", "user_query": query,
        "timestamp": "2026-01-01T00:00:00Z", "query_response_hit_ids": list(shown),
    }  # fmt: skip


def ubi_event(key: str, name: object, rank: object = None, action: str = "click") -> Record:
    """Return a UBI event."""
    attributes: Record = {"object": {"object_id": name, "object_id_field": "path"}}
    if rank is not None:
        attributes["position"] = {"ordinal": rank}
    return {
        "action_name": action, "query_id": key, "timestamp": "2026-01-01T00:00:01Z",
        "event_attributes": attributes,
    }  # fmt: skip


def ranking(key: str, query: str | None, shown: Sequence[object]) -> Record:
    """Return a Metarank ranking."""
    return {
        "event": "ranking", "id": key, "timestamp": "1599391467000", "user": "u",
        "fields": [] if query is None else [{"name": "query", "value": query}],
        "items": [{"id": name, "relevancy": 1.0} for name in shown],
    }  # fmt: skip


def interaction(key: str | None, name: object, kind: str = "click") -> Record:
    """Return a Metarank interaction."""
    return {
        "event": "interaction", "id": f"{key}-{name}", "ranking": key, "item": name, "type": kind,
        "timestamp": "1599391468000",
    }  # fmt: skip


def write_lines(path: Path, records: Iterable[object]) -> str:
    """Write records a line each; return the file's name."""
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return str(path)


def write_array(path: Path, records: Iterable[object], indent: int | None = 1) -> str:
    """Write records as one array; return the file's name."""
    text = json.dumps(list(records), indent=indent, ensure_ascii=False)
    path.write_text(text, encoding="utf-8")
    return str(path)
