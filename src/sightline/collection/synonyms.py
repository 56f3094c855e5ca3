"""The owner's list of words that count as one: `synonyms.toml` in the store.

    # Words that count as one, everywhere. The first of a group is the one that is shown.
    groups = [["bicycle", "bike", "cycle"], ["sofa", "couch"]]

    # Words that are never folded with other forms.
    separate = ["glasses"]

    # Words that no region of a picture shows: they are not learned by the region model.
    not_in_regions = ["2019", "holiday"]

Search reads it at every query, training and regions when they learn; tags stay as they were
written. `tag-words.toml`, which held the list of the region model, is read beside it: `drop` are
words that no region shows, and [merge] names words with their synonyms.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sightline.errors import UsageError
from sightline.words.folding import Synonyms
from sightline.words.tokens import labels

FILE, EARLIER_FILE = "synonyms.toml", "tag-words.toml"


@dataclass(frozen=True, slots=True)
class SynonymList:
    """What the owner wrote down: synonyms, and words that no region shows."""

    synonyms: Synonyms = field(default_factory=Synonyms)
    not_in_regions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.synonyms or self.not_in_regions)

    def __str__(self) -> str:
        if not self:
            return "none"
        lines = [" = ".join(group) for group in self.synonyms.groups]
        if self.synonyms.separate:
            lines.append(f"separate: {', '.join(self.synonyms.separate)}")
        if self.not_in_regions:
            lines.append(f"not in regions: {', '.join(self.not_in_regions)}")
        return "; ".join(lines)


# What identifies the content of both files: their times and sizes.
Stamp = tuple[tuple[int, int] | None, ...]


def stamp_of(folder: Path) -> Stamp:
    """Return what changes whenever one of the files of a store does."""
    return tuple(_stamp(folder / name) for name in (FILE, EARLIER_FILE))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def load_synonyms(folder: Path) -> SynonymList:
    """Return the list of a store; an empty one without a file.

    Raises
    ------
    UsageError
        A file cannot be read, holds something unknown, or names a word in two groups.
    """
    path, earlier = folder / FILE, folder / EARLIER_FILE
    content, old = _content(path), _content(earlier)
    _check_keys(content, ("groups", "separate", "not_in_regions"), path)
    _check_keys(old, ("drop", "merge"), earlier)
    groups = [_group(g, path) for g in _list(content.get("groups", []), "groups", path)]
    named: dict[str, Path] = {}
    for group in groups:
        _check_once(group, named, path)
    separate = _words(content.get("separate", []), "separate", path)
    dropped = _words(content.get("not_in_regions", []), "not_in_regions", path)
    for group in _merged(old, earlier):
        _check_once(group, named, earlier)
        groups.append(group)
    dropped += _words(old.get("drop", []), "drop", earlier)
    wrong = next((w for w in dropped if w in named), None)
    if wrong is not None:
        raise UsageError(
            f"{named[wrong]}: {wrong!r} counts as another word and is dropped from regions too. "
            "Name each word once."
        )
    kept = tuple(g for g in groups if len(g) > 1)
    return SynonymList(Synonyms(kept, tuple(sorted(set(separate)))), tuple(sorted(set(dropped))))


def _content(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise UsageError(f"{path} cannot be read: {e}. Correct it, or remove it.") from e


def _check_keys(content: Mapping[str, object], known: tuple[str, ...], path: Path) -> None:
    unknown = sorted(set(content) - set(known))
    if unknown:
        raise UsageError(f"{path} has {unknown[0]!r}; only {', '.join(known)} are known.")


def _check_once(group: tuple[str, ...], named: dict[str, Path], path: Path) -> None:
    for word in group:
        if word in named:
            raise UsageError(
                f"{path}: {word!r} is in two groups, or names one and counts as another word. "
                "Join the groups, or name each word once."
            )
    named.update(dict.fromkeys(group, path))


def _merged(old: Mapping[str, object], path: Path) -> list[tuple[str, ...]]:
    merges = old.get("merge", {})
    if not isinstance(merges, dict):
        raise UsageError(f"{path}: 'merge' must be a table. Write: [merge]")
    return [
        tuple(dict.fromkeys((_word(str(name), path), *_words(synonyms, str(name), path))))
        for name, synonyms in merges.items()
    ]


def _group(value: object, path: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_words(value, "groups", path)))


def _list(value: object, name: str, path: Path) -> list[object]:
    if not isinstance(value, list):
        raise UsageError(f"{path}: {name!r} must be a list of lists of words. Got {value!r}.")
    return value


def _words(value: object, name: str, path: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(w, str) for w in value):
        raise UsageError(f"{path}: {name!r} must hold lists of words. Got {value!r}.")
    return [_word(w, path) for w in value]


def _word(text: str, path: Path) -> str:
    words = labels(text)
    if len(words) != 1:
        raise UsageError(f"{path}: {text!r} is no word. Write one label of letters or digits.")
    return words[0]
