"""Reads click logs; the format is recognised by the fields of the records.

Several files are read as one log: queries may be in one and events in another. Only impressions are
held in memory, and no record can end the reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sightline.errors import DataError
from sightline.exchange import metarank, ubi
from sightline.exchange.impressions import Impression, LogJoiner, LogPlace, SkippedEvents
from sightline.exchange.json_records import Advance, Record, read_records

_FORMATS = (ubi, metarank)
_EXPECTED = (
    'Expected UBI 1.3 queries and events, such as {"query_id": "1", "user_query": "sea", '
    '"query_response_hit_ids": ["a.jpg", "b.jpg"]} and {"query_id": "1", "action_name": "click", '
    '"event_attributes": {"object": {"object_id": "b.jpg"}}}, or Metarank events of the kinds '
    "ranking and interaction; a record a line, or one array."
)


@dataclass(frozen=True, slots=True)
class ClickLog:
    """The content of a log; `formats` names the format of each file, "" if it has none."""

    impressions: tuple[Impression, ...]
    skipped: SkippedEvents
    formats: tuple[str, ...]
    records: int
    clicks: int


def read_clicks(paths: Sequence[str], advance: Advance = lambda n: None) -> ClickLog:
    """Read files as one log.

    Parameters
    ----------
    paths : sequence of str
        The files.
    advance : callable, optional
        Called with the number of bytes read.

    Raises
    ------
    DataError
        A file cannot be opened, none has a record of a known format, or the log has no rankings or
        no clicks.
    """
    skipped = SkippedEvents(paths)
    joiner = LogJoiner(skipped)
    formats, n = [], 0
    for i, path in enumerate(paths):
        name = ""
        for record in _records(path, i, skipped, advance):
            name = _add_record(record, joiner, LogPlace(i, record.line)) or name
            n += 1
        formats.append(name)
    if not any(formats):
        first = skipped.named[0] if skipped.named else "there is no record in it"
        raise DataError(f"This is no click log: {first}. {_EXPECTED}")
    impressions = tuple(joiner.impressions())
    _check_complete(impressions, joiner, skipped)
    return ClickLog(impressions, skipped, tuple(formats), n, joiner.n_clicks)


def _records(path: str, file: int, skipped: SkippedEvents, advance: Advance) -> Iterator[Record]:
    def problem(line: int, text: str) -> None:
        skipped.skip("record that cannot be read", LogPlace(file, line), text)

    return read_records(path, problem, advance)


def _add_record(record: Record, joiner: LogJoiner, place: LogPlace) -> str:
    body = ubi.inner(record.body)
    for form in _FORMATS:
        if form.recognises(body):
            form.add_record(body, joiner, place)
            return str(form.NAME)
    if not ubi.is_bulk_line(body):
        what = f"neither UBI nor Metarank: its names are {', '.join(map(repr, list(body)[:6]))}"
        joiner.skipped.skip("record of no known kind", place, what)
    return ""


def _check_complete(
    impressions: Sequence[Impression], joiner: LogJoiner, skipped: SkippedEvents
) -> None:
    """Raise if a log has no lists of hits, or no clicks."""
    if not impressions:
        lost = "; ".join(f"{n} times: {what}" for what, n in skipped.counts.most_common(3))
        raise DataError(
            f"The log has {joiner.n_clicks} clicks and no list of what was shown for a query"
            + (f" ({lost})" if lost else "")
            + ". Clicks alone cannot be learned from: they do not say which hits were not clicked, "
            "nor their ranks. Export what was shown too: UBI queries with query_response_hit_ids "
            "or impression events with position.ordinal, Metarank ranking events with items and a "
            "field 'query'."
        )
    if not any(i.clicked for i in impressions):
        raise DataError(
            f"Nothing was clicked in the {len(impressions)} lists of the log, so there is nothing "
            "to learn. Export the events too: UBI action_name 'click', Metarank interactions of "
            "type 'click', with the id of their list."
        )
