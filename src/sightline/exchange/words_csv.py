"""Words of pictures as CSV, one word a row; `sightline index --words` reads it back."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from sightline.exchange.exported import ExportedPicture

COLUMNS = ("path", "picture", "word", "kind", "source", "confidence", "caption")


def csv_parts(pictures: Iterable[ExportedPicture]) -> Iterator[bytes]:
    """Yield a table piece by piece: a row for each word, and one for a picture's caption.

    >>> from sightline.exchange.exported import ExportedWord
    >>> snow = ExportedWord("snow", "tagged", ("txt",))
    >>> one = ExportedPicture(7, b"a.jpg", 4, 3, "JPEG", (snow,))
    >>> b"".join(csv_parts([one])).decode().splitlines()[1]
    'a.jpg,7,snow,tagged,txt,,'
    """
    yield _lines([COLUMNS])
    for p in pictures:
        path = p.name
        rows = [
            (path, p.picture, w.word, w.kind, _sources(w.sources), _number(w.confidence), "")
            for w in p.words
        ]
        if p.caption:
            sources = _sources(p.caption_sources)
            rows.append((path, p.picture, "", "tagged", sources, "", p.caption))
        yield _lines(rows)


def _sources(sources: tuple[str, ...]) -> str:
    return "; ".join(sources)


def _number(confidence: float | None) -> str:
    return "" if confidence is None else f"{confidence:.4g}"


def _lines(rows: Iterable[tuple[object, ...]]) -> bytes:
    out = io.StringIO(newline="")
    # With this terminator the writer quotes cells that contain either of its characters.
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode("utf-8", "surrogateescape")
