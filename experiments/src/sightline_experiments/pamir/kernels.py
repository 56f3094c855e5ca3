"""Table IV: PAMIR with a kernel that compares all blocks of two pictures, by validation queries.

The match kernel of development pictures, blocks of one size, takes minutes and is cached. Kernel
PAMIR (`rankers.kernel_pamir`) is fitted to the first split, with the aggressiveness selected by the
same queries that the table shows, as in the paper. Test pictures take no part. The expected
likelihood kernel needs only a row of each picture, and is one of the views (`g64`) that PAMIR and
SVM may select.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sightline._typing import Floats
from sightline.contracts import Compute, Json, Progress
from sightline.features.local.blocks import block_descriptors
from sightline.features.local.color import color_table
from sightline.similarity.bags import Bags
from sightline_experiments.cache import ArrayCache
from sightline_experiments.datasets.corel5k import Corel5K
from sightline_experiments.experiment import timed
from sightline_experiments.extraction import decoded
from sightline_experiments.pamir.methods import Method, weighted_sum
from sightline_experiments.pamir.pool import colors_of
from sightline_experiments.pamir.protocol import Scorer, Split
from sightline_experiments.pamir.terms import BlockTerms


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """Which kernels to compare, over blocks of which size, with which aggressiveness.

    `kernels` has the name of each and the factor of its bandwidth.
    """

    kernels: tuple[tuple[str, float], ...]
    block: int = 64
    grid: tuple[dict[str, Json], ...] = ({"C": 0.1}, {"C": 1.0}, {"C": 10.0})
    learning: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelTrial:
    """The best trial of a kernel: its settings and the mean AvgP of the validation queries."""

    kernel: str
    settings: dict[str, Json]
    avgp: float
    seconds: float


def try_kernels(
    plan: KernelPlan,
    c: Corel5K,
    split: Split,
    compute: Compute,
    cache: ArrayCache,
    progress: Progress,
) -> list[KernelTrial]:
    """Return the best trial of each kernel."""
    tables = _Tables(c, plan.block, compute, cache, progress)
    best_trials = []
    for kernel, factor in plan.kernels:
        gram = tables.gram(kernel, factor)
        method = Method(f"PAMIR, {kernel}", _fitter(gram))
        progress.start(method.name, len(plan.grid))
        best: KernelTrial | None = None
        for change in plan.grid:
            settings: dict[str, Json] = {**dict(plan.learning), **change}
            scorer, seconds = timed(partial(method.fit, split, settings))
            value = split.value(scorer)
            progress.advance()
            if best is None or value > best.avgp:
                details = {"block": plan.block, "factor": factor, **settings, **scorer.details}
                best = KernelTrial(kernel, details, value, seconds)
        progress.finish()
        best_trials += [best] if best is not None else []
    return best_trials


def _fitter(gram: Floats) -> Callable[[Split, object], Scorer]:
    def fit(split: Split, settings: object) -> Scorer:
        from sightline.rankers.kernel_pamir import KernelPAMIR

        parameters = dict(settings) if isinstance(settings, dict) else {}
        train, held = split.train.rows, split.validation.rows
        table = np.ascontiguousarray(gram[np.ix_(held, train)])
        ranker = KernelPAMIR(kernel="precomputed", random_state=split.number, **parameters).fit(
            np.ascontiguousarray(gram[np.ix_(train, train)]),
            queries=split.train_queries,
            n_words=split.train.labels.shape[1],
            validation=(table, split.validation_queries),
        )
        details = {"n_iter": int(vars(ranker)["best_iter_"])}
        # The table has only validation pictures.
        return Scorer(lambda views: ranker.decision_function(table), weighted_sum, details)

    return fit


class _Tables:
    """Kernels of all pairs of development pictures."""

    def __init__(
        self, c: Corel5K, block: int, compute: Compute, cache: ArrayCache, progress: Progress
    ) -> None:
        self.c, self.block = c, block
        self.compute, self.cache, self.progress = compute, cache, progress

    def gram(self, kernel: str, factor: float) -> Floats:
        # As with codebooks, the name contains what blocks are described by.
        by = f"c{BlockTerms.n_colors}-v{BlockTerms.version}"
        name = f"gram-{kernel}-b{self.block}-{by}-f{factor:g}"
        cached = self.cache.get(name)
        if cached is not None:
            return np.asarray(cached["gram"], np.float32)
        bags = self.bags
        self.progress.start(f"{kernel} kernel of {len(bags):,} pictures", None)
        matrix = KERNELS[kernel](bags, factor)
        self.progress.finish()
        self.cache.put(name, {"gram": matrix})
        return matrix

    @cached_property
    def bags(self) -> Bags:
        """All blocks of every development picture."""
        numbers = [r.picture for r in self.c.development]
        self.progress.start("blocks", len(numbers))
        pictures = []
        for rgb in decoded(self.c, numbers, self.compute):
            pictures.append(rgb)
            self.progress.advance()
        self.progress.finish()
        colors = colors_of(pictures, self.cache)
        table = color_table(colors)
        descriptors = [
            block_descriptors(rgb, table, len(colors), (self.block,), every=1)[0][1]
            for rgb in pictures
        ]
        return Bags.from_list(descriptors)


def _match(bags: Bags, factor: float) -> Floats:
    from sightline.similarity.match import MatchKernel

    return MatchKernel.of(bags, factor=factor)(bags)


KERNELS: dict[str, Callable[[Bags, float], Floats]] = {
    "match": _match,
}
