"""The tables of a store in Milvus: their names, their labels, and requests to them.

A table is a collection of Milvus, named after the store, the version and what it was loaded
from; its description holds a label. A reader finds it by an alias, which is moved only when all
rows are there. Only this module uses Milvus's client.
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
from sightline.store.engines.coverage import LoadedParts, held_of
from sightline.store.engines.tables import EngineTable, Measure, Published

# NAME:PASSWORD or an API key; read from the environment only, so that no file or log has it.
TOKEN = "SIGHTLINE_MILVUS_TOKEN"
# Limits of Milvus: hits of one search, and numbers of one row.
MOST_HITS = 16_384
LONGEST = 32_768
REQUEST_SECONDS = 5.0
_CONNECT_SECONDS = 3.0
_NO_COLLECTION, _NOT_LOADED, _NO_ALIAS = 100, 101, 1600
_METRICS: dict[Measure, str] = {
    "product": "IP", "cosine": "IP", "words": "IP", "distance": "L2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Label:
    """The description of a table; it is written when the table is made, and never changes."""

    store: str
    version: int
    feature: str
    by: str
    length: int
    rows: int
    digest: str
    parts: tuple[str, ...]

    @classmethod
    def of(cls, store: str, p: Published, table: EngineTable) -> Label:
        """Return the label of a table."""
        parts = held_of(p, table).parts
        return cls(
            store, p.version, table.feature, table.by, table.length, table.rows, table.digest, parts
        )  # fmt: skip

    @property
    def held(self) -> LoadedParts:
        """What was loaded into the table."""
        return LoadedParts(self.version, self.parts)

    def text(self) -> str:
        """Return the label as the text of a description."""
        return json.dumps({"sightline": 1, **asdict(self)}, sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Label | None:
        """Parse a description; None if Sightline did not write it."""
        try:
            fields = json.loads(text)
            if fields.pop("sightline") != 1:
                return None
            return cls(**{**fields, "parts": tuple(fields["parts"])})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def address_of(uri: str) -> tuple[str, str, int]:
    """Return the address of a server as its client wants it, its host and its port.

    >>> address_of("milvus://127.0.0.1:19530")
    ('http://127.0.0.1:19530', '127.0.0.1', 19530)
    >>> address_of("milvus+tls://pictures.example:443")
    ('https://pictures.example:443', 'pictures.example', 443)
    """
    match = MILVUS.fullmatch(uri)
    if match is None or not 0 < int(match[3]) < 65_536:
        raise UsageError(
            f"The address of Milvus must be milvus://HOST:PORT or milvus+tls://HOST:PORT. "
            f"Got {uri!r}."
        )
    scheme = "https" if match[1] else "http"
    return f"{scheme}://{match[2]}:{match[3]}", match[2], int(match[3])


def alias_of(store: str, table: EngineTable) -> str:
    """Return the alias by which readers find a table."""
    return f"sightline_{store}_{table.name}"


def table_name(store: str, version: int, table: EngineTable) -> str:
    """Return the name of the table of one version.

    The version's number alone would not be unique: a store restored from a backup counts on from
    there.
    """
    return f"sightline_{store}_v{version}_{table.name}_{table.digest[:8]}"


class Tables:
    """A connection to one Milvus; every failure of it is an `EngineError`."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        address, host, port = address_of(uri)
        try:
            from pymilvus import MilvusClient
        except ImportError as e:
            raise MissingExtra.of(f"The engine {uri}", "milvus") from e
        # Errors are reported by us; the client would also print its own traceback.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        try:
            # A port that nobody listens on fails at once here; the client would wait.
            socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        except OSError as e:
            raise EngineAway(f"Milvus at {uri} does not answer ({e.strerror or e}).") from e
        token = os.environ.get(TOKEN, "")
        with self.failures():
            # A dedicated connection, which nobody else closes.
            self.client: Any = MilvusClient(
                uri=address, token=token, timeout=REQUEST_SECONDS, dedicated=True
            )
        self.do("get_server_version", seconds=_CONNECT_SECONDS)

    def close(self) -> None:
        """Close the connection, even if it is broken."""
        with suppress(EngineError), self.failures():
            self.client.close()

    def do(self, method: str, *args: Any, seconds: float | None = None, **kwargs: Any) -> Any:
        """Call a method of the client, by default with a limit of `REQUEST_SECONDS`."""
        limit = REQUEST_SECONDS if seconds is None else seconds
        with self.failures():
            return getattr(self.client, method)(*args, timeout=limit, **kwargs)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn the client's exceptions into an `EngineError` or `EngineAway`."""
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, RpcError, OSError) as e:
            if getattr(e, "code", None) in (_NO_COLLECTION, _NOT_LOADED):
                raise EngineError(f"Milvus at {self.uri} says: {_reason(e)}.") from e
            # The client reports a server that is not ready and a wrong password alike.
            hint = ""
            if any(word in _reason(e) for word in ("illegal connection", "auth")):
                hint = f" It may need NAME:PASSWORD or a key in {TOKEN}, or milvus+tls://."
            raise EngineAway(f"Milvus at {self.uri} does not answer ({_reason(e)}).{hint}") from e

    def aliased(self, alias: str) -> str | None:
        """Return the table an alias points at; None if there is no such alias."""
        with self.failures():
            description = self._or_none("describe_alias", alias)
        return None if description is None else str(description["collection_name"])

    def label(self, name: str) -> tuple[Label | None, int, dict[str, str]] | None:
        """Return a table's label, the length of its rows, and its properties; None if missing."""
        with self.failures():
            description = self._or_none("describe_collection", name)
        if description is None:
            return None
        lengths = [int(f["params"]["dim"]) for f in description["fields"] if "dim" in f["params"]]
        return Label.read(description["description"]), sum(lengths), dict(description["properties"])

    def _or_none(self, method: str, name: str) -> Any:
        """Return the answer of the client's method, or None if Milvus has no such name."""
        from pymilvus.exceptions import MilvusException

        try:
            return getattr(self.client, method)(name, timeout=REQUEST_SECONDS)
        except MilvusException as e:
            if e.code in (_NO_COLLECTION, _NO_ALIAS):
                return None
            raise

    def names(self) -> list[str]:
        """Return the names of all tables there."""
        return sorted(self.do("list_collections"))

    def is_loaded(self, name: str) -> bool:
        """Return whether a table is in memory, so that it can be searched and counted."""
        return str(self.do("get_load_state", name)["state"]) == "Loaded"

    def count(self, name: str, where: str = "") -> int:
        """Return how many rows a loaded table has, deleted ones left out, as of now."""
        answer = self.do(
            "query", name, filter=where, output_fields=["count(*)"], consistency_level="Strong"
        )
        return int(answer[0]["count(*)"])

    def rows(self, name: str, ids: Sequence[int]) -> tuple[Ints, Floats]:
        """Return rows of a loaded table, those that are there, ids ascending."""
        entities = self.do(
            "query", name, filter=f"id in {list(ids)}", output_fields=["id", "row"],
            consistency_level="Strong",
        )  # fmt: skip
        entities = sorted(entities, key=lambda r: int(r["id"]))
        rows = np.array([r["row"] for r in entities], np.float32)
        return np.array([r["id"] for r in entities], np.int64), rows

    def search(
        self, name: str, by: Measure, weights: Floats, n: int, probes: int
    ) -> tuple[Ints, Floats]:
        """Return the n best rows of a table and their scores, on the scale of the flat scan."""
        how = {"metric_type": _METRICS[by], "params": {"nprobe": probes} if probes else {}}
        # A table never changes once an alias points at it, so there is nothing to wait for.
        (hits,) = self.do(
            "search", name, weights[None], limit=n, search_params=how,
            consistency_level="Eventually",
        )  # fmt: skip
        ids = np.array([h["id"] for h in hits], np.int64)
        scores = np.array([h["distance"] for h in hits], np.float32)
        return ids, np.float32(weights @ weights) - scores if by == "distance" else scores


def metric_of(table: EngineTable) -> str:
    """Return Milvus's name of the measure that a table is ranked by."""
    return _METRICS[table.by]


def _reason(e: Exception) -> str:
    """Return the beginning of a client's error message, on one line."""
    text = getattr(e, "message", "") or getattr(e, "details", lambda: "")() or str(e)
    return " ".join(str(text).split())[:160]


def check_label(uri: str, name: str, label: Label | None, length: int, expected: Label) -> Label:
    """Return a table's label; raise if it is another store's or its rows have another length."""
    remedy = f"Run: sightline export milvus --uri {uri}"
    if label is None:
        raise EngineError(f"The table {name} at {uri} was not made by Sightline. {remedy}")
    if label.store != expected.store:
        raise EngineError(
            f"The table {name} at {uri} belongs to another store ({label.store}, not "
            f"{expected.store}). {remedy}"
        )
    if length != expected.length or label.length != expected.length:
        raise EngineError(
            f"The table {name} at {uri} has rows of {length} numbers, those of {expected.feature} "
            f"have {expected.length}. {remedy}"
        )
    return label


def outdated_error(uri: str, name: str, label: Label, expected: Label) -> EngineError:
    """Return the error of a table that holds another version than the store's current one."""
    return EngineError(
        f"The table {name} at {uri} holds version {label.version}, the store is at version "
        f"{expected.version}. Run: sightline export milvus --uri {uri}"
    )
