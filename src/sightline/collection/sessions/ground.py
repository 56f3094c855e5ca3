"""What a session stands on in the version that is served now, and what changed since it began."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sightline.collection.likeness.asking import Asked, Picture, find
from sightline.collection.likeness.descriptors import name_of
from sightline.collection.searching import allowed_by, ranked, wanted_words
from sightline.collection.sessions.rounds import Ground, drawn_background, may_appear, with_looks
from sightline.collection.sessions.space import Floats, Space, as_text, choose, from_text
from sightline.collection.sessions.start import Start
from sightline.contracts import Compute
from sightline.errors import CollectionError, NoFeatures, UsageError
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.home import Reader

_NO_DESCRIPTOR = (
    "No descriptor is on at least nine tenths of the pictures, so nothing can be learnt in the "
    "session. Run: sightline index --features {}"
)


def begin(
    reader: Reader,
    root: bytes,
    settings: Settings,
    query: str,
    like: Sequence[Picture],
    feature: str = "",
    compute: Compute | None = None,
) -> Start:
    """Return what a new session begins with; the rows of pictures are kept, should they go."""
    chosen = choose(reader.snapshot, feature)
    served = (chosen, reader.snapshot.model, reader.snapshot.version)
    if query or not like:
        wanted_words(query)  # What cannot be read is refused before anything is judged.
    if not like:
        return Start(query, (), (), *served)
    if not chosen:
        raise NoFeatures(_NO_DESCRIPTOR.format("deep"))
    space = Space(reader.snapshot, chosen)
    asked = _distinct([find(reader, root, p) for p in like])
    rows = [as_text(space.row_of(reader, a, settings, compute)) for a in asked]
    names = [_name(a) for a in asked]
    return Start(query, tuple(names), tuple(rows), *served)


def _distinct(asked: Sequence[Asked]) -> list[Asked]:
    """Return pictures without those named twice, the ones of the collection first."""
    found = {a.file: a for a in asked}.values()
    return sorted(found, key=lambda a: a.picture is None)


def _name(a: Asked) -> int | str:
    return a.picture if a.picture is not None else a.file.decode("utf-8", "surrogateescape")


def stand(reader: Reader, start: Start) -> tuple[Ground, list[str]]:
    """Return what a session stands on now, and what there is to say about it."""
    snapshot = reader.snapshot
    common = {f for s in snapshot.segments for f in s.features}
    feature = start.feature if start.feature in common else choose(snapshot)
    said = _changes(start, snapshot.model, feature)
    space = Space(snapshot, feature) if feature else None
    if space is None and not start.like:
        said.append(_NO_DESCRIPTOR.format("deep") + ". Judgements are kept, and train uses them.")
    words = None
    if start.query or not start.like:
        words = ranked(reader, start.query, start.where, start.untagged)
    allowed = words.allowed if words else allowed_by(reader, start.where, start.untagged)
    if words is not None:
        for u in words.unknown:
            near = f" Near it: {', '.join(u.near)}." if u.near else ""
            said.append(f"No picture carries {u.word!r}.{near}")
    asked, ids = _asked(start, space)
    if words is not None and space is not None and len(asked):
        words = with_looks(words, space, asked)
    background = ranked_ids = np.zeros(0, np.int64)
    if space is not None:
        background = drawn_background(space, ids, words)
        ranked_ids = may_appear(space, ids, allowed)
    served = snapshot.version, snapshot.model
    return Ground(*served, space, asked, ids, background, words, ranked_ids, allowed), said


def _asked(start: Start, space: Space | None) -> tuple[Floats, tuple[int, ...]]:
    """Return the rows of the pictures a session began with, and which are in the collection."""
    if not start.like:
        return np.zeros((0, space.length if space else 0), np.float32), ()
    if space is None:
        raise CollectionError(_NO_DESCRIPTOR.format(name_of(start.feature)))
    there, kept, ids = [], [], []
    for name, text in zip(start.like, start.rows, strict=True):
        if isinstance(name, int) and space.has(np.array([name])).all():
            there.append(space.rows([name])[0])
            ids.append(name)
        elif space.feature == start.feature:
            kept.append(from_text(text))
    if not there and not kept:
        first = start.like[0]
        lost = f"picture {first}" if isinstance(first, int) else shown(_path(first))
        raise CollectionError(
            f"The session began with {lost}, which is gone, and so is the descriptor "
            f"{name_of(start.feature)} it was known by. Begin a new one: sightline judge --like"
        )
    return np.vstack([*there, *kept]), tuple(ids)


def _path(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _changes(start: Start, model: str, feature: str) -> list[str]:
    """Say what is served now that was not when the session began."""
    said = []
    if not start.like and start.model != model:
        then = f"model {start.model}" if start.model else "no model"
        now = f"model {model}" if model else "no model"
        said.append(f"The session began with {then} of words; it goes on with {now}.")
    if start.feature != feature:
        then = name_of(start.feature) if start.feature else "no descriptor"
        now = name_of(feature) if feature else "no descriptor"
        same = then == now
        said.append(
            f"The session began with {then}{' of other settings' * same}; it goes on with {now}."
        )
    return said


def refuse_nonsense(start: Start, relevant: Sequence[int], other: Sequence[int]) -> None:
    """Refuse judgements that contradict each other, or say nothing, before any is written."""
    both = sorted(set(relevant) & set(other))
    if both:
        raise UsageError(f"Picture {both[0]} is judged both to fit and not to. Leave out one.")
    own = sorted(set(start.like) & {*relevant, *other}, key=str)
    if own:
        raise UsageError(
            f"Picture {own[0]} is what the session looks for, and fits itself. Judge others."
        )
    if not relevant and not other:
        raise UsageError("No picture is judged. Name some that fit, or that do not.")
