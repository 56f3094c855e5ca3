"""A preview of an index run: its plan, without the run (`sightline index --dry-run`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Names
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sightline.collection.index import tags
from sightline.collection.index.codebooks import resolved
from sightline.collection.index.options import IndexOptions
from sightline.collection.index.plan import Plan, complete_rows, lacking_features, plan_for
from sightline.collection.index.skipped import SkipGroup, skip_groups
from sightline.collection.index.tables import (
    TableReport,
    WordChanges,
    WordFiles,
    effective_rules,
    remembered_rules,
)
from sightline.contracts import Json
from sightline.pictures.tally import ReasonCount
from sightline.pictures.word_columns import BY_NAME, ColumnRules
from sightline.records import Tags
from sightline.store.folder import Reader, StoreFolder
from sightline.store.snapshot import Snapshot
from sightline.store.upkeep.rollback import reusable_rows


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a run, and how many known pictures would get other words.

    `plan.seen` is the sum of what would be read, what stays skipped, pictures that only lack
    features (`described`) or get other words, and what stays the same. `features` says for how
    many pictures each feature would be computed.
    """

    plan: Plan
    reworded: int
    described: int
    skipped: int
    same: int
    features: Mapping[str, int] = field(default_factory=dict)
    tables: tuple[TableReport, ...] = ()
    groups: tuple[SkipGroup, ...] = ()
    left_out: tuple[ReasonCount, ...] = ()
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return the counts as JSON."""
        return {
            "seen": self.plan.seen, "to_read": len(self.plan.read), "words_changed": self.reworded,
            "to_describe": self.described, "skipped": self.skipped, "unchanged": self.same,
            "vanished": len(self.plan.vanished), "features": dict[str, Json](self.features),
            "tables": [t.to_dict() for t in self.tables], "problems": list[Json](self.problems),
            "skipped_by_reason": [g.to_dict() for g in self.groups],
            "left_out": [c.to_dict() for c in self.left_out],
        }  # fmt: skip


def preview(
    store_folder: StoreFolder,
    root: bytes,
    options: IndexOptions,
    tables: Sequence[str],
    forgotten: set[str],
    rules: ColumnRules = BY_NAME,
) -> Preview:
    """Return what a run would do, by folder, tables and store."""
    if not store_folder.exists():
        plan = plan_for(root, None, set(), options)
        files = WordFiles(tables, root, effective_rules({}, tables, rules), plan.present([]))
        return _preview_of(plan, set(), _to_compute(plan, options, None), files, {})
    with store_folder.reader() as reader:
        options = _as_stored(reader, options)
        plan = _plan(reader, root, options)
        catalogue = reader.catalogue
        paths = [
            p for p in dict.fromkeys([*catalogue.words_files(), *tables]) if p not in forgotten
        ]
        by_path = effective_rules(remembered_rules(catalogue), tables, rules)
        files = WordFiles(paths, root, by_path, plan.present(catalogue.known()))
        new_words: dict[int, dict[str, Tags]] = {}
        leaving = {k.picture for k in plan.vanished} | {t.picture for t in plan.read if t.picture}
        changes = tags.from_files(catalogue, files, new_words, options.folder_words, leaving)
        reworded = (new_words.keys() | {k.picture for _, k in plan.words}) - leaving
        features = _to_compute(plan, options, reader.snapshot)
        return _preview_of(plan, reworded, features, files, changes)


def _as_stored(reader: Reader, options: IndexOptions) -> IndexOptions:
    """Return options with features as the rows of the version have them."""
    if options.refit:
        return options
    store_folder = reader.store_folder
    version = store_folder.versions.read(reader.snapshot.version)
    features = resolved(store_folder.models, version, options.features, options.limits.side)
    return replace(options, features=features)


def _plan(reader: Reader, root: bytes, options: IndexOptions) -> Plan:
    snapshot, catalogue = reader.snapshot, reader.catalogue
    live, lacking = complete_rows(snapshot, options)
    wanted = {w.fingerprint for w in options.features}
    kept = reusable_rows(reader.store_folder, catalogue.known(), snapshot, live, wanted)
    return plan_for(root, catalogue, live, options, lacking, kept)


def _to_compute(plan: Plan, options: IndexOptions, snapshot: Snapshot | None) -> dict[str, int]:
    """Return for how many pictures each feature would be computed; none of those it would not."""
    counts = Counter({w.name: len(plan.read) for w in options.features})
    if snapshot is not None:
        for missing in lacking_features(snapshot, plan.describe, options.features).values():
            counts.update(w.name for w in missing)
    return {name: n for name, n in counts.items() if n}


def _preview_of(
    plan: Plan,
    reworded: Names[int],
    features: Mapping[str, int],
    files: WordFiles,
    changes: Mapping[str, WordChanges],
) -> Preview:
    skipped = len(plan.still_skipped) + len(plan.skipped_now)
    described = sum(t.picture not in reworded for t in plan.describe)
    same = plan.seen - len(plan.read) - skipped - len(reworded) - described
    groups = skip_groups([*plan.still_skipped, *plan.skipped_now], plan.skipped_before)
    return Preview(
        plan, len(reworded), described, skipped, same, features, files.reports(changes), groups,
        plan.left_out.counts(), tuple(files.problems),
    )  # fmt: skip
