"""Exact contributions of blocks, where a score is a sum over blocks.

A linear ranker on counts of visual words scores a picture by the sum over its blocks of
w[term of the block] · idf[term] / |tf idf|, and the published score is affine in that. Whether a
model is of this kind is tested, not inferred from its name: the contributions of some synthetic
blocks must add up to the score of their picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sightline._typing import RGB, Doubles, Ints
from sightline.collection.explain.features import FeatureRecomputer
from sightline.collection.explain.results import Blocks, OcclusionMap
from sightline.collection.explain.words import QueryScorer
from sightline.compute.features import describe_job, load_feature
from sightline.contracts import Compute, Done, Failed, Json, Progress
from sightline.errors import DataError
from sightline.features.local.visterms import Visterms

TERMS_TASK = "sightline.collection.explain.additive:block_terms"


def is_additive(model: QueryScorer, recomputer: FeatureRecomputer) -> bool:
    """Return whether a picture's scores are sums over its blocks."""
    if len(recomputer.class_paths) != 1 or recomputer.held:
        return False
    ((name, class_path),) = recomputer.class_paths.items()
    feature = load_feature(class_path)
    if not isinstance(feature, Visterms) or len(feature.blocks) > 1 or feature.spatial != (1,):
        return False
    terms = np.random.default_rng(0).integers(0, feature.length, 40)
    shares, rest, whole = of_blocks(model, name, feature.length, terms)
    return bool(np.allclose(shares.sum(axis=0) + rest, whole, rtol=1e-4, atol=1e-4))


def of_blocks(
    model: QueryScorer, feature: str, length: int, terms: Ints
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the contribution of each block to each word, the constant part, and the scores.

    `terms` are the visual words of the blocks. A picture of one block gives the weight of its term,
    which is scaled by the weight of the term in the whole picture.
    """
    from scipy.sparse import csr_matrix

    distinct, block_term, counts = np.unique(terms, return_inverse=True, return_counts=True)
    n = len(distinct)
    column = np.concatenate([distinct, distinct])
    value = np.concatenate([np.ones(n), counts]).astype(np.float32)
    # One row for each term alone, one with all terms, and an empty one.
    start = np.concatenate([np.arange(n + 1), [2 * n, 2 * n]])
    rows = csr_matrix((value, column, start), shape=(n + 2, length))
    scores = model.word_scores({feature: rows}).astype(np.float64)
    (weighting,) = model.word_model.served.weightings
    weighted = weighting(rows)
    alone = np.asarray(weighted[np.arange(n), distinct], np.float64).reshape(-1)
    among = np.asarray(weighted[np.full(n, n), distinct], np.float64).reshape(-1)
    scale = np.where(alone != 0, among / np.where(alone != 0, alone, 1.0), 0.0) / counts
    each = (scores[:n] - scores[-1]) * scale[:, None]
    return each[block_term], scores[-1], scores[n]


def exact_maps(
    model: QueryScorer,
    recomputer: FeatureRecomputer,
    pictures: Mapping[int, RGB],
    compute: Compute,
    progress: Progress,
) -> Iterator[tuple[int, OcclusionMap | Failed]]:
    """Yield the exact contributions of each picture's blocks."""
    ((name, class_path),) = recomputer.class_paths.items()
    length = load_feature(class_path).length
    jobs = (describe_job(b"%d" % p, rgb, [class_path]) for p, rgb in pictures.items())
    progress.start("explain", len(pictures))
    answers = zip(pictures.items(), compute.run(TERMS_TASK, jobs, "describe"), strict=True)
    for (p, rgb), result in answers:
        progress.advance()
        yield (
            p,
            result
            if isinstance(result, Failed)
            else _parts(model, name, length, rgb.shape, result),
        )
    progress.finish()


def _parts(
    model: QueryScorer, feature: str, length: int, shape: tuple[int, ...], done: Done
) -> OcclusionMap:
    terms = np.frombuffer(done.blob, np.int64)
    cell, rows, columns = (int(str(done.value[n])) for n in ("cell", "rows", "columns"))
    edges = (tuple(i * cell for i in range(n + 2)) for n in (rows, columns))
    where = Blocks(shape[0], shape[1], *edges)
    if len(terms) != len(where):
        raise DataError(f"A describe worker sent {len(terms)} terms for {len(where)} blocks.")
    shares, rest, whole = of_blocks(model, feature, length, terms)
    of_words = (shares * model.weights).T.reshape(-1, rows, columns)
    score, likely = float(whole @ model.weights), model.likely(whole)
    left = float(rest @ model.weights)
    return OcclusionMap(where, of_words.astype(np.float32), score, likely, exact=True, rest=left)


def block_terms(args: dict[str, Json], blob: memoryview, alone: bool) -> Done:
    """Return the visual word of each block of a picture (runs in a worker)."""
    from sightline.features.local.blocks import block_descriptors
    from sightline.features.local.codebook import assign
    from sightline.features.local.color import color_table

    shape, places = args["shape"], args["features"]
    if not isinstance(shape, list) or not isinstance(places, list):
        raise DataError("A describe job needs a shape and features.")
    rgb = np.frombuffer(blob, np.uint8).reshape([int(str(n)) for n in shape])
    f = load_feature(str(places[0]))
    if not isinstance(f, Visterms):
        raise DataError(f"{f.name} has no visual terms.")
    colors = f.arrays["colors"]
    ((where, points),) = block_descriptors(
        rgb, color_table(colors), len(colors), f.blocks, f.relative, f.every
    )
    terms = np.asarray(assign(points, f.arrays[f"centers{f.blocks[0]}"]), np.int64)
    grid: dict[str, Json] = {"cell": where.cell, "rows": where.rows, "columns": where.columns}
    return Done(grid, terms.tobytes())
