"""One search: by words, by pictures, or by words with example pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection.filters import Filters
    from sightline.collection.pictures import PictureLike
    from sightline.collection.results import Results
    from sightline.collection.search.words import SearchOptions
    from sightline.contracts import Compute
    from sightline.settings import Settings
    from sightline.store.folder import Reader


@dataclass(frozen=True, slots=True)
class Examples:
    """Example pictures of a search, positive and negative, and what compares them.

    Attributes
    ----------
    feature : str
        The feature to compare by; empty for the best that nearly all pictures have.
    compute : Compute or None
        Where pictures outside the collection are described.
    """

    positive: Sequence[PictureLike] = ()
    negative: Sequence[PictureLike] = ()
    feature: str = ""
    compute: Compute | None = None

    def __bool__(self) -> bool:
        return bool(self.positive or self.negative)


def answer(
    reader: Reader,
    root: bytes,
    settings: Settings,
    query: str,
    k: int,
    filters: Filters,
    options: SearchOptions,
    examples: Examples,
) -> Results:
    """Answer a query of words, of pictures, or of words with example pictures."""
    from sightline.collection.search import words
    from sightline.words.grammar import parse

    parsed = parse(query)
    if not parsed.pictures and not examples:
        return words.search(reader, root, query, k, filters.where(root), options)
    if not options.is_plain:
        raise UsageError(
            "ids, offset, count, cut and predicted go with words alone. "
            f"Got {query!r} with example pictures."
        )
    from sightline.collection.similarity.candidates import by_sign, similar

    positive, negative = by_sign(parsed.pictures)
    if parsed.terms or parsed.excluded:
        from sightline.collection.search.examples import search_by_examples, unweighted

        text = str(replace(parsed, pictures=()))
        both = replace(
            examples,
            positive=(*unweighted(positive), *examples.positive),
            negative=(*unweighted(negative), *examples.negative),
        )
        return search_by_examples(reader, root, settings, text, both, k, filters)
    positive += [(p, 1.0) for p in examples.positive]
    negative += [(p, 1.0) for p in examples.negative]
    compute = examples.compute
    return similar(reader, root, settings, positive, negative, k, filters, compute=compute)
