"""What exiftool reads in sidecars, and what galleries would show of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

HOW = "apt-get install libimage-exiftool-perl, or npm and make .node/ready"
# The version that immich bundles.
_VENDORED = Path(__file__).parents[2] / ".node/node_modules/exiftool-vendored.pl/bin/exiftool"
_TAGS_LIST, _HIERARCHICAL, _SUBJECT, _REGIONS = (
    "XMP-digiKam:TagsList", "XMP-lr:HierarchicalSubject", "XMP-dc:Subject",
    "XMP-mwg-rs:RegionInfo",
)  # fmt: skip


class Seen(NamedTuple):
    """The keyword lists of a sidecar, the names of its regions, and what exiftool complains of."""

    tags_list: tuple[str, ...]
    hierarchical: tuple[str, ...]
    subject: tuple[str, ...]
    regions: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()


def executable() -> str:
    """Return where exiftool is; without it a test is left out, or fails where none may be."""
    found = shutil.which("exiftool") or (str(_VENDORED) if _VENDORED.exists() else None)
    if found is None or shutil.which("perl") is None:
        reason = f"no exiftool here: {HOW}"
        if os.environ.get("SIGHTLINE_EXIFTOOL_TESTS") == "all":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def read(paths: Sequence[Path]) -> list[Seen]:
    """Read sidecars in one call, in their order."""
    wanted = [f"-{name}" for name in (_TAGS_LIST, _HIERARCHICAL, _SUBJECT, _REGIONS)]
    command = [
        executable(),
        "-j",
        "-struct",
        "-G1",
        "-charset",
        "utf8",
        *wanted,
        "-Warning",
        "-Error",
    ]
    done = subprocess.run(
        [*command, "-@", "-"], input="\n".join(map(str, paths)), capture_output=True, text=True,
        check=False, encoding="utf-8",
    )  # fmt: skip
    # Numbers stay as they are written: 2024.10 is a keyword.
    found = json.loads(done.stdout, parse_int=str, parse_float=str)
    assert [entry["SourceFile"] for entry in found] == list(map(str, paths)), done.stderr
    return [_seen(entry) for entry in found]


def read_packets(packets: Sequence[bytes], folder: Path) -> list[Seen]:
    """Read packets in one call."""
    paths = [folder / f"{i}.xmp" for i in range(len(packets))]
    for path, packet in zip(paths, packets, strict=True):
        path.write_bytes(packet)
    return read(paths)


def immich(seen: Seen) -> set[str]:
    """Return the tags immich shows of a sidecar: of the first list there is, `/` parts levels."""
    if seen.tags_list:
        entries = list(seen.tags_list)
    else:
        levels = (entry.split("|") for entry in seen.hierarchical)
        entries = ["/".join(level.replace("/", "|") for level in path) for path in levels]
    return {"/".join(filter(None, entry.split("/"))) for entry in entries}


def lightroom(seen: Seen) -> set[tuple[str, ...]]:
    """Return the keywords Lightroom and darktable show of a sidecar, as levels."""
    return {tuple(entry.split("|")) for entry in seen.hierarchical or seen.subject}


def _seen(entry: dict[str, object]) -> Seen:
    regions = entry.get(_REGIONS)
    listed = regions.get("RegionList", []) if isinstance(regions, dict) else []
    names = tuple(str(region.get("Name")) for region in listed)
    complaints = tuple(f"{k}: {v}" for k, v in entry.items() if k.endswith(("Warning", "Error")))
    tags, hierarchical, subject = (
        _listed(entry.get(name)) for name in (_TAGS_LIST, _HIERARCHICAL, _SUBJECT)
    )
    return Seen(tags, hierarchical, subject, names, complaints)


def _listed(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)
