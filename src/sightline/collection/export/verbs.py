"""The verb `export`: words of pictures, written where other programs read them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.collection.finding import filter_of, inside, refuse_both
from sightline.errors import ParameterError, UsageError
from sightline.progress import NoProgress
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection.export.run import ExportReport
    from sightline.collection.export.select import Choice
    from sightline.collection.tagging.suggest import Suggestions
    from sightline.contracts import Progress
    from sightline.records import ProposedWord
    from sightline.settings import Settings
    from sightline.store.home import Home

# The name a file gets in a folder that was named, by format; also the ending it must have.
FILES = {"csv": "words.csv", "json": "words.jsonl", "coco": "words.json"}
FORMATS = (*FILES, "xmp")


class Exporting:
    """`export`, as a method of a collection."""

    root: bytes
    home: Home
    settings: Settings
    tag: Callable[..., Suggestions]

    def export(
        self,
        form: str,
        target: str | os.PathLike[str] | None = None,
        *,
        only: Sequence[str] = (),
        min_confidence: float = 0.0,
        untagged: bool = False,
        boxes: bool = True,
        into_collection: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
        proposed: Mapping[int, Sequence[ProposedWord]] | None = None,
        confirm: Callable[[ExportReport], bool] | None = None,
        progress: Progress | None = None,
        **filters: Any,
    ) -> ExportReport:
        """Write the words of pictures for other programs.

        Parameters
        ----------
        form
            `csv`, `json` (lines), `coco` or `xmp` (a sidecar for each picture).
        target
            A file, or a folder for it; for `xmp` a folder. Never inside the collection.
        only
            Kinds of words: `accepted` by people, `carried`, `proposed` by a model; all by default.
        min_confidence
            Proposed words below it are left out.
        untagged
            Only pictures that carry no word at all.
        boxes
            Also write where words lie, as regions of a sidecar.
        into_collection
            In place of a target: write sidecars beside the pictures, merged into those there are.
        overwrite
            Replace files of the target that are there.
        dry_run
            Write nothing.
        proposed
            Words of a model by picture; where `only` names them, those of `tag` by default.
        confirm
            Called with what would be written into the collection; unless it returns true, nothing
            is.
        **filters
            As of `search`.
        """
        from sightline.collection.export.run import Order, Run

        self.home.refuse_nothing()
        choice = _choice(only, min_confidence, untagged)
        where = filter_of(self.root, **filters)
        refuse_both(where, untagged)
        place = self._place(form, target, into_collection, overwrite)
        order = Order(form, place, choice, where, boxes, overwrite, dry_run)
        if proposed is None and "proposed" in only:
            proposed = self.tag(untagged=untagged, removals=False, **filters).proposed()
        run = Run(self.home, self.root, self.settings, order, proposed or {})
        return run.go(progress or NoProgress(), confirm)

    def _place(
        self, form: str, target: str | os.PathLike[str] | None, into: bool, overwrite: bool
    ) -> Path | None:
        """Return where to write, None for beside the pictures; refuse what must not be written."""
        if form not in FORMATS:
            raise ParameterError.of("form", "export", f"one of {', '.join(FORMATS)}", form)
        if into and (form != "xmp" or target is not None or overwrite):
            raise UsageError(
                "Only xmp goes into the collection, without a target, and is merged. Leave out "
                + ("--overwrite." if overwrite else "TARGET." if form == "xmp" else "the flag.")
            )
        if into:
            return None
        if target is None:
            raise UsageError(f"Where to? Name a {'folder' if form == 'xmp' else 'file'}.")
        place = Path(os.path.realpath(_named(form, target)))
        self._refuse(place)
        if form == "xmp" and inside(Path(os.fsdecode(self.root)), os.fsencode(place)):
            raise UsageError(
                f"The collection {shown(self.root)} lies inside {place}, so sidecars could land "
                "among the pictures. Name a folder of its own."
            )
        if form == "xmp" and place.exists() and not place.is_dir():
            raise UsageError(f"{place} is no folder. Name a folder for the sidecars.")
        if form != "xmp" and place.exists() and not overwrite:
            raise UsageError(f"{place} is there already. Name another file, or add --overwrite.")
        return place

    def _refuse(self, place: Path) -> None:
        if inside(place, self.root):
            raise UsageError(
                f"{place} lies inside the collection, where nothing is ever written. Name another "
                "place; sidecars beside the pictures: sightline export xmp --into-collection"
            )
        if inside(place, os.fsencode(os.path.realpath(self.home.folder))):
            raise UsageError(f"{place} lies inside the store. Name another place.")


def _choice(only: Sequence[str], min_confidence: float, untagged: bool) -> Choice:
    from sightline.collection.export.select import Choice
    from sightline.exchange.exported import KINDS

    if not 0 <= min_confidence <= 1:
        raise ParameterError.of("min_confidence", "export", "from 0 to 1", min_confidence)
    kinds = frozenset(k for k in KINDS if not only or k in only)
    if unknown := [k for k in only if k not in KINDS]:
        raise ParameterError.of("only", "export", f"among {', '.join(KINDS)}", unknown[0])
    return Choice(kinds, min_confidence, untagged)


def _named(form: str, target: str | os.PathLike[str]) -> Path:
    """Return the file that is meant; a folder gets one with the usual name."""
    place = Path(target).expanduser().absolute()
    if form == "xmp":
        return place
    if place.is_dir() or os.fspath(target).endswith("/"):
        return place / FILES[form]
    ending = Path(FILES[form]).suffix
    if place.suffix.lower() != ending:
        raise UsageError(f"A file of {form} ends in {ending}. Name it so, not {place.name!r}.")
    return place
