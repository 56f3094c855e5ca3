"""A collection whose words are exported, and ways to judge them."""

from __future__ import annotations

from pathlib import Path

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from sightline.contracts import Json
from sightline.store.events import NewEvent
from sightline.store.writer import Judging
from tests.factories.photos import make_photos


def indexed(folder: Path, n: int = 8) -> Collection:
    """Return an indexed collection of pictures with words in text files beside them."""
    photos = make_photos(folder / "photos", n)
    c = Collection.open(photos, store=folder / "store", workers=1)
    reindex(c)
    return c


def reindex(c: Collection, *tables: Path) -> None:
    """Index in this process."""
    c.index(words=tables, compute=InlineCompute())


def judge(c: Collection, query: str, picture: int, fits: bool, session: str = "s") -> None:
    """Judge a picture as a user does in a session."""
    body: dict[str, Json] = {
        "query": query, "relevance": float(fits), "source": "judge", "mark": f"{query}{fits}",
    }  # fmt: skip
    with Judging(c.store_folder) as judging:
        judging.append([NewEvent("judged", picture, body, session)])


def folder_of(c: Collection) -> Path:
    """Return the folder of the pictures."""
    return Path(c.root.decode())


def terms_of(c: Collection) -> dict[bytes, set[str]]:
    """Return the terms by which each picture is found."""
    with c.store_folder.reader() as reader:
        spelled = dict(reader.catalogue.terms())
        of_path: dict[bytes, set[str]] = {}
        for s in reader.snapshot.segments:
            alive = s.alive()
            for row, picture in enumerate(s.ids.tolist()):
                if alive[row]:
                    a, b = s.base["word_start"][row : row + 2]
                    path = reader.catalogue.facts([picture])[picture].path
                    of_path[path] = {
                        spelled[t] for t in s.base["terms"][s.base["word"][a:b]].tolist()
                    }
        return of_path
