"""Reviews killed or without power at any step: no answer that was taken is lost."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.tagging.review import pending
from sightline.collection.tagging.suggest import Suggestion
from sightline.errors import SightlineError
from sightline.store.events import EventLog
from sightline.store.upkeep.verify import verify
from tests.factories.failing_disks import KILLS, Crash, Disk, cut_power, loaded_sqlite, run_child

needs_sqlite = pytest.mark.skipif(
    loaded_sqlite() is None, reason="this Python has SQLite built in, where it cannot be watched"
)
# Yes, no, or None for an undo.
SAID: list[bool | None] = [True, False, True, None, True, False, None, True]


def states(asked: list[Suggestion]) -> list[dict[tuple[int, str], bool]]:
    """Return what is judged after each step of `SAID`, the empty beginning first."""
    now: list[tuple[Suggestion, bool]] = []
    out: list[dict[tuple[int, str], bool]] = [{}]
    for said in SAID:
        if said is None:
            now.pop()
        else:
            now.append((asked[len(now)], said))
        out.append({(s.picture, s.word): yes for s, yes in now})
    return out


def reviewing(photos: Path, store: Path, disk: Disk) -> Callable[..., None]:
    """Return what a child does: answer, step by step, and say so after each."""

    def run(say: Callable[..., None]) -> None:
        for path in (store.parent, store, *sorted(store.rglob("*"))):
            disk.flushed_path(str(path))
        review = Collection.open(photos, store=store).tagging.review(filters=Filters(untagged=True))
        at = 0
        for said in SAID:
            if said is None:
                review.undo()
                at -= 1
            else:
                review.answer(review.suggestions[at], said)
                at += 1
            say("said")
        review.close()
        say("closed")

    return run


def crash_at(made: Path, folder: Path, point: int, seed: int | None) -> tuple[list[str], Crash]:
    """Crash at one step (a power cut if there is a seed) and return the problems."""
    store, shadow = folder / f"{point}-{seed}" / "store", folder / f"{point}-{seed}" / "shadow"
    shutil.copytree(made / "store", store)
    disk = Disk(store, shadow, point)
    c = Collection.open(made / "photos", store=store, workers=1)
    asked = list(c.tag(filters=Filters(untagged=True)).suggestions)
    crash = run_child(reviewing(made / "photos", store, disk), disk)
    try:
        if seed is not None:
            cut_power(store, shadow, seed)
        return problems_after(c, asked, crash), crash
    except SightlineError as e:
        return [f"cannot be used: {e}"], crash
    finally:
        shutil.rmtree(store.parent)


def problems_after(c: Collection, asked: list[Suggestion], crash: Crash) -> list[str]:
    found = [p.what for p in verify(c.store_folder).problems]
    n = sum(a[0] == "said" for a in crash.acks)
    judged = said_in_log(c)
    # A step that was not acknowledged may have happened, or not.
    if judged not in states(asked)[n : n + 2]:
        found.append(f"after {n} acknowledged answers {judged} is judged")
    again = {(s.picture, s.word) for s in c.tag(filters=Filters(untagged=True)).suggestions}
    if again & judged.keys():
        found.append(f"{again & judged.keys()} are asked again")
    # Whatever stands in the log is applied after the next review.
    c.tagging.review(filters=Filters(untagged=True)).close()
    for (picture, word), yes in judged.items():
        if any(word in t.tags for t in c.pictures.words(picture)) != yes:
            found.append(f"picture {picture} was judged {yes} for {word}, which it does not show")
    if pending(c.store_folder):
        found.append("something is still to be applied")
    return found + [p.what for p in verify(c.store_folder).problems]


def said_in_log(c: Collection) -> dict[tuple[int, str], bool]:
    with contextlib.closing(EventLog(c.store_folder.events, write=False)) as log:
        return {(j.picture, j.query): j.relevance > 0 for j in log.judgements()}


@needs_sqlite
@pytest.mark.parametrize("power", [False, True])
def test_no_answer_that_was_taken_is_lost(tagged: Path, tmp_path: Path, power: bool) -> None:
    found, crash = crash_at(tagged, tmp_path, 0, None)
    assert crash.finished and found == [] and crash.steps > 60
    rng = random.Random(8)
    for point in sorted(rng.sample(range(1, crash.steps + 1), KILLS // (4 if power else 2))):
        seed = rng.randrange(1 << 30) if power else None
        assert crash_at(tagged, tmp_path, point, seed)[0] == [], f"at step {point}"
