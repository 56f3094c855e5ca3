"""Occlusion maps: each block of a picture is covered in turn, and the loss of score measured.

Pictures are decoded and described by limited workers, as in indexing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB
from sightline.collection.explain import additive
from sightline.collection.explain.features import FeatureRecomputer
from sightline.collection.explain.results import Blocks, ExplainOptions, OcclusionMap
from sightline.collection.explain.words import ExplainedQuery, QueryScorer
from sightline.collection.extraction import DecodedPicture, Extractor
from sightline.compute.features import DESCRIBE_TASK, describe_job, rows_of
from sightline.contracts import Compute, Done, Failed, Progress
from sightline.records import Hit
from sightline.store.folder import Reader

_LACKS = "the store has no feature vector of it for the model"


@dataclass(frozen=True, slots=True, eq=False)
class Occluded:
    """The occlusion map of one picture; `problem` says why there is none."""

    rgb: RGB | None = None
    parts: OcclusionMap | None = None
    problem: str = ""


def occlusion_maps(
    reader: Reader,
    root: bytes,
    query: ExplainedQuery,
    hits: Sequence[Hit],
    extractor: Extractor,
    options: ExplainOptions,
    progress: Progress,
) -> dict[int, Occluded]:
    """Return the occlusion map of each hit, by picture."""
    if query.model is None or not hits:
        return {}
    recomputer = FeatureRecomputer.of(reader, query.model.word_model, extractor.limits.side)
    if not recomputer.class_paths:
        names = ", ".join(recomputer.held_names)
        problem = f"the model uses {names} alone, which cannot be computed from pixels here"
        return {h.picture: Occluded(problem=problem) for h in hits}
    occluded = {
        h.picture: _as_read(picture)
        if recomputer.has_stored(reader, h.picture)
        else Occluded(problem=_LACKS)
        for h, picture in zip(hits, extractor.pixels(root, [h.path for h in hits]), strict=True)
    }
    pictures = {p: read.rgb for p, read in occluded.items() if read.rgb is not None}
    if not pictures:
        return occluded
    workers = extractor.compute
    if options.exact and additive.is_additive(query.model, recomputer):
        maps = additive.exact_maps(query.model, recomputer, pictures, workers, progress)
    else:
        maps = _without_blocks(
            query.model, recomputer, reader, pictures, workers, options, progress
        )
    for picture, parts in maps:
        rgb = pictures[picture]
        occluded[picture] = (
            Occluded(rgb, problem=f"it cannot be described: {parts.reason}")
            if isinstance(parts, Failed)
            else Occluded(rgb, parts)
        )
    return occluded


def _as_read(picture: DecodedPicture) -> Occluded:
    problem = f"it cannot be read: {picture.failure}" if picture.failure else ""
    return Occluded(picture.rgb, problem=problem)


def _without_blocks(
    model: QueryScorer,
    recomputer: FeatureRecomputer,
    reader: Reader,
    pictures: dict[int, RGB],
    compute: Compute,
    options: ExplainOptions,
    progress: Progress,
) -> Iterator[tuple[int, OcclusionMap | Failed]]:
    n = options.blocks
    blocks = {p: Blocks.of(rgb.shape[0], rgb.shape[1], n) for p, rgb in pictures.items()}
    class_paths = list(recomputer.class_paths.values())
    jobs = (
        describe_job(b"%d" % p, variant, class_paths)
        for p, rgb in pictures.items()
        for variant in variants(rgb, blocks[p])
    )
    progress.start("explain", sum(1 + len(b) for b in blocks.values()))
    answers = compute.run(DESCRIBE_TASK, jobs, "describe")
    for p, where in blocks.items():
        rows = []
        failed = None
        for result in itertools.islice(answers, 1 + len(where)):
            progress.advance()
            if isinstance(result, Done):
                rows.append(rows_of(result))
            else:
                failed = failed or result
        if failed is not None:
            yield p, failed
            continue
        parts = losses(model, where, model.word_scores(recomputer.views(rows, reader, p)))
        yield p, replace(parts, held=recomputer.held_names)
    progress.finish()


def losses(model: QueryScorer, where: Blocks, scores: NDArray[np.float32]) -> OcclusionMap:
    """Return each block's contribution, from the scores of a picture, whole and without each."""
    lost = (scores[0] - scores[1:]) * model.weights
    of_words = lost.T.reshape(-1, where.rows, where.columns)
    # The block with the largest contribution to the query, and to each word.
    most = np.abs(np.column_stack([lost.sum(axis=1), lost])).argmax(axis=0)
    without = tuple(model.likely(scores[1 + at])[i] for i, at in enumerate(most.tolist()))
    score = float(scores[0] @ model.weights)
    return OcclusionMap(
        where, np.ascontiguousarray(of_words), score, model.likely(scores[0]), without
    )


def variants(rgb: RGB, where: Blocks) -> Iterator[RGB]:
    """Yield the picture, then the picture with each block in its mean colour.

    Blurring the blocks instead gives sharper maps of objects, but none of uniform areas: a blurred
    sky is still sky.
    """
    yield rgb
    mean = rgb.reshape(-1, 3).mean(axis=0).round().astype(np.uint8)
    for box in where.boxes():
        out = rgb.copy()
        out[box] = mean
        yield out
