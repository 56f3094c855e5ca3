"""Table 1 of the paper, as lines of text: our figures, and the paper's beside them.

A dash stands where the paper has no figure or a method says nothing of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sightline.measures.significance import p_text
from sightline_experiments.regions import judging, paper
from sightline_experiments.regions.results import HalfResult, RegionResults, compared
from sightline_experiments.report import MISSING, fraction, mean_and_std, notes
from sightline_experiments.tuning import settings_text

_NOTHING = 1e-6


def lines(results: RegionResults) -> Iterator[str]:
    """Yield every table."""
    for features in results.features():
        ran = results.of(features)
        yield from _table(features, ran)
        yield from _margins(ran)
        yield from _clean(ran)
        for _, b, test in compared(ran):
            yield (
                f"Wilcoxon against {b.method}, F of each test picture: {test.difference:+.4f}, "
                f"p {p_text(test.p)} ({test.helped:,} better, {test.harmed:,} worse)"
            )
        if features in results.relaxation:
            r = results.relaxation[features]
            yield (
                f"The linear programme was fractional in {r.fractional:.1%} of {r.n:,} inferences; "
                f"{1000 * r.relaxed:.2f} ms each, exact {1000 * r.exact:.3f} ms; {r.hard:.1%} if "
                f"wrong tags count. Where no tag costs anything {1000 * r.free_relaxed:.2f} ms, by "
                f"assignment {1000 * r.assigned:.3f} ms"
            )
    for g in results.growth:
        yield (
            f"{g.pictures:>5} pictures, {g.tags:>3} tags: {g.learning:.2f} s for {g.iterations} "
            f"iterations, {1000 * g.inference:.3f} ms to tag a picture"
        )
    yield from notes(results.notes)


def _table(features: str, ran: dict[str, HalfResult]) -> Iterator[str]:
    network = ", a network trained on ImageNet" if features == "deep" else ""
    yield ""
    yield f"Table 1 on MSRC v2, {features}{network}; the paper's figures are of other pictures"
    head = "".join(f"{m:>19}" for m in judging.MEASURES)
    yield f"{'':<28}{head}{'paper':>16}{'seconds':>10}  settings of half 0"
    for name, r in ran.items():
        cells = "".join(f"{mean_and_std(r.values(m), 3):>19}" for m in judging.MEASURES)
        theirs = f"{fraction(paper.F.get(name))} / {fraction(paper.NMI.get(name))}"
        shown = theirs if features == "classic" else MISSING
        settings = settings_text(r.chosen[0].settings)
        yield f"{name:<28}{cells}{shown:>16}{r.seconds():>10.1f}  {settings}"


def _clean(ran: dict[str, HalfResult]) -> Iterator[str]:
    """Yield what was reached on pictures that nothing was designed on."""
    for name, r in ran.items():
        n = max((o.n_clean for o in r.outcomes), default=0)
        said_of = [(m, r.clean(m)) for m in (judging.F, judging.NMI, judging.PIXELS)]
        cells = ", ".join(f"{m} {np.mean(v):.4f}" for m, v in said_of if v)
        if cells:
            yield f"On {n} pictures that nothing was designed on, {name}: {cells}"


def _margins(ran: dict[str, HalfResult]) -> Iterator[str]:
    """Yield how far ahead of each baseline the latent model is, beside the paper's margins."""
    for measure, theirs in ((judging.F, paper.F), (judging.NMI, paper.NMI)):
        mine = ran[paper.LATENT].values(measure) if paper.LATENT in ran else []
        for name, r in ran.items():
            values = r.values(measure)
            if name == paper.LATENT or not values or not mine:
                continue
            base = float(np.mean(values))
            gain = f"{float(np.mean(mine)) / base - 1:+.1%}" if base > _NOTHING else MISSING
            said_by = (
                f"{theirs[paper.LATENT] / theirs[name] - 1:+.1%}" if name in theirs else MISSING
            )
            yield f"{measure} of {paper.LATENT} against {name}: {gain} (paper {said_by})"
