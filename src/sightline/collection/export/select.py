"""Which words go out: what pictures carry, what people accepted, what a model proposes.

A word that somebody said does not fit a picture is left out, wherever it is from. Running text is
given as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sightline.collection.index.tags import of_session
from sightline.collection.models.dataset import verdicts
from sightline.exchange.exported import (
    KINDS,
    ExportedPicture,
    ExportedWord,
    Kind,
    folded,
    writable,
)
from sightline.records import Judgement, ProposedWord, Tags
from sightline.store.catalogue import Catalogue, Facts, Where
from sightline.words.tokens import labels

JUDGED, MODEL = "judged", "model"
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """Which words are wanted.

    Attributes
    ----------
    kinds : frozenset
        Of these kinds alone.
    min_confidence : float
        Proposed words below it are left out.
    untagged : bool
        Only of pictures that carry no word at all.
    """

    kinds: frozenset[Kind] = frozenset(KINDS)
    min_confidence: float = 0.0
    untagged: bool = False


def gather(
    catalogue: Catalogue,
    judgements: Iterable[Judgement],
    where: Where,
    choice: ExportSelection,
    proposed: Mapping[int, Sequence[ProposedWord]],
) -> Iterator[ExportedPicture]:
    """Yield the pictures a filter lets through that have words to give, ids ascending.

    Parameters
    ----------
    judgements : iterable of Judgement
        What people said of pictures and words, in the order of the log's `judgements`.
    proposed : mapping
        Words of a model by picture.
    """
    said: dict[int, dict[str, bool]] = {}
    for (picture, word), fits in verdicts(judgements).items():
        said.setdefault(picture, {})[word] = fits
    every = replace(choice, kinds=choice.kinds | {"accepted", "carried"})
    ids = catalogue.where(where)
    for start in range(0, len(ids), _AT_ONCE):
        for picture, facts in catalogue.facts(ids[start : start + _AT_ONCE]).items():
            own = catalogue.words(picture)
            if choice.untagged and own:
                continue
            rest = said.get(picture, {}), proposed.get(picture, ())
            given = _picture(facts, own, choice, *rest)
            if given.words or given.caption:
                whole = _picture(facts, own, every, *rest) if every != choice else None
                yield replace(given, whole=whole)


def _picture(
    facts: Facts,
    own: Sequence[Tags],
    choice: ExportSelection,
    said: Mapping[str, bool],
    proposed: Sequence[ProposedWord],
) -> ExportedPicture:
    denied = frozenset(word for word, fits in said.items() if not fits)
    found: dict[str, ExportedWord] = {}
    for w in _all_words(own, said, proposed):
        unsure = w.confidence is not None and w.confidence < choice.min_confidence
        if w.kind not in choice.kinds or unsure or denied.intersection(labels(w.word)):
            continue
        if key := folded(w.word):
            found[key] = _joined(found[key], w) if key in found else w
    texts = [t for t in own if t.text and "carried" in choice.kinds and not of_session(t.source)]
    caption = writable("\n".join(dict.fromkeys(t.text for t in texts)))
    return ExportedPicture(
        facts.picture, facts.path, facts.width, facts.height, facts.format, tuple(found.values()),
        caption, tuple(t.source for t in texts), denied,
    )  # fmt: skip


def _all_words(
    own: Sequence[Tags], said: Mapping[str, bool], proposed: Sequence[ProposedWord]
) -> Iterator[ExportedWord]:
    """Yield every statement that a word fits: carried ones first, in people's own spelling."""
    for tags in own:
        kind: Kind = "accepted" if of_session(tags.source) else "carried"
        for tag in tags.tags:
            yield ExportedWord(writable(tag), kind, (tags.source,))
    for word, fits in said.items():
        if fits:
            yield ExportedWord(writable(word), "accepted", (JUDGED,))
    for p in proposed:
        yield ExportedWord(writable(p.word), "proposed", (MODEL,), p.confidence, p.box)


def _joined(first: ExportedWord, second: ExportedWord) -> ExportedWord:
    """Return one word of two statements: spelling of the first, kind of the stronger, any box."""
    kind = min(first.kind, second.kind, key=KINDS.index)
    sure = [w.confidence for w in (first, second) if w.confidence is not None]
    return replace(
        first,
        kind=kind,
        sources=tuple(dict.fromkeys((*first.sources, *second.sources))),
        confidence=max(sure) if kind == "proposed" and sure else None,
        box=first.box or second.box,
    )
