"""What to export, and where to: checked before anything is written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sightline.collection.discovery import inside
from sightline.collection.export.select import ExportSelection
from sightline.errors import ParameterError, UsageError
from sightline.exchange.exported import EARLIER_KINDS, KINDS
from sightline.records import shown
from sightline.registry import EXPORT_FORMATS


def check_target(
    root: bytes,
    store: Path,
    format: str,
    target: str | os.PathLike[str] | None,
    into_collection: bool,
    overwrite: bool,
) -> Path | None:
    """Return where to write, None for beside the pictures; raise for what must not be written."""
    if format not in EXPORT_FORMATS:
        raise ParameterError.of("format", "export", f"one of {', '.join(EXPORT_FORMATS)}", format)
    is_file = EXPORT_FORMATS[format].is_file
    if into_collection and (is_file or target is not None or overwrite):
        raise UsageError(
            "Only xmp goes into the collection, without a target, and is merged. Leave out "
            + ("--overwrite." if overwrite else "the flag." if is_file else "TARGET.")
        )
    if into_collection:
        return None
    if target is None:
        raise UsageError(f"Where to? Name a {'file' if is_file else 'folder'}.")
    place = Path(os.path.realpath(_named(format, target)))
    _check_outside(place, root, store)
    if not is_file and inside(Path(os.fsdecode(root)), os.fsencode(place)):
        raise UsageError(
            f"The collection {shown(root)} lies inside {place}, so sidecars could land "
            "among the pictures. Name a folder of its own."
        )
    if not is_file and place.exists() and not place.is_dir():
        raise UsageError(f"{place} is no folder. Name a folder for the sidecars.")
    if is_file and place.exists() and not overwrite:
        raise UsageError(f"{place} is there already. Name another file, or add --overwrite.")
    return place


def _check_outside(place: Path, root: bytes, store: Path) -> None:
    if inside(place, root):
        raise UsageError(
            f"{place} lies inside the collection, where nothing is ever written. Name another "
            "place; sidecars beside the pictures: sightline export xmp --into-collection"
        )
    if inside(place, os.fsencode(os.path.realpath(store))):
        raise UsageError(f"{place} lies inside the store. Name another place.")


def check_selection(only: Sequence[str], min_confidence: float, untagged: bool) -> ExportSelection:
    """Return which words to export; raise for kinds that do not exist."""
    if not 0 <= min_confidence <= 1:
        raise ParameterError.of("min_confidence", "export", "from 0 to 1", min_confidence)
    only = [EARLIER_KINDS.get(k, k) for k in only]
    if unknown := [k for k in only if k not in KINDS]:
        raise ParameterError.of("only", "export", f"among {', '.join(KINDS)}", unknown[0])
    kinds = frozenset(k for k in KINDS if not only or k in only)
    return ExportSelection(kinds, min_confidence, untagged)


def _named(format: str, target: str | os.PathLike[str]) -> Path:
    """Return the file that is meant; a folder gets one with the usual name."""
    place = Path(target).expanduser().absolute()
    entry = EXPORT_FORMATS[format]
    if not entry.is_file:
        return place
    if place.is_dir() or os.fspath(target).endswith("/"):
        return place / entry.file
    ending = Path(entry.file).suffix
    if place.suffix.lower() != ending:
        raise UsageError(f"A file of {format} ends in {ending}. Name it so, not {place.name!r}.")
    return place
