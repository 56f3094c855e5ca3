"""The content of sidecars as exiftool reads it, and the keywords that galleries would show."""

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


class SidecarContent(NamedTuple):
    """The keyword lists of a sidecar, the names of its regions, and exiftool's warnings."""

    tags_list: tuple[str, ...]
    hierarchical: tuple[str, ...]
    subject: tuple[str, ...]
    regions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def executable() -> str:
    """Return the path of exiftool; without it a test is skipped, or fails if none may be."""
    path = shutil.which("exiftool") or (str(_VENDORED) if _VENDORED.exists() else None)
    if path is None or shutil.which("perl") is None:
        reason = f"no exiftool here: {HOW}"
        if os.environ.get("SIGHTLINE_EXIFTOOL_TESTS") == "all":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def read(paths: Sequence[Path]) -> list[SidecarContent]:
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
    entries = json.loads(done.stdout, parse_int=str, parse_float=str)
    assert [entry["SourceFile"] for entry in entries] == list(map(str, paths)), done.stderr
    return [_content(entry) for entry in entries]


def read_packets(packets: Sequence[bytes], folder: Path) -> list[SidecarContent]:
    """Read packets in one call."""
    paths = [folder / f"{i}.xmp" for i in range(len(packets))]
    for path, packet in zip(paths, packets, strict=True):
        path.write_bytes(packet)
    return read(paths)


def immich(content: SidecarContent) -> set[str]:
    """Return the tags that immich shows: the first list there is, levels separated by `/`."""
    if content.tags_list:
        entries = list(content.tags_list)
    else:
        levels = (entry.split("|") for entry in content.hierarchical)
        entries = ["/".join(level.replace("/", "|") for level in path) for path in levels]
    return {"/".join(filter(None, entry.split("/"))) for entry in entries}


def lightroom(content: SidecarContent) -> set[tuple[str, ...]]:
    """Return the keywords that Lightroom and darktable show, as levels."""
    return {tuple(entry.split("|")) for entry in content.hierarchical or content.subject}


def _content(entry: dict[str, object]) -> SidecarContent:
    regions = entry.get(_REGIONS)
    listed = regions.get("RegionList", []) if isinstance(regions, dict) else []
    names = tuple(str(region.get("Name")) for region in listed)
    warnings = tuple(f"{k}: {v}" for k, v in entry.items() if k.endswith(("Warning", "Error")))
    tags, hierarchical, subject = (
        _listed(entry.get(name)) for name in (_TAGS_LIST, _HIERARCHICAL, _SUBJECT)
    )
    return SidecarContent(tags, hierarchical, subject, names, warnings)


def _listed(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)
