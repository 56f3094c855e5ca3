"""How an index run behaves: by settings and flags, some of them remembered for later runs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sightline import plugins, settings
from sightline.collection.index.tables import remembered_rules
from sightline.compute.features import feature_class, fingerprint, is_fitted, load_feature
from sightline.contracts import Json
from sightline.pictures.reading import ReadLimits
from sightline.pictures.word_columns import BY_NAME, ColumnRules
from sightline.settings import Origin, Settings
from sightline.store.durable import disk_errors
from sightline.store.events import NewEvent
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer


@dataclass(frozen=True, slots=True)
class FeatureRequest:
    """A feature to compute; a fitted one has no fingerprint until it is fitted."""

    name: str
    place: str
    fingerprint: str = ""
    length: int = 0


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """How a run behaves."""

    limits: ReadLimits = field(default_factory=ReadLimits)
    hidden: bool = False
    exclude: tuple[bytes, ...] = ()
    folder_words: bool = False
    txt_as: str = "auto"
    retry: bool = False
    refit: bool = False
    allow_empty: bool = False
    seconds: float = 10.0
    features: tuple[FeatureRequest, ...] = ()
    shards: int = 1
    reread: bool = False


def split_names(text: str) -> list[str]:
    """Return the names of a list separated by commas.

    >>> split_names("deep, visterms")
    ['deep', 'visterms']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def default_features() -> list[str]:
    """Return the features to learn from where nobody named any: the best that is installed."""
    from sightline.features.deep.session import is_available

    return ["deep-all", "classic"] if is_available() else ["classic-all"]


def quick_feature() -> str:
    """Return the feature to compare pictures by where they have none: good, and soon computed."""
    from sightline.features.deep.session import is_available

    return "deep" if is_available() else "gist"


def index_options(
    s: Settings,
    features: Sequence[str] = (),
    tables: Sequence[str] = (),
    retry: bool = False,
    refit: bool = False,
    allow_empty: bool = False,
) -> IndexOptions:
    """Return the options of a run, with the features that the settings name and some more."""
    names = plugins.expanded([*split_names(s.features), *features])
    return IndexOptions(
        limits=ReadLimits.of(s),
        hidden=s.hidden,
        exclude=tuple(os.fsencode(e) for e in split_names(s.exclude)),
        folder_words=s.folder_words,
        txt_as=s.txt_as,
        retry=retry,
        refit=refit,
        allow_empty=allow_empty,
        reread=bool(tables),
        seconds=s.seconds,
        shards=s.shards,
        features=tuple(
            feature_request(n, plugins.place("features", n), s.working_size) for n in names
        ),
    )


def feature_request(name: str, place: str, size: int) -> FeatureRequest:
    """Return a feature by name; one that has to be fitted has no fingerprint yet.

    Missing packages raise here, before an index remembers to compute the feature.
    """
    if is_fitted(place):
        require = getattr(feature_class(place), "require", None)
        if require is not None:
            require()
        return FeatureRequest(name, place)
    feature = load_feature(place)
    return FeatureRequest(name, place, fingerprint(feature, size), feature.length)


def remember_tables(
    writer: Writer,
    root: bytes,
    words: Sequence[str],
    forget_words: Sequence[str],
    rules: ColumnRules = BY_NAME,
) -> None:
    """Keep for later runs which folder this is, and which tables of words it has with which rules.

    Rules are those of the tables named now; without any, they keep those they had.
    """
    known = writer.catalogue.words_files()
    known_rules = remembered_rules(writer.catalogue)
    events = []
    if rules != BY_NAME:
        columns: dict[str, Json] = {"present": True, "columns": rules.to_dict()}
        new = [path for path in words if known_rules.get(path) != rules]
        events += [NewEvent("words-file", body={"path": path, **columns}) for path in new]
        known = [*known, *new]
    for given, present in ((words, True), (forget_words, False)):
        for path in given:
            if present != (path in known):
                events.append(NewEvent("words-file", body={"path": path, "present": present}))
    meta = [("root", json.dumps(os.fsdecode(root)))]
    writer.note(Change(events=writer.append(events), meta=meta))


def remember_flags(
    store_folder: StoreFolder, current: Settings, origins: Sequence[Origin], features: Sequence[str]
) -> Settings:
    """Keep the flags of this run that later runs shall use too; return the settings with them."""
    flags = {o.name: o.value for o in origins if o.origin == "flag"}
    remembered: dict[str, settings.Value] = {
        n: v for n, v in flags.items() if n in settings.REMEMBERED
    }
    before = split_names(current.features)
    new = [n for n in features if not set(plugins.expanded([n])) <= set(plugins.expanded(before))]
    if new:
        remembered["features"] = ",".join([*before, *new])
    if not remembered:
        return current
    with disk_errors(store_folder.path / "config.toml"):
        settings.remember(store_folder.path, remembered)
    return replace(current, **remembered)  # type: ignore[arg-type]
