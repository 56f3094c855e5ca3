"""The tables of a store in Milvus: their names, what they say of themselves, and how to ask.

A table is a collection of Milvus, named after the store, the version and the view it was loaded
from; what it holds stands in its description. A reader finds it by an alias, which is moved only
when all rows are there. Nothing else knows Milvus's client.
"""

from __future__ import annotations

import json
import logging
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sightline._typing import Floats, Ints
from sightline.errors import EngineAway, EngineError, MissingExtra, UsageError
from sightline.settings import MILVUS
from sightline.store.engines.coverage import Held, held_of
from sightline.store.engines.views import Measure, Published, View

# NAME:PASSWORD, or a key: from the environment alone, so that no file or log has it.
TOKEN = "SIGHTLINE_MILVUS_TOKEN"
# Milvus returns no more hits than this, and takes no longer rows.
MOST_HITS = 16_384
LONGEST = 32_768
PATIENCE = 5.0
_KNOCK = 3.0
_NO_COLLECTION, _NOT_LOADED, _NO_ALIAS = 100, 101, 1600
_METRICS: dict[Measure, str] = {
    "product": "IP", "cosine": "IP", "words": "IP", "distance": "L2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Label:
    """What a table says of itself; it is written when the table is made, and never changes."""

    store: str
    version: int
    feature: str
    by: str
    length: int
    rows: int
    digest: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, store: str, p: Published, view: View) -> Label:
        parts = held_of(p, view).parts
        return cls(
            store, p.version, view.feature, view.by, view.length, view.rows, view.digest, parts
        )  # fmt: skip

    @property
    def held(self) -> Held:
        """What the table was given."""
        return Held(self.version, self.parts)

    def text(self) -> str:
        return json.dumps({"sightline": 1, **asdict(self)}, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Label | None:
        """Return what a description says; None if it is none of ours."""
        try:
            found = json.loads(text)
            if found.pop("sightline") != 1:
                return None
            return cls(**{**found, "parts": tuple(found["parts"])})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def address_of(uri: str) -> tuple[str, str, int]:
    """Return how the client names a server, its host and its port.

    >>> address_of("milvus://127.0.0.1:19530")
    ('http://127.0.0.1:19530', '127.0.0.1', 19530)
    >>> address_of("milvus+tls://pictures.example:443")
    ('https://pictures.example:443', 'pictures.example', 443)
    """
    match = MILVUS.fullmatch(uri)
    if match is None or not 0 < int(match[3]) < 65_536:
        raise UsageError(
            f"Milvus is named as milvus://HOST:PORT, or milvus+tls://HOST:PORT. Got {uri!r}."
        )
    scheme = "https" if match[1] else "http"
    return f"{scheme}://{match[2]}:{match[3]}", match[2], int(match[3])


def alias_of(store: str, view: View) -> str:
    """Return the alias by which readers find a table."""
    return f"sightline_{store}_{view.name}"


def table_name(store: str, version: int, view: View) -> str:
    """Return the name of the table of one version.

    A store that was put back to an older state counts its versions anew, so the number alone does
    not do.
    """
    return f"sightline_{store}_v{version}_{view.name}_{view.digest[:8]}"


class Tables:
    """A connection to one Milvus; every failure of it is an `EngineError`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        address, host, port = address_of(uri)
        try:
            from pymilvus import MilvusClient
        except ImportError as e:
            raise MissingExtra.of(f"The engine {uri}", "milvus") from e
        # What goes wrong is said by us; the client would print a traceback of its own beside it.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        try:
            # A port that nobody listens on is told at once, where the client would wait.
            socket.create_connection((host, port), timeout=_KNOCK).close()
        except OSError as e:
            raise EngineAway(f"Milvus at {uri} does not answer ({e.strerror or e}).") from e
        token = os.environ.get(TOKEN, "")
        with self.failures():
            # A connection of its own, which nobody else closes.
            self.client: Any = MilvusClient(
                uri=address, token=token, timeout=PATIENCE, dedicated=True
            )
        self.do("get_server_version", seconds=_KNOCK)

    def close(self) -> None:
        """Let go of the connection; one that is broken is let go of as well."""
        with suppress(EngineError), self.failures():
            self.client.close()

    def do(self, verb: str, *what: Any, seconds: float | None = None, **how: Any) -> Any:
        """Have the client do something, within `PATIENCE` if nothing else is said."""
        limit = PATIENCE if seconds is None else seconds
        with self.failures():
            return getattr(self.client, verb)(*what, timeout=limit, **how)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn whatever the client raises into an `EngineAway` that says it in a sentence."""
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, RpcError, OSError) as e:
            if getattr(e, "code", None) in (_NO_COLLECTION, _NOT_LOADED):
                raise EngineError(f"Milvus at {self.uri} says: {_reason(e)}.") from e
            # The client says the same of a server that is not ready and of a wrong password.
            more = ""
            if any(word in _reason(e) for word in ("illegal connection", "auth")):
                more = f" Does it want NAME:PASSWORD or a key in {TOKEN}, or milvus+tls://?"
            raise EngineAway(f"Milvus at {self.uri} does not answer ({_reason(e)}).{more}") from e

    def aliased(self, alias: str) -> str | None:
        """Return the table an alias points at; None if there is no such alias."""
        with self.failures():
            found = self._or_none("describe_alias", alias)
        return None if found is None else str(found["collection_name"])

    def label(self, table: str) -> tuple[Label | None, int, dict[str, str]] | None:
        """Return what a table says of itself, the length of its rows, and its properties."""
        with self.failures():
            description = self._or_none("describe_collection", table)
        if description is None:
            return None
        lengths = [int(f["params"]["dim"]) for f in description["fields"] if "dim" in f["params"]]
        return Label.read(description["description"]), sum(lengths), dict(description["properties"])

    def _or_none(self, verb: str, name: str) -> Any:
        """Return an answer, or None where Milvus says that it knows no such name."""
        from pymilvus.exceptions import MilvusException

        try:
            return getattr(self.client, verb)(name, timeout=PATIENCE)
        except MilvusException as e:
            if e.code in (_NO_COLLECTION, _NO_ALIAS):
                return None
            raise

    def names(self) -> list[str]:
        """Return the names of all tables there."""
        return sorted(self.do("list_collections"))

    def is_loaded(self, table: str) -> bool:
        """Return whether a table is in memory, so that it can be searched and counted."""
        return str(self.do("get_load_state", table)["state"]) == "Loaded"

    def count(self, table: str, where: str = "") -> int:
        """Return how many rows a loaded table has, deleted ones left out, as of now."""
        found = self.do(
            "query", table, filter=where, output_fields=["count(*)"], consistency_level="Strong"
        )
        return int(found[0]["count(*)"])

    def rows(self, table: str, ids: Sequence[int]) -> tuple[Ints, Floats]:
        """Return rows of a loaded table, those that are there, ids ascending."""
        entities = self.do(
            "query", table, filter=f"id in {list(ids)}", output_fields=["id", "row"],
            consistency_level="Strong",
        )  # fmt: skip
        entities = sorted(entities, key=lambda r: int(r["id"]))
        rows = np.array([r["row"] for r in entities], np.float32)
        return np.array([r["id"] for r in entities], np.int64), rows

    def search(
        self, table: str, by: Measure, weights: Floats, n: int, probes: int
    ) -> tuple[Ints, Floats]:
        """Return the n best rows of a table and their scores, as the flat scan counts them."""
        how = {"metric_type": _METRICS[by], "params": {"nprobe": probes} if probes else {}}
        # What is searched never changes once an alias points at it: nothing to wait for.
        (hits,) = self.do(
            "search", table, weights[None], limit=n, search_params=how,
            consistency_level="Eventually",
        )  # fmt: skip
        ids = np.array([h["id"] for h in hits], np.int64)
        scores = np.array([h["distance"] for h in hits], np.float32)
        return ids, np.float32(weights @ weights) - scores if by == "distance" else scores


def metric_of(view: View) -> str:
    """Return Milvus's name for what a table is ranked by."""
    return _METRICS[view.by]


def _reason(e: Exception) -> str:
    """Return the first sentence of what a client says."""
    text = getattr(e, "message", "") or getattr(e, "details", lambda: "")() or str(e)
    return " ".join(str(text).split())[:160]


def not_another(uri: str, table: str, label: Label | None, length: int, expected: Label) -> Label:
    """Refuse a table of somebody else, or of other rows, in words that say which it is."""
    again = f"Run: sightline export milvus --uri {uri}"
    if label is None:
        raise EngineError(f"The table {table} at {uri} is none of Sightline's. {again}")
    if label.store != expected.store:
        raise EngineError(
            f"The table {table} at {uri} belongs to another store ({label.store}, not "
            f"{expected.store}). {again}"
        )
    if length != expected.length or label.length != expected.length:
        raise EngineError(
            f"The table {table} at {uri} has rows of {length} numbers, those of {expected.feature} "
            f"have {expected.length}. {again}"
        )
    return label


def of_older(uri: str, table: str, label: Label, expected: Label) -> EngineError:
    """Say that a table holds another version than the store is at."""
    return EngineError(
        f"The table {table} at {uri} holds version {label.version}, the store is at version "
        f"{expected.version}. Run: sightline export milvus --uri {uri}"
    )
