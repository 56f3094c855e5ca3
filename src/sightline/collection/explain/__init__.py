"""Explain hits: contributions of the query's words, of features and of parts of the picture.

Words (`words`). The contributions of a hit's words add up to its score: parts of a cosine for
tags, weight times published score for predicted hits. Words with a plus or a minus say whether tags
or a prediction decided, and how probable the word is on the picture.

Parts (`occlusion`). The picture is cut into blocks that overlap by half. A block's contribution is
the loss of score when it is covered by the picture's mean colour and the features are computed
again: score(whole) - score(without it). This needs nothing but scores, so it works for every
ranker. Where a score is a sum over blocks, as that of a linear ranker on counts of visual words,
the exact contributions are given instead (`additive`).

Features (`features`). The loss of score when a feature carries no information about the picture.

Parts and features explain what the model predicts from the pixels, also for words that the picture
has as tags, which the search itself takes as known.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightline.collection.explain.features import feature_shares
from sightline.collection.explain.occlusion import Occluded, occlusion_maps
from sightline.collection.explain.results import (
    ExplainOptions,
    Explanation,
    OcclusionMap,
    SignShare,
    WordShare,
)
from sightline.collection.explain.words import ExplainedQuery, sign_shares, word_shares
from sightline.collection.extraction import Extractor
from sightline.contracts import Compute, Progress
from sightline.errors import UsageError
from sightline.records import Hit
from sightline.settings import Settings
from sightline.store.folder import StoreFolder

# Why a suggested hit is not explained by words and parts.
SUGGESTED = "a network suggested it by its classes; no model has learned the words"

__all__ = [
    "ExplainOptions",
    "Explanation",
    "OcclusionMap",
    "SignShare",
    "WordShare",
    "check_explained",
    "explain",
]


def check_explained(query: str) -> None:
    """Raise for a query of pictures; only words are explained."""
    from sightline.collection.search.words import pictures_of

    if pictures_of(query):
        raise UsageError(
            "Words are explained here; of pictures, `similar` gives the shares of each hit."
        )


def explain(
    store_folder: StoreFolder,
    root: bytes,
    settings: Settings,
    query: str,
    hits: Sequence[Hit],
    options: ExplainOptions,
    progress: Progress,
    compute: Compute | None = None,
) -> list[Explanation]:
    """Return the explanation of each hit of a query."""
    with (
        Extractor(settings, compute, workers=settings.workers) as extractor,
        store_folder.reader() as reader,
    ):
        explained_query = ExplainedQuery.of(reader, query, options.predicted)
        words = word_shares(explained_query, reader.snapshot, hits)
        signs = sign_shares(explained_query, reader.snapshot, hits)
        features = feature_shares(explained_query.model, reader.snapshot, [h.picture for h in hits])
        best = hits[: options.pictures]
        maps = occlusion_maps(reader, root, explained_query, best, extractor, options, progress)
    word_model = explained_query.model.word_model if explained_query.model is not None else None
    model = (word_model.name, str(word_model.served.recipe)) if word_model is not None else ("", "")
    explanations = []
    for h, shares in zip(hits, words, strict=True):
        problem = SUGGESTED if h.match == "suggested" else explained_query.problem
        occluded = maps.get(h.picture) or Occluded(problem=problem)
        feature_losses = features.get(h.picture, ())
        parts = occluded.parts, occluded.problem, occluded.rgb
        explanations.append(
            Explanation(h, shares, *parts, feature_losses, *model, signs[h.picture])
        )
    return explanations
