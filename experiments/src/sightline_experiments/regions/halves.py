"""Halves of the pictures: one to learn from, a fifth of it to choose by, the other for the test.

Every scene is shared out alike, by seeded draws; scenes serve for this and for the last measure, no
learner sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightline._typing import Ints

_FIFTH = 5
# Within the pictures to learn from of so many halves the latent model's start was designed.
DESIGNED_ON = 2


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """One way to share the pictures out, by their positions, ascending.

    Attributes
    ----------
    number : which it is.
    train : pictures to learn from while settings are chosen.
    validation : pictures to choose by; learnt from as well once that is done.
    """

    number: int
    train: Ints
    validation: Ints

    @property
    def development(self) -> Ints:
        """Return all pictures that are not for the test."""
        return np.sort(np.concatenate([self.train, self.validation]))


def make_halves(scenes: Sequence[int], n: int, seed: int = 0) -> tuple[list[Half], list[Ints]]:
    """Return n halves, and the test pictures of each, which only `evaluation` sees.

    >>> halves, tests = make_halves([0] * 20 + [1] * 20, 1)
    >>> len(halves[0].train), len(halves[0].validation), len(tests[0])
    (16, 4, 20)
    """
    labels = np.asarray(scenes, np.int64)
    halves, tests = [], []
    for number in range(n):
        random = np.random.default_rng((seed, number))
        parts: tuple[list[Ints], list[Ints], list[Ints]] = ([], [], [])
        for s in np.unique(labels):
            mixed = random.permutation(np.flatnonzero(labels == s))
            # Of an odd number the test gets one more in every second half.
            middle = (len(mixed) + (number + int(s)) % 2) // 2
            fifth = max(1, round(middle / _FIFTH))
            for part, some in zip(
                parts, (mixed[fifth:middle], mixed[:fifth], mixed[middle:]), strict=True
            ):
                part.append(some)
        train, validation, test = (np.sort(np.concatenate(p)) for p in parts)
        halves.append(Half(number, train, validation))
        tests.append(test)
    return halves, tests


def never_designed_on(tests: Sequence[Ints]) -> Ints:
    """Return the pictures that are for the test in every half that served for designing.

    >>> never_designed_on([np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([4])]).tolist()
    [1, 2]
    """
    found = tests[0]
    for test in tests[1:DESIGNED_ON]:
        found = np.intersect1d(found, test)
    return found
