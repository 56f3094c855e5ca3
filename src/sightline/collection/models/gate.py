"""Proving a candidate on held-out pictures, and refusing what is worse.

A fifth of the pictures is held out for ever. A candidate fitted to the others is asked for the
words and sets of words of the held-out ones; so is what the model now in use was proven by. One
that is worse than that, or than an order that knows nothing, is not let through.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from sightline.collection.models import selection
from sightline.collection.models.dataset import Sample, split
from sightline.collection.models.queries import carriers, combined, idf_in, questions
from sightline.collection.models.recipe import Fitted
from sightline.collection.models.trials import Tried
from sightline.collection.models.word_model import Learnt
from sightline.contracts import Json, Mapper
from sightline.errors import NotBetter
from sightline.measures.many import measure_queries, untrained_average_precision
from sightline.measures.significance import wilcoxon
from sightline.records import QuerySet
from sightline.words.combining import Combination

SLACK = 0.001
FEWEST_QUERIES = 30

Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Proof:
    """What the held-out pictures say of a candidate; values are mean AvgP.

    `current` is that of the model served before, on the `n_both` queries both know, where the
    candidate has `against_current`; None if there was none. `not_compared` is true if there was one
    that cannot be asked any more, since its features are gone. Fewer than 30 common queries, or a
    model whose proof had seen the pictures, cannot hold up a candidate.
    """

    n: int
    candidate: float
    untrained: float
    p: float
    helped: int
    harmed: int
    p10: float = float("nan")
    bep: float = float("nan")
    current: float | None = None
    against_current: float | None = None
    n_both: int = 0
    not_compared: bool = False

    @property
    def passes(self) -> bool:
        """Whether the gate opens."""
        return not self.below_current and not self.candidate < self.untrained

    @property
    def below_current(self) -> bool:
        """Whether it is worse than the model served before, by enough queries to tell."""
        if self.current is None or self.against_current is None or self.n_both < FEWEST_QUERIES:
            return False
        return self.against_current < self.current - SLACK

    @property
    def proven(self) -> bool:
        """Whether there were enough queries to tell."""
        return self.n >= FEWEST_QUERIES


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """The held-out pictures and the queries their words make."""

    sample: Sample
    queries: QuerySet
    idf: NDArray[np.float64]

    @classmethod
    def of(cls, sample: Sample) -> HeldOut:
        held, _ = split(sample)
        labels, out = sample.labels[~held], sample.only(held)
        idf = idf_in(labels) if labels.shape[0] else np.ones(len(sample.terms))
        return cls(out, questions(out.labels, idf, carriers(labels) > 0), idf)

    def untrained(self) -> NDArray[np.float64]:
        """Return the AvgP of each query in an order that knows nothing."""
        n = max(len(self.sample), 1)
        return untrained_average_precision(np.diff(self.queries.fit_start), n)


def prove(
    held: HeldOut,
    fitted: Fitted,
    combination: Combination,
    current: Learnt | None,
    compute: Mapper | None = None,
) -> Proof:
    """Measure a candidate, and the model now served, on the held-out pictures."""
    if not len(held.queries):
        return Proof(0, float("nan"), float("nan"), 1.0, 0, 0)
    given = (held.sample, held.queries, held.idf)
    found = selection.measure(fitted, combination, *given, compute)
    before = held.untrained()
    test = wilcoxon(found.avgp, before)
    figures = (len(before), found.mean_avgp, float(before.mean()), test.p, test.helped, test.harmed)
    more = (float(np.nanmean(found.p10)), float(np.nanmean(found.bep)))
    if current is None or current.about.get("proof_seen"):
        return Proof(*figures, *more)
    if not set(current.features) <= set(held.sample.views):
        return Proof(*figures, *more, not_compared=True)
    known, both = _current(held, current)
    if not both.any():
        return Proof(*figures, *more)
    against = float(found.avgp[both].mean())
    return Proof(*figures, *more, float(known[both].mean()), against, int(both.sum()))


def _current(held: HeldOut, current: Learnt) -> tuple[NDArray[np.float64], Bool]:
    """Return the AvgP of the served model's proof, and for which queries it knows all words."""
    knows = current.knows(held.sample.terms)
    both = np.logical_and.reduceat(knows[held.queries.term], held.queries.start[:-1])
    at = np.minimum(np.searchsorted(current.terms, held.sample.terms), len(current.terms) - 1)
    rows = current.combination.rows(current.proof.scores(held.sample.views))[:, at]
    # Words count as for the candidate: what is served knows how many held-out pictures carry them.
    queries = combined(held.queries, current.combination, held.idf)
    return measure_queries(rows, queries).avgp, both


def refuse_harm(proof: Proof) -> None:
    """Stop a candidate that the gate does not let through."""
    if proof.passes or not proof.proven:
        return
    if proof.below_current:
        raise NotBetter(
            f"The new model is worse than the one in use on held-out pictures: mean AvgP "
            f"{proof.against_current:.3f} against {proof.current:.3f} over {proof.n_both} queries. "
            "It was not published; the old one stays. To publish it all the same: --force."
        )
    raise NotBetter(
        f"The new model is worse than no model on held-out pictures: mean AvgP "
        f"{proof.candidate:.3f} against {proof.untrained:.3f} over {proof.n} queries. It was "
        "not published. Add words or features, or publish it all the same with --force."
    )


def proof_json(proof: Proof, table: Sequence[Tried], unproven: bool, forced: bool) -> Json:
    """Return what a model keeps of how it was chosen and proven."""
    tried: list[Json] = [
        {"what": str(t.recipe), "how": t.how, "AvgP": _number(t.avgp)} for t in table[:20]
    ]
    figures: dict[str, Json] = {k: _number(v) for k, v in asdict(proof).items()}
    return {**figures, "unproven": unproven, "forced": forced, "tried": tried,
            "trained": int(time.time())}  # fmt: skip


def _number(value: float | None) -> Json:
    return None if value is None or not np.isfinite(value) else value
