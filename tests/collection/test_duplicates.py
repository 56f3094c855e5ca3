"""Near-duplicates: equal bytes, equal looks, and what must not be put together."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sightline.collection import Collection
from sightline.collection.filters import Filters
from sightline.collection.similarity.duplicates import Duplicates, Signatures, cells_of, grouped
from sightline.compute.inline import InlineCompute
from sightline.errors import ParameterError
from sightline.pictures.thumbnails import thumbnail
from tests.factories.similar_collections import stripes
from tests.naive import likeness as naive


def scene(seed: int, size: tuple[int, int] = (240, 180)) -> Image.Image:
    """Return a picture of soft blobs, as photographs are at a distance."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(6):
        scene(i).save(folder / f"{i}.png")
    shutil.copy(folder / "0.png", folder / "0 copy.png")
    scene(1).resize((120, 90)).save(folder / "1 small.jpg", quality=60)
    scene(1).save(folder / "1 poor.jpg", quality=30)
    scene(2).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(folder / "2 mirrored.png")
    scene(3).crop((0, 0, 240, 120)).save(folder / "3 cropped.png")
    return folder


def grouped_names(found: Duplicates) -> list[list[tuple[str, str]]]:
    return [[(os.fsdecode(d.path), d.mark) for d in group] for group in found]


def opened(photos: Path) -> Collection:
    c = Collection.open(photos, store=photos.parent / "store")
    c.index(compute=InlineCompute())
    return c


def test_copies_and_other_encodings_are_grouped_and_others_are_not(photos: Path) -> None:
    before = sorted(p.name for p in photos.iterdir())
    found = opened(photos).duplicates()
    assert grouped_names(found) == [
        [("1.png", "best"), ("1 poor.jpg", "near"), ("1 small.jpg", "near")],
        [("0 copy.png", "best"), ("0.png", "copy")],
    ]
    assert found.compared == 11 and found.unseen == 0
    near = found.groups[0][1:]
    assert all(0 < d.difference <= found.threshold for d in near)
    sizes = [(photos / n).stat().st_size for n in ("1 poor.jpg", "1 small.jpg", "0.png")]
    assert found.spare_bytes == sum(sizes)
    assert sorted(p.name for p in photos.iterdir()) == before


def test_a_threshold_of_zero_leaves_equal_bytes(photos: Path) -> None:
    c = opened(photos)
    found = c.duplicates(threshold=0)
    assert grouped_names(found) == [[("0 copy.png", "best"), ("0.png", "copy")]]
    for wrong in (-0.1, 0.6, float("nan")):
        with pytest.raises(ParameterError, match=r"'threshold' .* from 0 to 0\.5"):
            c.duplicates(threshold=wrong)


def test_filters_and_files_that_are_gone(photos: Path) -> None:
    (photos / "sub").mkdir()
    shutil.copy(photos / "4.png", photos / "sub" / "4.png")
    c = opened(photos)
    assert len(c.duplicates(threshold=0)) == 2
    assert not c.duplicates(filters=Filters(folder="sub")).groups
    (photos / "0.png").unlink()
    assert grouped_names(c.duplicates(threshold=0)) == [
        [("4.png", "best"), ("sub/4.png", "copy")],
    ]


def test_copies_of_a_near_picture_come_along(photos: Path) -> None:
    shutil.copy(photos / "1 small.jpg", photos / "1 small again.jpg")
    (group, _) = opened(photos).duplicates().groups
    assert [d.mark for d in group] == ["best", "near", "near", "near"]
    assert len({d.difference for d in group if "small" in os.fsdecode(d.path)}) == 1


def test_a_small_detail_makes_another_picture() -> None:
    plain, marked = scene(7), scene(7)
    ImageDraw.Draw(marked).ellipse((100, 70, 130, 100), fill="white")
    cells = [cells_of(thumbnail(np.asarray(p))) for p in (plain, marked)]
    assert all(cells)
    found = naive.difference(*(c[0] for c in cells if c is not None))
    assert found > 0.15


def of(pictures: list[Image.Image]) -> Signatures:
    found = [cells_of(thumbnail(np.asarray(p))) for p in pictures]
    cells, ratio = zip(*(f for f in found if f is not None), strict=True)
    return Signatures.of(np.stack(cells), np.array(ratio, np.float32))[0]


def test_a_chain_of_small_steps_does_not_lead_away() -> None:
    start, end = (np.asarray(scene(s), np.float64) for s in (11, 12))
    steps = [
        Image.fromarray((start + (end - start) * t).astype(np.uint8)) for t in np.linspace(0, 1, 40)
    ]
    signatures = of(steps)
    order = list(range(40))
    groups = list(grouped(signatures, order, 0.15))
    assert 2 < len(groups) < 20
    for group in groups:
        assert all(difference <= 0.3 for _, difference in group)
    everywhere = [len(signatures.near(i, np.ones(40, bool), 0.15)[0]) for i in range(40)]
    assert min(everywhere) >= 1  # Each is near another: components alone would join them all.


@pytest.mark.parametrize("threshold", [0.05, 0.15, 0.4])
def test_groups_are_those_of_a_slow_twin(threshold: float) -> None:
    rng = np.random.default_rng(0)
    pictures = []
    for i in range(12):
        base = np.asarray(scene(i % 4, (64, 48)), np.float64)
        shift = rng.normal(0, 12 * (i // 4), (6, 8, 3)).repeat(8, 0).repeat(8, 1)
        pictures.append(Image.fromarray((base + shift).clip(0, 255).astype(np.uint8)))
    signatures = of(pictures)
    order = rng.permutation(12).tolist()
    found = [{i for i, _ in group} for group in grouped(signatures, order, threshold)]
    assert found == naive.groups(signatures.cells, order, threshold)
    for i in range(12):
        near, by = signatures.near(i, np.ones(12, bool), threshold)
        slow = [naive.difference(signatures.cells[i], signatures.cells[j]) for j in range(12)]
        assert near.tolist() == [j for j in range(12) if j != i and slow[j] <= threshold]
        assert by.tolist() == pytest.approx([slow[j] for j in near], abs=1e-5)


def test_even_pictures_are_told_apart_by_their_colour() -> None:
    red, blue, reddish = (Image.new("RGB", (40, 30), c) for c in ("red", "blue", (253, 1, 1)))
    sizes = [len(g) for g in grouped(of([red, blue, reddish]), [0, 1, 2], 0.15)]
    assert sorted(sizes) == [1, 2]


def test_many_blank_pictures_need_no_table_of_pairs() -> None:
    cells = np.full((3_000, 768), 255, np.uint8)
    signatures, _ = Signatures.of(cells, np.zeros(3_000, np.float32))
    (group,) = grouped(signatures, list(range(3_000)), 0.15)
    assert len(group) == 3_000


def test_pictures_of_another_shape_are_others() -> None:
    wide, high = stripes("down", 3, (80, 40)), stripes("down", 3, (40, 80))
    assert len(list(grouped(of([wide, high]), [0, 1], 0.5))) == 2


def test_a_thumbnail_that_is_none_is_left_to_its_bytes() -> None:
    assert cells_of(b"") is None
    out = io.BytesIO()
    scene(0).save(out, "PNG")
    assert cells_of(out.getvalue()) is None
