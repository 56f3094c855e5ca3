"""Why a picture is among the hits: which words made its score, and which parts of the picture.

Words (`wording`). The numbers of a hit's words add up to its score: shares of a cosine where the
words are carried, weight times published number where a model found the picture.

Parts (`looking`). The picture is cut into blocks that overlap by half. A block's contribution is
what the score loses when the block is hidden under the picture's mean colour, the picture described
again by the features the model sees, and scored again: score(whole) - score(without it). That asks
nothing of a model but scores, so it serves every ranker. Where a score is a sum over blocks to
begin with, as that of a linear ranker on counts of visual words, each block's exact share is given
instead (`shares`).

Descriptors (`descriptors`). What the score would lose if one of them told nothing of the picture.

Parts and descriptors show what the model sees in the picture, for words it carries too, although
those count as known, whatever is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightline.collection.explain.features import feature_shares
from sightline.collection.explain.occlusion import Occluded, occlusion_maps
from sightline.collection.explain.results import (
    ExplainOptions,
    Explanation,
    OcclusionMap,
    WordShare,
)
from sightline.collection.explain.words import ExplainedQuery, word_shares
from sightline.compute.local import LocalCompute
from sightline.contracts import Compute, Progress
from sightline.pictures.reading import ReadLimits
from sightline.records import Hit
from sightline.settings import Settings
from sightline.store.home import Home

__all__ = ["ExplainOptions", "OcclusionMap", "Explanation", "WordShare", "explain"]


def explain(
    home: Home,
    root: bytes,
    settings: Settings,
    query: str,
    hits: Sequence[Hit],
    options: ExplainOptions,
    progress: Progress,
    compute: Compute | None = None,
) -> list[Explanation]:
    """Return for each hit of a query what made its score."""
    s = settings
    limits = ReadLimits(s.working_size, s.max_megapixels, int(s.max_file_mb * 1e6), s.follow)
    own = compute or LocalCompute(s.workers, seconds=s.seconds)
    try:
        with home.reader() as reader:
            asked = ExplainedQuery.of(reader, query, options.learnt)
            words = word_shares(asked, reader.snapshot, hits)
            features = feature_shares(asked.model, reader.snapshot, [h.picture for h in hits])
            best = hits[: options.pictures]
            looked = occlusion_maps(reader, root, asked, best, own, limits, options, progress)
    finally:
        if compute is None:
            own.close()
    learnt = asked.model.learnt if asked.model is not None else None
    model = (learnt.name, str(learnt.served.recipe)) if learnt is not None else ("", "")
    found = []
    for h, shares in zip(hits, words, strict=True):
        seen = looked.get(h.picture) or Occluded(problem=asked.problem)
        by = features.get(h.picture, ())
        found.append(Explanation(h, shares, seen.parts, seen.problem, seen.rgb, by, *model))
    return found
