"""From a picture to texts: what is written of other pictures, ranked for this one.

A text is all that is written of one picture of the collection, however long. The score says how
likely it fits: that it holds a word of this picture, as the lists that were learnt from ask. Equal
texts are told once, with the picture that was read first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightline.collection.learning.texts import FITS
from sightline.collection.likeness.asking import Picture, find
from sightline.collection.telling.space import Float, Int, Space
from sightline.collection.telling.words import views_of
from sightline.contracts import Compute
from sightline.errors import CollectionError
from sightline.records import Tags
from sightline.settings import Settings
from sightline.store.home import Reader


@dataclass(frozen=True, slots=True)
class ToldText:
    """A text: the first picture that carries it, how many do, how likely it fits.

    `own` is true for the text of the picture that was asked about.
    """

    picture: int
    path: bytes
    text: str
    pictures: int
    score: float
    fits: bool
    own: bool


@dataclass(frozen=True, slots=True)
class ToldTexts:
    """The texts of a collection for a picture, most likely first, and its id if it is there."""

    picture: int | None
    texts: tuple[ToldText, ...]
    version: int


def describe_texts(
    reader: Reader,
    root: bytes,
    picture: Picture,
    k: int,
    settings: Settings,
    compute: Compute | None = None,
) -> ToldTexts:
    """Rank texts for a picture; see `Collection.describe_texts`."""
    space = Space(reader)
    asked = find(reader, root, picture)
    views = views_of(reader, space.learnt, asked, settings, compute)
    point = space.learnt.served.points(views)[0]
    worded = np.setdiff1d(reader.snapshot.ids(), reader.snapshot.without_words())
    if not point.any():
        raise CollectionError(
            "The picture lies nowhere in the space that was learnt (its features are all zero, or "
            "unlike any that were seen), so it puts texts in no order."
        )
    found = _told(reader, space, point, worded, k, asked.picture)
    return ToldTexts(asked.picture, tuple(found), reader.snapshot.version)


def _told(
    reader: Reader, space: Space, point: Float, worded: Int, k: int, asked: int | None
) -> list[ToldText]:
    """Return k different texts; more pictures are looked at until there are so many."""
    wanted = k
    while True:
        top = space.texts(point, wanted, worded)
        groups: dict[str, list[int]] = {}
        scores: dict[str, float] = {}
        for i, s in zip(top.ids.tolist(), top.scores.tolist(), strict=True):
            text = as_text(reader.catalogue.words(i))
            groups.setdefault(text, []).append(i)
            scores.setdefault(text, s)
        # The last group may go on below what was looked at.
        if len(groups) > k or len(top.ids) < wanted:
            break
        wanted *= 2
    facts = reader.catalogue.facts([min(ids) for ids in groups.values()])
    out = []
    chances = space.likely(np.array(list(scores.values()), np.float32)).tolist()
    for (text, ids), score in list(zip(groups.items(), chances, strict=True))[:k]:
        first = min(ids)
        out.append(
            ToldText(first, facts[first].path, text, len(ids), round(score, 6), score >= FITS,
                     asked in ids)
        )  # fmt: skip
    return out


def as_text(words: list[Tags]) -> str:
    """Return all that is written of a picture as one line, each label and caption once.

    >>> as_text([Tags("iptc", ("sea", "old barn")), Tags("txt", ("sea",), "A barn by\\nthe sea.")])
    'A barn by the sea. sea, old barn'
    """
    captions = dict.fromkeys(" ".join(w.text.split()) for w in words if w.text.strip())
    labels = dict.fromkeys(t for w in words for t in w.tags)
    return " ".join([*captions, ", ".join(labels)]).strip()
