"""Folders of pictures to work on: Caltech-101 where it is at hand, seeded synthetic ones else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.bench import Bench
from benchmarks.rows import BenchmarkError

SEED = 20_240
_ENDINGS = (".jpg", ".jpeg")
_WORDS = ("tree", "snow", "barn", "river", "bridge", "night", "harbour", "dog", "red", "market")
_PER_FOLDER = 500


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of pictures: where, how many, and what they are in a few words."""

    path: Path
    pictures: int
    what: str


def real_or_synthetic(bench: Bench) -> Folder:
    """Return Caltech-101, or synthetic pictures of about its kind where no data was given."""
    limit = bench.sizes.throughput
    if bench.data is None:
        n = min(bench.sizes.synthetic, limit or bench.sizes.synthetic)
        made = bench.once("synthetic", lambda f: synthetic(f, n, (256, 192), words=False))
        return Folder(made, n, f"{n} synthetic JPEGs of 256×192, no data given")
    data = bench.data
    return bench.once("caltech101", lambda f: _caltech(data, f, limit))


def _caltech(data: Path, target: Path, limit: int | None) -> Folder:
    """Copy or unpack every n-th picture, so that a part still has something of every class."""
    unpacked, packed = data / "caltech101", data / "caltech101.zip"
    if unpacked.is_dir():
        files = sorted(p for p in unpacked.rglob("*") if p.suffix.lower() in _ENDINGS)
        chosen = _part([str(p) for p in files], limit)
        _copy(target, chosen, lambda name: Path(name).read_bytes())
    elif packed.is_file():
        with zipfile.ZipFile(packed) as z:
            chosen = _part(sorted(n for n in z.namelist() if n.lower().endswith(_ENDINGS)), limit)
            _copy(target, chosen, z.read)
    else:
        raise BenchmarkError(f"{data} holds neither caltech101.zip nor a folder caltech101.")
    return Folder(target, len(chosen), f"{len(chosen)} pictures of Caltech-101")


def _copy(target: Path, names: list[str], read: Callable[[str], bytes]) -> None:
    for i, name in enumerate(names):
        folder = target / Path(name).parent.name
        folder.mkdir(exist_ok=True)
        (folder / f"{i:05d}.jpg").write_bytes(read(name))


def _part(names: list[str], limit: int | None) -> list[str]:
    if not names:
        raise BenchmarkError("There are no JPEG files in the Caltech-101 that was given.")
    if limit is None or limit >= len(names):
        return names
    return [names[i] for i in np.linspace(0, len(names) - 1, limit).astype(int).tolist()]


def collection(bench: Bench, n: int | None = None) -> Path:
    """Return a folder of n small synthetic pictures with words beside them."""
    count = bench.sizes.collection if n is None else n
    return bench.once(f"collection-{count}", lambda f: synthetic(f, count, (96, 72), words=True))


def synthetic(folder: Path, n: int, size: tuple[int, int], *, words: bool) -> Path:
    """Write n different JPEGs: smooth colours with grain, so that decoding is honest work."""
    rng = np.random.default_rng(SEED)
    width, height = size
    for i in range(n):
        place = folder / f"{i // _PER_FOLDER:03d}"
        if i % _PER_FOLDER == 0:
            place.mkdir()
        (place / f"{i:06d}.jpg").write_bytes(_jpeg(rng, width, height))
        if words:
            chosen = sorted(set(rng.integers(0, len(_WORDS), 3).tolist()))
            text = ", ".join([*(_WORDS[j] for j in chosen), f"lot{i % 97}"])
            (place / f"{i:06d}.txt").write_text(text)
    return folder


def _jpeg(rng: np.random.Generator, width: int, height: int) -> bytes:
    coarse = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    grain = rng.integers(-12, 13, smooth.shape, dtype=np.int16)
    picture = np.clip(smooth + grain, 0, 255).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(picture).save(out, "JPEG", quality=80)
    return out.getvalue()
