"""Which engine answers, by its setting: flat, faiss or milvus://host:port."""

from __future__ import annotations

from pathlib import Path

from sightline.errors import UsageError
from sightline.store.engines.candidates import Engine
from sightline.store.identity import identity


def engine_of(setting: str, folder: Path, listed_rows: int) -> Engine | None:
    """Return the engine of a store's folder; None for the flat scan.

    `listed_rows` says from how many rows on a table should have lists.
    """
    if setting == "flat":
        return None
    if setting == "faiss":
        from sightline.store.engines.faiss_ivf import FaissEngine

        return FaissEngine(folder / "ivf", listed_rows)
    if setting.startswith("milvus"):
        from sightline.store.engines.milvus_server import MilvusEngine
        from sightline.store.engines.milvus_tables import address_of

        address_of(setting)
        return MilvusEngine(setting, lambda: identity(folder))
    raise UsageError(f"An engine is flat, faiss or milvus://HOST:PORT. Got {setting!r}.")
