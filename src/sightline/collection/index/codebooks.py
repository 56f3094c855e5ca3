"""Features that are fitted to a collection: once, on a sample of its pictures, and then frozen.

The arrays are kept as a model in the store and listed by the version, so that later runs and every
worker describe by the same codebook. `index --refit` makes a new one, under a new fingerprint.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightline._typing import RGB, Arrays
from sightline.collection.index.options import FeatureRequest, IndexOptions, quick_feature
from sightline.collection.index.plan import ToRead
from sightline.compute.features import feature_class, fingerprint, load_feature
from sightline.contracts import Compute, Done, Json, Part, PartDone, Progress, SerialMapper
from sightline.errors import CollectionError
from sightline.pictures.reading import READ_TASK, answer, request
from sightline.registry import definitions
from sightline.store.models import arrays_file, save_model
from sightline.store.versions import Version
from sightline.store.writer import Writer
from sightline.vectors import Fingerprint

SAMPLE = 2_600
SAMPLE_BYTES = 400 << 20
SEED = 0


def resolved(
    models: Path, version: Version, requests: Sequence[FeatureRequest], size: int
) -> tuple[FeatureRequest, ...]:
    """Return the features wanted as the rows of a version have them.

    Those that were fitted before have their codebook, and those whose rows are by an earlier
    definition keep that, as long as there are none by the current one.
    """
    books = {Fingerprint.parse(name).name: name for name in version.codebooks}
    stored = {f.feature for s in version.segments for f in s.features}
    return tuple(
        _with_codebook(models, w, books[w.name], size)
        if not w.fingerprint and w.name in books
        else _as_stored(w, stored, size)
        for w in requests
    )


def _as_stored(w: FeatureRequest, stored: set[str], size: int) -> FeatureRequest:
    names = {Fingerprint.parse(f).name for f in stored}
    for place in definitions(w.name, w.place)[1:]:
        if w.fingerprint not in stored and w.name in names:
            print_of = fingerprint(load_feature(place), size)
            if print_of in stored:
                return replace(w, place=place, fingerprint=print_of)
    return w


def _with_codebook(models: Path, w: FeatureRequest, codebook: str, size: int) -> FeatureRequest:
    place = f"{w.place.partition('@')[0]}@{arrays_file(models, codebook)}"
    feature = load_feature(place)
    print_of = fingerprint(feature, size)
    return replace(w, place=place, fingerprint=print_of, length=feature.length)


def fit_missing(
    root: bytes,
    writer: Writer,
    compute: Compute,
    options: IndexOptions,
    pictures: Sequence[ToRead],
    progress: Progress,
) -> tuple[tuple[FeatureRequest, ...], list[str]]:
    """Fit the features that have no codebook yet, on a sample of the pictures to be read.

    Return the features that can be computed, and for each that needs more pictures what to do.
    """
    todo = [w for w in options.features if not w.fingerprint]
    if not todo or not pictures:
        return tuple(w for w in options.features if w.fingerprint), []
    enough = [w for w in todo if len(pictures) >= _least(w)]
    sample = _sample(root, compute, options, pictures, progress) if enough else []
    enough = [w for w in enough if len(sample) >= _least(w)]
    too_few = [_too_few(w, len(sample) or len(pictures)) for w in todo if w not in enough]
    fitted, arrays_of = [], _fitted(sample, enough, options.shards, compute)
    for w in options.features:
        if w.fingerprint:
            fitted.append(w)
        if w not in enough:
            continue
        progress.start(f"fit {w.name}", None)
        arrays = next(arrays_of)
        progress.finish()
        name = save_model(writer.store_folder.models, w.name, {"pictures": len(sample)}, arrays)
        writer.publish_codebook(name)
        fitted.append(_with_codebook(writer.store_folder.models, w, name, options.limits.side))
    return tuple(fitted), too_few


def _least(w: FeatureRequest) -> int:
    """Return the fewest pictures that a feature can be fitted to."""
    return int(getattr(feature_class(w.place), "least_pictures", 1))


def _too_few(w: FeatureRequest, n: int) -> str:
    return (
        f"{w.name} is not computed: it is fitted to at least {_least(w)} pictures, and {n} can be "
        "read for it. Add pictures and index again, or compute one that is not fitted: "
        f"sightline index --features {quick_feature()}"
    )


def _fitted(
    sample: Sequence[RGB], todo: Sequence[FeatureRequest], shards: int, compute: Compute
) -> Iterator[Arrays]:
    """Yield the arrays of each feature, fitted in shards if it can be, else side by side."""
    kinds = [feature_class(w.place) for w in todo]
    alone = [shards == 1 or "shards" not in inspect.signature(k.fit).parameters for k in kinds]
    away: Iterator[PartDone] = iter(())
    if any(alone) and not isinstance(compute, SerialMapper):
        held = compute.hold(_packed(sample))
        places = [w.place for w, a in zip(todo, alone, strict=True) if a]
        away = compute.map(fit_feature, [Part({"place": p}, held=(held,)) for p in places])
    for kind, by_itself in zip(kinds, alone, strict=True):
        if not by_itself:
            yield kind.fit(sample, SEED, shards=shards, compute=compute)
        elif isinstance(compute, SerialMapper):
            yield kind.fit(sample, SEED)
        else:
            yield {n: np.asarray(a) for n, a in next(away).arrays.items()}


def fit_feature(
    args: dict[str, Json], arrays: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Json], Arrays]:
    """Fit one feature to pictures that were sent."""
    start, shapes = 0, arrays["shapes"]
    pictures: list[RGB] = []
    for shape in shapes.tolist():
        end = start + int(np.prod(shape))
        pictures.append(arrays["pixels"][start:end].reshape(shape))
        start = end
    return {}, feature_class(str(args["place"])).fit(pictures, SEED)


def _packed(pictures: Sequence[RGB]) -> dict[str, NDArray[Any]]:
    shapes = np.array([p.shape for p in pictures], np.int64)
    return {"shapes": shapes, "pixels": np.concatenate([p.ravel() for p in pictures])}


def _sample(
    root: bytes,
    compute: Compute,
    options: IndexOptions,
    pictures: Sequence[ToRead],
    progress: Progress,
) -> list[RGB]:
    """Decode pictures chosen by a hash of their paths, up to a number and an amount of memory."""
    chosen = sorted(pictures, key=lambda t: hashlib.blake2b(t.file.path).digest())[:SAMPLE]
    jobs = (request(root, t.file, options.limits, pixels=True, known="") for t in chosen)
    sample: list[RGB] = []
    n_bytes = 0
    progress.start("sample", len(chosen))
    for result in compute.run(READ_TASK, jobs, "decode"):
        progress.advance()
        rgb = answer(result).rgb if isinstance(result, Done) else None
        if rgb is not None:
            sample.append(rgb)
            n_bytes += rgb.nbytes
        if n_bytes > SAMPLE_BYTES:
            break
    progress.finish()
    if not sample:
        raise CollectionError(
            f"None of the {len(chosen)} pictures could be read, so no features can be fitted. "
            "Run: sightline doctor --skipped"
        )
    return sample


def warm(requests: Sequence[FeatureRequest]) -> None:
    """Describe one small picture in this process, so that workers find compiled kernels."""
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[::2] = 255
    for w in requests:
        load_feature(w.place).describe(picture)
