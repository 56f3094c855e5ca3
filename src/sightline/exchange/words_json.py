"""Words of pictures as JSON: one object a line, or one COCO document.

`sightline index --words` reads both back. Bytes of a path that are not UTF-8 are written as escaped
lone surrogates, which `os.fsencode` turns back into the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from sightline.exchange.exported import ExportedPicture, ExportedWord
from sightline.records import Box


def json_parts(pictures: Iterable[ExportedPicture]) -> Iterator[bytes]:
    """Yield a line for each picture: path, id, size, words, caption, and details of each word."""
    for p in pictures:
        record: dict[str, object] = {
            "path": p.name, "picture": p.picture, "width": p.width, "height": p.height,
            "words": [w.word for w in p.words],
        }  # fmt: skip
        if p.caption:
            record["caption"] = p.caption
        record["about"] = [_about(w) for w in p.words]
        yield _line(record)


def coco_parts(pictures: Iterable[ExportedPicture]) -> Iterator[bytes]:
    """Yield a COCO document piece by piece; boxes are in pixels of the upright picture.

    A word becomes a category, a caption an annotation with `caption`. A word without a box has an
    annotation without `bbox`.
    """
    categories: dict[str, int] = {}
    annotations: list[dict[str, object]] = []
    yield b'{"images": [\n'
    for n, p in enumerate(pictures):
        image = {"id": p.picture, "file_name": p.name, "width": p.width, "height": p.height}
        yield (b",\n" if n else b"") + _line(image).rstrip()
        for w in p.words:
            number = categories.setdefault(w.word, len(categories) + 1)
            annotations.append({"image_id": p.picture, "category_id": number, **_placed(w, p)})
        if p.caption:
            annotations.append({"image_id": p.picture, "caption": p.caption})
    yield b'],\n"annotations": [\n'
    for n, a in enumerate(annotations, start=1):
        yield _line({"id": n, **a}).rstrip() + b",\n" * (n < len(annotations))
    yield b'],\n"categories": '
    yield _line([{"id": i, "name": name} for name, i in categories.items()]).rstrip() + b"}\n"


def _about(w: ExportedWord) -> dict[str, object]:
    about: dict[str, object] = {"word": w.word, "kind": w.kind, "sources": w.sources}
    if w.confidence is not None:
        about["confidence"] = w.confidence
    if w.box is not None:
        about["box"] = list(w.box)
    return about


def _placed(w: ExportedWord, p: ExportedPicture) -> dict[str, object]:
    about: dict[str, object] = {"kind": w.kind}
    if w.confidence is not None:
        about["score"] = w.confidence
    if w.box is not None:
        x, y, width, height = _pixels(w.box, p)
        about |= {"bbox": [x, y, width, height], "area": round(width * height, 2), "iscrowd": 0}
    return about


def _pixels(box: Box, p: ExportedPicture) -> Box:
    x, y, width, height = box
    sides = (x * p.width, y * p.height, width * p.width, height * p.height)
    left, top, wide, high = (round(v, 2) for v in sides)
    return left, top, wide, high


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
