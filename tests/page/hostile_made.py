"""A collection in which all that can be read is hostile: names, folders, captions, metadata."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.sax.saxutils import escape

from PIL import Image

from sightline.collection import Collection
from sightline.errors import SightlineError
from sightline.store.folder import StoreFolder
from sightline.store.writer import Change, Writer
from tests.page.hostile import file_name

# Fields of EXIF: description, make, model, software, artist, copyright.
_FIELDS = (0x010E, 0x010F, 0x0110, 0x0131, 0x013B, 0x8298)
_XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">
<rdf:Description><dc:title><rdf:Alt><rdf:li xml:lang="x-default">{0}</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{0}</rdf:li></rdf:Alt></dc:description>
<dc:subject><rdf:Bag><rdf:li>{0}</rdf:li><rdf:li>cow</rdf:li></rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def hostile_collection(made: Path, folder: Path, texts: list[str]) -> Collection:
    """Return a collection that has learnt all there is, its pictures renamed to hostile texts.

    Each text names a picture or a folder, is a caption, and stands in metadata; some files are no
    pictures and are skipped by a hostile name.
    """
    shutil.copytree(made / "store", folder / "store")
    photos = folder / "photos"
    photos.mkdir()
    places = [photos / file_name(texts[i], i) for i in range(0, min(len(texts), 40), 8)]
    for place in places:
        place.mkdir()
    old = sorted((made / "photos").glob("*.png"))
    for i, text in enumerate(texts):
        place = [photos, *places][i % 6 if i % 6 <= len(places) else 0]
        stem = place / file_name(text, i)
        if i < len(old):
            shutil.copy2(old[i], f"{stem}.png")
            words = old[i].with_suffix(".txt")
            said = words.read_text() if words.exists() else ""
            Path(f"{stem}.txt").write_text(f"{said}\n{text}", encoding="utf-8")
        else:
            _write(Path(f"{stem}.jpg"), text)
    for i, text in enumerate(texts[:10]):
        (photos / f"{file_name(text, i)}.gif").write_bytes(b"no picture")
    with Writer(StoreFolder(folder / "store"), "test") as writer:
        writer.note(Change(meta=[("root", json.dumps(str(photos)))]))
    c = Collection.open(photos, store=folder / "store", workers=1)
    c.index()
    _judge(c, texts)
    return c


def _write(path: Path, text: str) -> None:
    exif = Image.Exif()
    for field in _FIELDS:
        exif[field] = text
    fitting = "".join(ch for ch in text if ch >= " ")
    packet = _XMP.format(escape(fitting)).encode()
    image = Image.new("RGB", (32, 24), (60, 160, 60))
    image.save(path, "JPEG", exif=exif, xmp=packet)


def _judge(c: Collection, texts: list[str]) -> None:
    """Leave sessions with hostile queries, and words of hostile texts."""
    for text in texts[:30]:
        try:
            session = c.judge(f"cow {text}")
        except SightlineError:
            continue  # Not every text can be asked for.
        session.mark(positive=[1, 3])
        try:
            session.save_as(text)
        except SightlineError:
            continue
