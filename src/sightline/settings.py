"""Settings from flags, environment variables and configuration files.

The first source that has a value wins: a flag, the environment variable SIGHTLINE_NAME,
`config.toml` in the store, the user's `config.toml`, the default. A setting has the same name in
Python and in the TOML files; its flag has dashes in place of underscores. `sightline doctor` prints
every setting with its source.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from sightline.errors import UsageError
from sightline.records import shown

Value = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults.

    Attributes
    ----------
    workers : int
        Number of worker processes; 0 starts one for each core.
    top : int
        Number of hits to show.
    working_size : int
        Longer side, in pixels, to which pictures are decoded for features.
    max_megapixels : float
        Larger pictures are skipped and reported.
    max_file_mb : float
        Larger files are skipped and reported.
    seconds : float
        Time limit for decoding one file.
    follow : bool
        Follow symbolic links whose target is inside the collection.
    hidden : bool
        Also read files and folders whose name begins with a dot.
    folder_words : bool
        Use the names of the folders that contain a picture as words.
    txt_as : str
        How the text of `.txt` files beside pictures is read: labels, text, or auto, which takes a
        short list for labels and everything else for running text.
    language : str
        Language of the words: its plurals and stop words are folded. A name such as english, a code
        such as en, auto, which detects it by stop words, or none.
    exclude : str
        Folder names to leave out, separated by commas.
    features : str
        Features to compute for every picture, separated by commas.
    starting_words : bool
        Answer nouns that no model has learned by the classes of a network trained on ImageNet
        (needs the extra deep), and compute its feature for a collection without any word.
    wait : float
        Seconds to wait for another process that is changing the store.
    session_cap : int
        Maximum number of judged pictures that training uses from one session; the latest are used.
    compute : str
        Where index, train and evaluate compute: local, ray (the cluster in RAY_ADDRESS, or a new
        one on this machine), HOST:PORT or ray://HOST:PORT of a Ray cluster.
    shards : int
        Number of data-parallel shards for PAMIR and k-means; 1 disables sharding.
    memory : float
        Gigabytes that training and evaluating may take with all feature rows in memory. Beyond it,
        rows stay on the disk and kernel ridge learns from blocks of them. A server keeps feature
        rows rounded to a byte a number, for exact search, in up to a quarter of it.
    log_level : str
        error, warning, info or debug; only debug writes queries and captions.
    data : str
        Folder of the data sets for experiments; they belong to no store.
    engine : str
        Search engine for vectors and scores: flat, faiss, or milvus://HOST:PORT.
    ivf_rows : int
        faiss and Milvus build an IVF index for tables with at least this many rows; smaller tables
        are scanned.
    """

    workers: int = 0
    top: int = 10
    working_size: int = 384
    max_megapixels: float = 100.0
    max_file_mb: float = 200.0
    seconds: float = 10.0
    follow: bool = False
    hidden: bool = False
    folder_words: bool = False
    txt_as: str = "auto"
    language: str = "auto"
    exclude: str = ""
    features: str = ""
    starting_words: bool = True
    wait: float = 0.0
    session_cap: int = 200
    compute: str = "local"
    shards: int = 1
    memory: float = 4.0
    log_level: str = "info"
    data: str = ""
    engine: str = "flat"
    ivf_rows: int = 1_000_000

    @property
    def memory_bytes(self) -> int:
        """The setting `memory` in bytes."""
        return int(self.memory * 1e9)

    @property
    def quantised_bytes(self) -> int:
        """What a server's rounded rows may take, which save time: a quarter of `memory`."""
        return self.memory_bytes // 4


@dataclass(frozen=True, slots=True)
class Origin:
    """The value of a setting and the source it came from."""

    name: str
    value: Value
    origin: str

    def to_dict(self) -> dict[str, Value]:
        """Return the setting as JSON."""
        return {"name": self.name, "value": self.value, "origin": self.origin}


_RANGES: dict[str, tuple[float, float]] = {
    "workers": (0, 256),
    "top": (1, 100_000),
    "working_size": (32, 768),
    "max_megapixels": (0.001, 10_000),
    "max_file_mb": (0.001, 100_000),
    "seconds": (0.1, 3600),
    "wait": (0, 86_400),
    "session_cap": (0, 1_000_000),
    "ivf_rows": (1, 10**12),
    "shards": (1, 1024),
    "memory": (0.1, 1_000_000),
}
# Settings of a collection: once given as a flag of `index`, they are saved in the store.
REMEMBERED = ("follow", "hidden", "folder_words", "txt_as", "language", "exclude", "features")
TXT_AS = ("auto", "labels", "text")
_LEVELS = ("error", "warning", "info", "debug")
# Groups: "+tls" if encrypted, the host, the port.
MILVUS = re.compile(r"milvus(\+tls)?://([\w.-]+):(\d{1,5})")
_ENGINE = re.compile(rf"flat|faiss|{MILVUS.pattern}")
_COMPUTE = re.compile(r"local|ray|(ray://)?(\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):\d{1,5}")


def load(
    flags: Mapping[str, Value | None] | None = None,
    store: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Settings, list[Origin]]:
    """Return the effective settings and the source of each.

    >>> settings, origins = load({"top": 3}, environment={"SIGHTLINE_WORKERS": "2"})
    >>> settings.top, settings.workers
    (3, 2)
    >>> [(o.name, o.origin) for o in origins if o.origin != "default"]
    [('workers', 'SIGHTLINE_WORKERS'), ('top', 'flag')]
    """
    env = os.environ if environment is None else environment
    _check_names(flags or {}, "A flag")
    files = [(user_config(env), _file(user_config(env)))]
    if store is not None:
        files.insert(0, (store / "config.toml", _file(store / "config.toml")))
    values: dict[str, Value] = {}
    origins = []
    for f in fields(Settings):
        value, origin = _one(f.name, flags or {}, env, files)
        default: Value = f.default  # type: ignore[assignment]
        values[f.name] = default if value is None else _typed(f.name, value, default, origin)
        origins.append(Origin(f.name, values[f.name], origin))
    return Settings(**values), origins  # type: ignore[arg-type]


def _one(
    name: str,
    flags: Mapping[str, Value | None],
    env: Mapping[str, str],
    files: list[tuple[Path, dict[str, object]]],
) -> tuple[object, str]:
    if flags.get(name) is not None:
        return flags[name], "flag"
    variable = f"SIGHTLINE_{name.upper()}"
    if variable in env:
        return env[variable], variable
    for path, table in files:
        if name in table:
            return table[name], str(path)
    return None, "default"


def _file(path: Path) -> dict[str, object]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as e:
        raise UsageError(f"{path} cannot be read as TOML: {e}. Correct or remove it.") from e
    _check_names(table, str(path))
    return table


def _check_names(names: Iterable[str], where: str) -> None:
    settings = {f.name for f in fields(Settings)}
    for name in names:
        if name not in settings:
            raise UsageError(f"{where} has an unknown setting {name!r}. Known: {sorted(settings)}.")


def remember(store: Path, values: Mapping[str, Value]) -> None:
    """Save settings in the store's `config.toml`; its other lines stay unchanged."""
    path = store / "config.toml"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else json.dumps(value)
        lines = [line for line in lines if line.split("=")[0].strip() != name]
        lines.append(f"{name} = {text}")
    temporary = path.with_name("config.toml.part")
    # Only the owner may read the store, whatever the umask.
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    with open(
        temporary, "x", encoding="utf-8", opener=lambda p, how: os.open(p, how, 0o600)
    ) as file:
        file.write("\n".join(lines) + "\n")
    os.replace(temporary, path)


def _typed(name: str, value: object, default: Value, origin: str) -> Value:
    try:
        typed = _as(type(default), value)
    except ValueError:
        what = {"int": "a whole number", "float": "a number", "bool": "true or false"}
        need = what.get(type(default).__name__, "text")
        raise _wrong(name, need, value, origin) from None
    if name in _RANGES and not _RANGES[name][0] <= float(typed) <= _RANGES[name][1]:
        low, high = _RANGES[name]
        raise _wrong(name, f"between {low:g} and {high:g}", value, origin)
    if name == "log_level" and typed not in _LEVELS:
        raise _wrong(name, f"one of {', '.join(_LEVELS)}", value, origin)
    if name == "txt_as" and typed not in TXT_AS:
        raise _wrong(name, f"one of {', '.join(TXT_AS)}", value, origin)
    if name == "engine" and not _ENGINE.fullmatch(str(typed)):
        raise _wrong(name, "flat, faiss or milvus://HOST:PORT", value, origin)
    if name == "compute" and not _COMPUTE.fullmatch(str(typed)):
        raise _wrong(name, "local, ray, HOST:PORT or ray://HOST:PORT", value, origin)
    return typed


def _as(kind: type, value: object) -> Value:
    if kind is bool:
        if isinstance(value, bool):
            return value
        words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        if str(value).lower() in words:
            return words[str(value).lower()]
        raise ValueError(value)
    if isinstance(value, bool):
        raise ValueError(value)
    if kind is int:
        return int(str(value))
    return float(str(value)) if kind is float else str(value)


def _wrong(name: str, need: str, value: object, origin: str) -> UsageError:
    where = "" if origin == "flag" else f" (from {origin})"
    return UsageError(f"The setting {name!r} must be {need}. Got {value!r}{where}.")


def user_config(env: Mapping[str, str]) -> Path:
    """Return the path of the user's configuration file."""
    base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", "~"), ".config")
    return Path(base).expanduser() / "sightline" / "config.toml"


def data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the default parent folder of stores."""
    env = os.environ if environment is None else environment
    base = env.get("XDG_DATA_HOME") or os.path.join(env.get("HOME", "~"), ".local", "share")
    return Path(base).expanduser() / "sightline"


def default_store(collection: bytes) -> Path:
    """Return the default store path of a collection, which is never inside the collection.

    >>> default_store(b"/photos/2024").name
    '2024-cbdeb21a'
    """
    digest = hashlib.sha256(collection).hexdigest()[:8]
    name = shown(os.path.basename(collection.rstrip(b"/")))[:40] or "collection"
    safe = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name)
    return data_folder() / f"{safe}-{digest}"
