"""The feature of starting words: what index computes while no picture has a word.

Starting words answer nouns by the classes of a network, from the rows of its feature. Owners who
name no features get it computed as long as their collection has no words to learn from. It is not
remembered: once there are words, a training computes what it learns from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sightline.collection.index.run import IndexReport
from sightline.features.deep.session import is_available

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.store.writer import Writer

STARTING_FEATURE = "deep"


def lacks_words(collection: Collection, writer: Writer) -> bool:
    """Return whether starting words are wanted and can be computed, and no picture has a word."""
    if not collection.settings.starting_words or not is_available():
        return False
    pictures, with_words, _ = writer.catalogue.counts()
    return pictures > 0 and not with_words


def with_starting_words(first: IndexReport, second: IndexReport) -> IndexReport:
    """Return the report of a run that read pictures and one that then described them."""
    return replace(
        first, version=second.version, indexed=second.indexed, skipped=second.skipped,
        problems=tuple(dict.fromkeys([*first.problems, *second.problems])),
        groups=second.groups if len(second.skipped) > len(first.skipped) else first.groups,
        seconds=first.seconds + second.seconds, starting_words=True,
    )  # fmt: skip
