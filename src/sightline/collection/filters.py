"""Which pictures an answer may hold: by folder, date, size and whether they have words."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sightline.errors import UsageError
from sightline.records import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightline.store.catalogue import Where
    from sightline.store.folder import Reader

_DATE_FORMATS = ("%Y-%m-%d", "%Y-%m", "%Y", "%Y-%m-%dT%H:%M:%S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that every picture of an answer meets; what is None does not filter.

    Parameters
    ----------
    folder : str or bytes, optional
        Only pictures below this folder, given relative to the collection, absolute, or relative to
        the working directory.
    after, before : int or str, optional
        Only pictures taken in this time, or changed where the time taken is unknown: a date such as
        "2024-06", or seconds since 1970.
    min_side, max_side : int, optional
        Bounds on the longer side in pixels.
    min_bytes, max_bytes : int, optional
        Bounds on the file size.
    tagged, untagged : bool
        Only pictures with some word, or with none.
    """

    folder: str | bytes | None = None
    after: int | str | None = None
    before: int | str | None = None
    min_side: int | None = None
    max_side: int | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    tagged: bool = False
    untagged: bool = False

    def __post_init__(self) -> None:
        if self.tagged and self.untagged:
            raise UsageError("No picture is both tagged and untagged. Name one of the two.")

    def where(self, root: bytes) -> Where:
        """Return the filter of the catalogue; whether a picture is untagged is not part of it."""
        from sightline.store.catalogue import Where

        folder = None if self.folder is None else below_root(os.fsencode(self.folder), root)
        times = parse_date(self.after, "after"), parse_date(self.before, "before")
        sizes = self.min_side, self.max_side, self.min_bytes, self.max_bytes
        return Where(folder, *times, *sizes, self.tagged or None)


NO_FILTERS = Filters()


def allowed_ids(reader: Reader, where: Where, untagged: bool) -> NDArray[np.int64] | None:
    """Return the ids that filters leave, ascending; None where nothing is filtered."""
    import numpy as np

    # Whether pictures have words is read from the rows of the version, which is faster.
    rest = replace(where, tagged=None)
    ids = np.array(reader.catalogue.where(rest), np.int64) if rest else None
    if not untagged and not where.tagged:
        return ids
    by_words = reader.snapshot.with_words() if where.tagged else reader.snapshot.without_words()
    return by_words if ids is None else np.intersect1d(ids, by_words, assume_unique=True)


def below_root(folder: bytes, root: bytes) -> bytes | None:
    """Return a folder as a path relative to the collection; None for the whole collection."""
    plain = os.path.normpath(folder.strip(b"/") or b".")
    for candidate in (os.path.join(root, plain), os.path.realpath(folder)):
        real = os.path.realpath(candidate)
        if os.path.isdir(real) and (real == root or real.startswith(root.rstrip(b"/") + b"/")):
            relative = os.path.relpath(real, root)
            return None if relative == b"." else relative
    raise UsageError(f"There is no folder {shown(folder)} in the collection {shown(root)}.")


def parse_date(when: int | str | None, name: str) -> int | None:
    """Read a date such as 2024, 2024-06 or 2024-06-30 as its first second.

    >>> parse_date("1970-01-02", "after")
    86400
    """
    if when is None or isinstance(when, int):
        return when
    for form in _DATE_FORMATS:
        try:
            moment = datetime.datetime.strptime(when, form)
        except ValueError:
            continue
        return int(moment.replace(tzinfo=datetime.UTC).timestamp())
    raise UsageError(f"{name} must be a date such as 2024, 2024-06 or 2024-06-30. Got {when!r}.")
