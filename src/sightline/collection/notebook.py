"""Hits as a notebook shows them: thumbnails of the store with score, match and path."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sightline.errors import SightlineError

if TYPE_CHECKING:
    from sightline.records import Hit
    from sightline.store.home import Home, Reader

# A notebook keeps what it shows; more hits than these are only counted.
MOST_SHOWN = 24
_WIDTH = 160


def contact_table(hits: Sequence[Hit], home: Home | None) -> str:
    """Return a grid of thumbnails as HTML; names of files are escaped."""
    if not hits:
        return "<p>No hits.</p>"
    shown, rest = hits[:MOST_SHOWN], len(hits) - MOST_SHOWN
    cells = "".join(_cell(h, t) for h, t in zip(shown, _thumbnails(shown, home), strict=True))
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{cells}</div>{more}'


def _cell(hit: Hit, thumbnail: bytes) -> str:
    name = html.escape(hit.name)
    data = base64.b64encode(thumbnail).decode("ascii")
    picture = "(no picture)"
    if data:
        picture = f'<img src="data:image/jpeg;base64,{data}" alt="{name}" style="max-width:100%">'
    caption = f"<figcaption>{hit.score:.3f} {hit.match}<br>{name}</figcaption>"
    style = f"margin:0;width:{_WIDTH}px;overflow-wrap:anywhere"
    return f'<figure style="{style}">{picture}{caption}</figure>'


def _thumbnails(hits: Sequence[Hit], home: Home | None) -> list[bytes]:
    """Return the thumbnail of each hit; none where the picture has left the store since."""
    if home is None:
        return [b""] * len(hits)
    with home.reader() as reader:
        return [_thumbnail(reader, h.picture) for h in hits]


def _thumbnail(reader: Reader, picture: int) -> bytes:
    try:
        return reader.snapshot.thumbnail(picture)
    except SightlineError:
        return b""
