"""Which words the region model learns: the owner's list of synonyms and of invisible words.

The paper joins words that mean the same and drops those that no region can show. Which these are
only the owner knows, so the list is a file of the store that people write, `tag-words.toml`:

    drop = ["2019", "holiday"]

    [merge]
    bicycle = ["bike", "bikes"]

It changes what is learnt and proposed, not what is searched for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sightline.errors import UsageError
from sightline.words.term_ids import term_id
from sightline.words.tokens import labels

FILE = "tag-words.toml"


@dataclass(frozen=True, slots=True)
class WordList:
    """Words that are dropped, and words that count as another one: (synonym, word)."""

    drop: tuple[str, ...] = ()
    merge: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.drop or self.merge)

    def __str__(self) -> str:
        if not self:
            return "none"
        joined = [f"{synonym} = {word}" for synonym, word in self.merge]
        dropped = [f"dropped: {', '.join(self.drop)}"] if self.drop else []
        return "; ".join([*joined, *dropped])

    def counts_as(self) -> dict[int, int | None]:
        """Return for each term of the list the term it counts as; None for one that is dropped.

        >>> found = WordList(("2019",), (("bike", "bicycle"),)).counts_as()
        >>> found[term_id("2019")] is None, found[term_id("bike")] == term_id("bicycle")
        (True, True)
        """
        merged: dict[int, int | None] = {term_id(a): term_id(b) for a, b in self.merge}
        return {**merged, **{term_id(w): None for w in self.drop}}


def load_list(folder: Path) -> WordList:
    """Return the list of a store; an empty one where nobody wrote any."""
    path = folder / FILE
    try:
        text = path.read_bytes().decode("utf-8")
        found = tomllib.loads(text)
    except FileNotFoundError:
        return WordList()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise UsageError(f"{path} cannot be read: {e}. Mend it, or remove it.") from e
    return _checked(found, path)


def _checked(found: Mapping[str, object], path: Path) -> WordList:
    unknown = sorted(set(found) - {"drop", "merge"})
    if unknown:
        raise UsageError(f"{path} says {unknown[0]!r}; only 'drop' and [merge] mean anything.")
    drop = [_word(w, path) for w in _words(found.get("drop", []), "drop", path)]
    merge: dict[str, str] = {}
    table = found.get("merge", {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: 'merge' must be a table. Write: [merge]")
    for word, synonyms in table.items():
        for synonym in _words(synonyms, word, path):
            merge[_word(synonym, path)] = _word(word, path)
    for synonym, word in merge.items():
        if synonym in drop or word in merge or word in drop:
            raise UsageError(
                f"{path}: {synonym!r} counts as {word!r}, but one of them is dropped or counts as "
                "another word. Let each word stand once."
            )
    return WordList(tuple(sorted(set(drop))), tuple(sorted(merge.items())))


def _words(value: object, name: str, path: Path) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(w, str) for w in value):
        raise UsageError(f"{path}: {name!r} must be a list of words. Got {value!r}.")
    return [str(w) for w in value]


def _word(text: str, path: Path) -> str:
    found = labels(text)
    if len(found) != 1:
        raise UsageError(f"{path}: {text!r} is no word. Write one label of letters or digits.")
    return found[0]
