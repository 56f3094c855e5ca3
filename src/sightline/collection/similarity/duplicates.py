"""Near-duplicates: pictures with equal bytes, and pictures that look nearly equal.

Pictures with equal bytes count as one. Among the others, the picture with the most pixels that is
in no group yet starts a group. The group takes in every picture whose difference to any member is
at most the threshold, as long as its difference to the first is at most twice the threshold. So a
group is connected, but a chain of small steps cannot lead away from its best picture. Memory holds
the signatures alone, 1 KB per picture, never a matrix of pairs.

A signature is the thumbnail shrunk to 16 by 16 cells of colour. The difference of two signatures
a, b is

    d = max( rms(a - b), largest rms of a - b in any 2 by 2 cells / 4 ) / contrast

where contrast is the larger root mean square deviation of the two from their own mean colour, and
at least 16 of 255 levels. It is 0 for equal pictures, and small for resized or recompressed ones;
the second term detects a local difference. Crops, mirrored and rotated pictures count as different,
as do pictures with another aspect ratio. Means over larger cells are a lower bound of the
difference, so most pairs need no full comparison.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightline._typing import Floats, Ints
from sightline.collection.filters import allowed_ids
from sightline.contracts import Json, Progress
from sightline.errors import CollectionError, ParameterError
from sightline.records import shown
from sightline.store.catalogue import Facts, Where
from sightline.store.folder import Reader

# Of 150 photographs, all copies of half and of double size differ by less, and .99 of those
# encoded at quality 20. Of 1,200 different ones, every closer pair was the same picture.
THRESHOLD = 0.15
_LARGEST = 0.5


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A picture of a group.

    `mark` is "best" for the largest one, "copy" for one with the same bytes and "near" for others;
    `difference` is the difference of its signature to that of the best one.
    """

    picture: int
    path: bytes
    mark: str
    difference: float
    width: int
    height: int
    n_bytes: int

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the picture as JSON; `path` lies below `root`.

        `picture` is what `id` was called in earlier releases.
        """
        return {
            "id": self.picture, "picture": self.picture,
            "path": os.fsdecode(os.path.join(root, self.path)), "mark": self.mark,
            "difference": self.difference, "width": self.width, "height": self.height,
            "bytes": self.n_bytes,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of near-duplicates, each with its best picture first.

    `unseen` counts pictures without a thumbnail, which are compared by their bytes alone.
    """

    groups: tuple[tuple[Duplicate, ...], ...]
    threshold: float
    compared: int
    unseen: int
    version: int

    def __iter__(self) -> Iterator[tuple[Duplicate, ...]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def spare_bytes(self) -> int:
        """The size of all but the best picture of each group."""
        return sum(d.n_bytes for g in self.groups for d in g[1:])

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the groups as JSON; paths lie below `root`."""
        return {
            "threshold": self.threshold, "version": self.version, "compared": self.compared,
            "unseen": self.unseen, "spare_bytes": self.spare_bytes,
            "groups": [[d.to_dict(root) for d in group] for group in self.groups],
        }  # fmt: skip


def find_duplicates(
    reader: Reader,
    root: bytes,
    threshold: float,
    where: Where,
    untagged: bool,
    progress: Progress,
) -> Duplicates:
    """Group the pictures that pass the filters; a threshold of 0 groups equal bytes only."""
    if not (0 <= threshold <= _LARGEST):
        raise ParameterError.of("threshold", "duplicates", f"from 0 to {_LARGEST}", threshold)
    if not os.path.isdir(root):
        raise CollectionError(f"The folder {shown(root)} is not there. Is its disk mounted?")
    facts, copies = _pictures(reader, root, allowed_ids(reader, where, untagged))
    unseen = 0
    groups = [[(first, 0.0)] for first in copies]
    if threshold > 0:
        groups, unseen = _near_groups(reader, facts, list(copies), threshold, progress)
    members = [_members(group, facts, copies) for group in groups]
    duplicates = sorted((g for g in members if len(g) > 1), key=lambda g: (-len(g), g[0].path))
    return Duplicates(tuple(duplicates), threshold, len(facts), unseen, reader.snapshot.version)


def _pictures(
    reader: Reader, root: bytes, allowed: Ints | None
) -> tuple[dict[int, Facts], dict[int, list[int]]]:
    """Return the facts of existing pictures, and the copies of each by its id."""
    ids = set(reader.snapshot.ids().tolist())
    if allowed is not None:
        ids &= set(allowed.tolist())
    known = (k for k in reader.catalogue.known() if k.picture in ids)
    existing = [k for k in known if os.path.lexists(os.path.join(root, k.path))]
    facts = reader.catalogue.facts(k.picture for k in existing)
    by_content: dict[str, list[int]] = {}
    for k in sorted(existing, key=lambda k: k.path):
        by_content.setdefault(k.sha or f"picture {k.picture}", []).append(k.picture)
    return facts, {same[0]: same for same in by_content.values()}


def _near_groups(
    reader: Reader, facts: dict[int, Facts], firsts: list[int], threshold: float, progress: Progress
) -> tuple[list[list[tuple[int, float]]], int]:
    """Return groups of near-duplicates, single ones too, and the number without signature."""
    progress.start("read thumbnails", len(firsts))

    def thumbnails() -> Iterator[tuple[int, bytes]]:
        for picture in firsts:
            progress.advance()
            yield picture, reader.snapshot.thumbnail(picture)

    ids, cells, ratio = gathered(thumbnails(), len(firsts))
    progress.finish()
    with_signature = set(ids.tolist())
    groups = [[(p, 0.0)] for p in firsts if p not in with_signature]
    unseen = len(groups)
    signatures, order = Signatures.of(cells, ratio)
    ids = ids[order]
    best_first = sorted(range(len(ids)), key=lambda i: _rank(facts[int(ids[i])]))
    progress.start("compare", len(ids))
    for group in grouped(signatures, best_first, threshold):
        groups.append([(int(ids[i]), difference) for i, difference in group])
        progress.advance(len(group))
    progress.finish()
    return groups, unseen


def grouped(
    signatures: Signatures, order: list[int], threshold: float
) -> Iterator[list[tuple[int, float]]]:
    """Yield the groups; the head of each is its first picture in the given order."""
    free = np.ones(len(signatures), bool)
    for first in order:
        if not free[first]:
            continue
        free[first] = False
        reach, far = signatures.near(first, free, 2 * threshold)
        group = [first]
        if len(reach):
            group += _connected(signatures, reach, reach[far <= threshold].tolist(), threshold)
        free[group] = False
        difference = dict(zip(reach.tolist(), far.tolist(), strict=True))
        yield [(i, difference.get(i, 0.0)) for i in group]


def _connected(
    signatures: Signatures, reach: Ints, taken: list[int], threshold: float
) -> list[int]:
    """Return the members that small steps from those taken reach, these included."""
    left = np.zeros(len(signatures), bool)
    left[reach] = True
    left[taken] = False
    at = 0
    while at < len(taken) < len(reach):
        near, _ = signatures.near(taken[at], left, threshold)
        taken = [*taken, *near.tolist()]
        left[near] = False
        at += 1
    return taken


def _rank(f: Facts) -> tuple[int, int, bytes]:
    return -f.width * f.height, -f.size, f.path


def _members(
    group: list[tuple[int, float]], facts: dict[int, Facts], copies: dict[int, list[int]]
) -> tuple[Duplicate, ...]:
    best = group[0][0]
    rest = sorted(group[1:], key=lambda pair: (pair[1], facts[pair[0]].path))
    out = []
    for first, difference in [group[0], *rest]:
        for picture in copies[first]:
            mark = "near" if first != best else "best" if picture == best else "copy"
            f = facts[picture]
            size = (f.width, f.height, f.size)
            out.append(Duplicate(picture, f.path, mark, round(difference, 4), *size))
    return tuple(out)


CELLS = 16
COARSE = 4
FLOOR = 16.0
# Largest difference of the logarithms of width / height.
RATIO = 0.06


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """The signatures of many pictures, in ascending order of their mean.

    Attributes
    ----------
    cells : ndarray of shape (pictures, 16 * 16 * 3)
    coarse : ndarray of shape (pictures, 4 * 4 * 3)
        Means of them.
    mean, contrast, ratio : ndarray of float32
        Of each picture; ratio is log(width / height).
    """

    cells: NDArray[np.uint8]
    coarse: Floats
    mean: Floats
    contrast: Floats
    ratio: Floats

    def __len__(self) -> int:
        return len(self.cells)

    @classmethod
    def of(
        cls, cells: NDArray[np.uint8], ratio: Floats, block: int = 4096
    ) -> tuple[Signatures, Ints]:
        """Return sorted signatures, and the index of each in the input."""
        n = len(cells)
        coarse = np.empty((n, COARSE * COARSE * 3), np.float32)
        mean, contrast = np.empty(n, np.float32), np.empty(n, np.float32)
        side = CELLS // COARSE
        for start in range(0, n, block):
            part = slice(start, start + block)
            whole = cells[part].reshape(-1, CELLS * CELLS, 3).astype(np.float32)
            contrast[part] = np.sqrt(whole.var(axis=1).mean(axis=1))
            mean[part] = whole.mean(axis=(1, 2))
            boxes = whole.reshape(-1, COARSE, side, COARSE, side, 3)
            coarse[part] = boxes.mean(axis=(2, 4)).reshape(len(whole), -1)
        order = np.argsort(mean, kind="stable")
        of_picture = (mean[order], contrast[order], ratio[order])
        return cls(cells[order], coarse[order], *of_picture), order

    def near(self, i: int, among: NDArray[np.bool_], most: float) -> tuple[Ints, Floats]:
        """Return the signatures among some that differ from the i-th by at most `most`.

        The second array holds the differences. The i-th signature itself is left out.
        """
        # 127.5 is the largest possible contrast, so a larger difference of means is out of reach.
        reach = most * max(127.5, FLOOR)
        low, high = np.searchsorted(self.mean, [self.mean[i] - reach, self.mean[i] + reach])
        at = np.arange(low, high)[among[low:high]]
        at = at[at != i]
        allowed = most * np.maximum(np.maximum(self.contrast[at], self.contrast[i]), FLOOR)
        close = np.abs(self.mean[at] - self.mean[i]) <= allowed + _ROUNDING
        close &= np.abs(self.ratio[at] - self.ratio[i]) <= RATIO
        at, allowed = at[close], allowed[close]
        apart = self.coarse[at] - self.coarse[i]
        close = np.sqrt(np.square(apart).mean(axis=1)) <= allowed + _ROUNDING
        at = at[close]
        difference = self.differences(i, at)
        close = difference <= most
        return at[close], difference[close]

    def differences(self, i: int, at: Ints) -> Floats:
        """Return the differences of the i-th signature to some others."""
        out = np.empty(len(at), np.float32)
        cells = self.cells[i].astype(np.float32)
        for start in range(0, len(at), 1024):
            part = at[start : start + 1024]
            squares = np.square(self.cells[part].astype(np.float32) - cells)
            tiles = squares.reshape(-1, CELLS // 2, 2, CELLS // 2, 2, 3).mean(axis=(2, 4, 5))
            worst = np.sqrt(tiles.reshape(len(part), -1).max(axis=1)) / 4
            contrast = np.maximum(np.maximum(self.contrast[part], self.contrast[i]), FLOOR)
            whole = np.sqrt(squares.mean(axis=1))
            out[start : start + 1024] = np.maximum(whole, worst) / contrast
        return out


_ROUNDING = 1e-2


def cells_of(thumbnail: bytes) -> tuple[NDArray[np.uint8], float] | None:
    """Return the cells of a thumbnail and log(width / height); None if it cannot be decoded.

    >>> from sightline.pictures.thumbnails import thumbnail
    >>> cells, ratio = cells_of(thumbnail(np.full((40, 80, 3), 200, np.uint8)))
    >>> cells.shape, int(cells.min()), round(ratio, 2)
    ((768,), 200, 0.69)
    >>> cells_of(b"nothing") is None
    True
    """
    from PIL import Image

    from sightline.pictures.thumbnails import FORMATS

    try:
        with Image.open(io.BytesIO(thumbnail), formats=FORMATS) as picture:
            width, height = picture.size
            small = picture.convert("RGB").resize((CELLS, CELLS), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError):
        return None
    return np.asarray(small, np.uint8).reshape(-1), float(np.log(width / height))


def gathered(
    thumbnails: Iterable[tuple[int, bytes]], n: int
) -> tuple[Ints, NDArray[np.uint8], Floats]:
    """Return the ids, cells and ratios of at most n pictures that have a signature."""
    ids = np.empty(n, np.int64)
    cells = np.empty((n, CELLS * CELLS * 3), np.uint8)
    ratio = np.empty(n, np.float32)
    count = 0
    for picture, data in thumbnails:
        signature = cells_of(data)
        if signature is not None:
            ids[count], (cells[count], ratio[count]) = picture, signature
            count += 1
    return ids[:count], cells[:count], ratio[:count]
