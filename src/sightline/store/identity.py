"""The name of a store in engines that hold several; generated when first needed."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from sightline.errors import StoreDamaged
from sightline.store.durable import write_file

NAME = "identity"


def identity(folder: Path) -> str:
    """Return the name of the store in a folder; "" if it has none."""
    try:
        text = (folder / NAME).read_text("ascii", errors="replace").strip()
    except FileNotFoundError:
        return ""
    if not re.fullmatch(r"[0-9a-f]{12}", text):
        raise StoreDamaged(
            f"{folder / NAME} does not hold the name of a store, 12 hex digits. "
            "Remove it, and export again."
        )
    return text


def create_identity(folder: Path) -> str:
    """Return the name of the store; generate one if it has none."""
    if not identity(folder):
        write_file(folder, NAME, [secrets.token_hex(6).encode("ascii")])
    return identity(folder)
