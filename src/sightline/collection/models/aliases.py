"""Terms that a model learned as others.

Forms of one word are one column of the labels, and so are words that are always on the same
pictures. The column goes by one of its terms, as its owner wrote it; the others are its aliases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Aliases:
    """Terms, ascending, and for each the term that it was learned as.

    Examples
    --------
    >>> aliases = Aliases.of({7: 3, 5: 3})
    >>> aliases.names_of(np.array([3, 5, 6, 7])).tolist(), aliases.forms_of(3).tolist()
    ([3, 3, 6, 3], [3, 5, 7])
    """

    terms: Ints
    names: Ints

    @classmethod
    def of(cls, names: Mapping[int, int]) -> Self:
        """Return the aliases of a mapping."""
        terms = np.array(sorted(names), np.int64)
        return cls(terms, np.array([names[t] for t in terms.tolist()], np.int64))

    def __len__(self) -> int:
        return len(self.terms)

    def names_of(self, terms: Ints) -> Ints:
        """Return for each term what it was learned as, itself if it is no alias."""
        if not len(self.terms):
            return terms
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        named: Ints = np.where(self.terms[at] == terms, self.names[at], terms)
        return named

    def learned(self, terms: Sequence[int], known: Ints) -> int | None:
        """Return what the first of some terms was learned as, by all that was; None if none was."""
        named = self.names_of(np.array(terms, np.int64))
        learned = named[np.isin(named, known)]
        return int(learned[0]) if len(learned) else None

    def forms_of(self, name: int) -> Ints:
        """Return a term and those that were learned as it."""
        return np.concatenate([np.array([name], np.int64), self.terms[self.names == name]])

    def of_names(self, names: Ints) -> Aliases:
        """Return the aliases of some terms alone."""
        keep = np.isin(self.names, names) & ~np.isin(self.terms, names)
        return Aliases(self.terms[keep], self.names[keep])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return them as arrays of a model; none if there are no aliases."""
        return {"aliases": self.terms, "alias_names": self.names} if len(self) else {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Aliases:
        """Return the aliases of a model, none for those of earlier releases."""
        if "aliases" not in arrays:
            return NO_ALIASES
        return cls(np.asarray(arrays["aliases"]), np.asarray(arrays["alias_names"]))

    def joined(self, more: Aliases) -> Aliases:
        """Return these and more; where a term is in both, these count."""
        new = ~np.isin(more.terms, self.terms)
        terms = np.concatenate([self.terms, more.terms[new]])
        order = np.argsort(terms, kind="stable")
        return Aliases(terms[order], np.concatenate([self.names, more.names[new]])[order])


NO_ALIASES = Aliases(np.zeros(0, np.int64), np.zeros(0, np.int64))


def always_together(table: Any, terms: Ints, spelled: Mapping[int, str]) -> dict[int, int]:
    """Return the words that have the same pictures as another, each with the one that is learned.

    That is the tag of most words, as its owner wrote it, then the shortest. Without spellings
    every word is learned by itself.
    """
    if not spelled:
        return {}
    columns = table.tocsc()
    columns.sort_indices()
    same: dict[bytes, list[int]] = {}
    for w, term in enumerate(terms.tolist()):
        rows = columns.indices[columns.indptr[w] : columns.indptr[w + 1]]
        same.setdefault(rows.tobytes(), []).append(term)

    def order(term: int) -> tuple[int, int, str]:
        text = spelled.get(term, "")
        return -text.count(" "), len(text), text

    groups = (sorted(group, key=order) for group in same.values() if len(group) > 1)
    return {term: first for first, *rest in groups for term in rest}
