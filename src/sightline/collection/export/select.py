"""Which words are exported: tags of pictures, words that people accepted, proposals of a model.

A word that was judged not to fit a picture is left out, whatever its source. Captions are exported
as they were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sightline.collection.index.tags import of_session
from sightline.collection.models.dataset import verdicts
from sightline.errors import ParameterError
from sightline.exchange.exported import (
    EARLIER_KINDS,
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
    """Which words are exported.

    Attributes
    ----------
    kinds : frozenset
        Of these kinds alone.
    min_confidence : float
        Proposed words below it are left out.
    untagged : bool
        Only of pictures that have no word at all.
    """

    kinds: frozenset[Kind] = frozenset(KINDS)
    min_confidence: float = 0.0
    untagged: bool = False


def check_selection(only: Sequence[str], min_confidence: float, untagged: bool) -> ExportSelection:
    """Return which words to export; raise for kinds that do not exist."""
    if not 0 <= min_confidence <= 1:
        raise ParameterError.of("min_confidence", "export", "from 0 to 1", min_confidence)
    only = [EARLIER_KINDS.get(k, k) for k in only]
    if unknown := [k for k in only if k not in KINDS]:
        raise ParameterError.of("only", "export", f"among {', '.join(KINDS)}", unknown[0])
    kinds = frozenset(k for k in KINDS if not only or k in only)
    return ExportSelection(kinds, min_confidence, untagged)


def gather(
    catalogue: Catalogue,
    judgements: Iterable[Judgement],
    where: Where,
    choice: ExportSelection,
    proposed: Mapping[int, Sequence[ProposedWord]],
) -> Iterator[ExportedPicture]:
    """Yield the pictures a filter lets through that have words to export, ids ascending.

    Parameters
    ----------
    judgements : iterable of Judgement
        Judgements of pictures and words, in the order of the log's `judgements`.
    proposed : mapping
        Words of a model by picture.
    """
    verdict_of: dict[int, dict[str, bool]] = {}
    for (picture, word), fits in verdicts(judgements).items():
        verdict_of.setdefault(picture, {})[word] = fits
    every = replace(choice, kinds=choice.kinds | {"accepted", "tagged"})
    ids = catalogue.where(where)
    for start in range(0, len(ids), _AT_ONCE):
        for picture, facts in catalogue.facts(ids[start : start + _AT_ONCE]).items():
            tagged = catalogue.words(picture)
            if choice.untagged and tagged:
                continue
            statements = verdict_of.get(picture, {}), proposed.get(picture, ())
            exported = _picture(facts, tagged, choice, *statements)
            if exported.words or exported.caption:
                whole = _picture(facts, tagged, every, *statements) if every != choice else None
                yield replace(exported, whole=whole)


def _picture(
    facts: Facts,
    tagged: Sequence[Tags],
    choice: ExportSelection,
    verdict_of: Mapping[str, bool],
    proposed: Sequence[ProposedWord],
) -> ExportedPicture:
    denied = frozenset(word for word, fits in verdict_of.items() if not fits)
    words: dict[str, ExportedWord] = {}
    for w in _all_words(tagged, verdict_of, proposed):
        unsure = w.confidence is not None and w.confidence < choice.min_confidence
        if w.kind not in choice.kinds or unsure or denied.intersection(labels(w.word)):
            continue
        if key := folded(w.word):
            words[key] = _joined(words[key], w) if key in words else w
    texts = [t for t in tagged if t.text and "tagged" in choice.kinds and not of_session(t.source)]
    caption = writable("\n".join(dict.fromkeys(t.text for t in texts)))
    return ExportedPicture(
        facts.picture, facts.path, facts.width, facts.height, facts.format, tuple(words.values()),
        caption, tuple(t.source for t in texts), denied,
    )  # fmt: skip


def _all_words(
    tagged: Sequence[Tags], verdict_of: Mapping[str, bool], proposed: Sequence[ProposedWord]
) -> Iterator[ExportedWord]:
    """Yield every statement that a word fits: tags first, in people's own spelling."""
    for tags in tagged:
        kind: Kind = "accepted" if of_session(tags.source) else "tagged"
        for tag in tags.tags:
            yield ExportedWord(writable(tag), kind, (tags.source,))
    for word, fits in verdict_of.items():
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
