"""What an index run would do, found out without doing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightline.collection.index import tags
from sightline.collection.index.options import IndexOptions
from sightline.collection.index.plan import Plan, make_plan
from sightline.collection.index.run import plan_for
from sightline.collection.index.tags import from_files
from sightline.pictures.folder import walk
from sightline.records import Tags
from sightline.store.home import Home, Reader
from sightline.store.upkeep.rollback import reusable_rows


@dataclass(frozen=True, slots=True)
class Preview:
    """The plan of a run, and how many known pictures would get other words.

    `seen` is the sum of what would be read, what stays skipped, and what is already known.
    """

    plan: Plan
    reworded: int
    skipped: int
    same: int


def preview(
    home: Home, root: bytes, options: IndexOptions, tables: Sequence[str], forgotten: set[str]
) -> Preview:
    """Compare folder, tables and store."""
    if not home.exists():
        o = options
        walked = walk(root, follow=o.limits.follow, hidden=o.hidden, exclude=o.exclude)
        return _told(make_plan(walked, [], [], set(), root, follow=o.limits.follow), 0)
    with home.reader() as reader:
        live = set(reader.snapshot.ids().tolist())
        kept = reusable_rows(home, reader.catalogue.known(), reader.snapshot, live, set())
        plan = plan_for(root, reader.catalogue, live, options, kept)
        return _told(plan, _reworded(reader, root, plan, options, tables, forgotten))


def _reworded(
    reader: Reader,
    root: bytes,
    plan: Plan,
    options: IndexOptions,
    tables: Sequence[str],
    forgotten: set[str],
) -> int:
    known = reader.catalogue.words_files()
    paths = [p for p in dict.fromkeys([*known, *tables]) if p not in forgotten]
    now: dict[int, dict[str, Tags]] = {}
    from_files(reader.catalogue, tags.WordFiles(paths, root), now, options.folder_words)
    leaving = {k.picture for k in plan.vanished} | {t.picture for t in plan.read}
    return len((now.keys() | {k.picture for _, k in plan.words}) - leaving)


def _told(plan: Plan, reworded: int) -> Preview:
    skipped = len(plan.still_skipped) + len(plan.skipped_now)
    same = plan.seen - len(plan.read) - skipped - reworded
    return Preview(plan, reworded, skipped, same)
