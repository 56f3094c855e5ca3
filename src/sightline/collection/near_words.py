"""Learned words near words that the model has not learned.

A word that some picture has is spelled as its owner wants it, so words with the same stem come
first, then learned words that are on the same pictures more often than on others: n log(lift),
where n is the number of pictures with both words and the lift their share of the pictures with the
first word over their share of all. For a word that no picture has, the nearest spellings are all
there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from math import log
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Ints
from sightline.collection.corrections import spellings_of
from sightline.collection.lexicon import WordForms
from sightline.store.snapshot import Snapshot
from sightline.words.term_ids import term_id

if TYPE_CHECKING:
    from sightline.collection.models.word_model import WordModel

# How many words are offered, and how many of them by spelling where there are others.
_OFFERED, _SPELLED = 4, 2
# More spellings are read than are offered, since some are not learned.
_READ = 24
# Pictures of a word that are looked at for other words.
_LOOKED_AT = 200
# Words that are hardly more frequent beside a word than on all pictures say nothing about it.
_LEAST_LIFT = 2.0


def near_learned(
    table: WordForms, snapshot: Snapshot, model: WordModel, word: str, pictures: Ints
) -> tuple[str, ...]:
    """Return learned words near a word that was not learned, the nearest first.

    `pictures` are those that have it.
    """
    spellings = spellings_of(table)
    if not len(pictures):
        return tuple(islice(_learned(model, spellings.near(word, _READ)), _OFFERED))
    spelled = list(islice(_learned(model, spellings.same_stem(word, _READ)), _SPELLED))
    spelling_of = spellings.spelled
    # Models of earlier releases have learned stop words, which are none of the spellings.
    beside = [spelling_of[t] for t in _beside(snapshot, model, pictures) if t in spelling_of]
    return tuple(dict.fromkeys([*spelled, *beside]))[:_OFFERED]


def _learned(model: WordModel, words: Sequence[str]) -> Iterator[str]:
    return (w for w in words if model.learned_term([term_id(w)]) is not None)


def _beside(snapshot: Snapshot, model: WordModel, pictures: Ints) -> list[int]:
    """Return learned terms that are on some pictures more often than on others."""
    some = pictures[:_LOOKED_AT]
    counts: Counter[int] = Counter()
    for s in snapshot.segments:
        for row in s.rows_of(some).tolist():
            counts.update(s.words(row).tolist())
    terms = np.array(list(counts), np.int64)
    totals = snapshot.n_pictures(terms)
    known = model.knows(terms)
    ranked = []
    for term, total, is_known in zip(terms.tolist(), totals.tolist(), known.tolist(), strict=True):
        lift = counts[term] / len(some) / (total / snapshot.size()) if total else 0.0
        if is_known and lift >= _LEAST_LIFT:
            ranked.append((-counts[term] * log(lift), term))
    return [term for _, term in sorted(ranked)]
