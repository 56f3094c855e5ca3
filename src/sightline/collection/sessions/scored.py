"""Every picture of a session with its score, and the hits that are made of some of them."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from sightline.collection.sessions.rounds import Ground, Learnt
from sightline.collection.sessions.space import Doubles, Int
from sightline.records import Hit
from sightline.store.engines.flat import Best
from sightline.store.home import Reader


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Pictures, ids ascending, and the score of each; `root` is the folder their files are in."""

    reader: Reader
    root: bytes
    ground: Ground
    learnt: Learnt
    ids: Int
    found: Doubles

    def without(self, pictures: Int) -> Scored:
        """Return it without some pictures."""
        keep = ~np.isin(self.ids, pictures)
        ids, found = self.ids[keep], self.found[keep]
        return Scored(self.reader, self.root, self.ground, self.learnt, ids, found)

    def best(self, order: Doubles, n: int) -> tuple[list[Hit], int]:
        """Return the best in order that are there, and how many of those looked up are not."""
        want = n
        while True:
            best = Best(want)
            best.offer(self.ids, order.astype(np.float32))
            top = best.top()
            hits = self.there(top.ids)
            if len(hits) >= n or len(top.ids) < want:
                return hits[:n], len(top.ids) - len(hits)
            want *= 4  # Files of some hits are gone; look further down, in few steps.

    def doubted(self, judged: dict[int, bool]) -> list[Hit]:
        """Return the slips that may appear, in the order they were judged."""
        slips = np.array([p for p in judged if p in self.learnt.slips], np.int64)
        return self.there(slips[np.isin(slips, self.ids)])

    def there(self, chosen: Int) -> list[Hit]:
        """Return those of some pictures whose files are there."""
        facts = self.reader.catalogue.facts(chosen.tolist())
        words, learnt = self.ground.words, self.learnt.weights is not None
        carried = words.carried if words is not None else ()
        own = self.found[np.searchsorted(self.ids, chosen)].tolist()
        return [
            Hit(p, facts[p].path, round(score, 6), p in carried, learnt)
            for p, score in zip(chosen.tolist(), own, strict=True)
            if p in facts and os.path.lexists(os.path.join(self.root, facts[p].path))
        ]
