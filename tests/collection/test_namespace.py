"""Namespaces of a collection: made when first used, and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from sightline.collection import Collection
from sightline.collection.namespace import Namespace
from sightline.collection.words import Words

NAMES = [name for name, value in vars(Collection).items() if isinstance(value, Namespace)]


@pytest.mark.parametrize("name", NAMES)
def test_a_namespace_is_made_once_for_each_collection(tmp_path: Path, name: str) -> None:
    (tmp_path / "photos").mkdir()
    one, other = (Collection.open(tmp_path / "photos", store=tmp_path / s) for s in "ab")
    assert name not in vars(one)
    made = getattr(one, name)
    assert getattr(one, name) is made and getattr(other, name) is not made


def test_a_namespace_is_the_class_of_its_module(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    c = Collection.open(tmp_path / "photos", store=tmp_path / "store")
    assert type(c.words) is Words and isinstance(Collection.words, Namespace)
    assert len(NAMES) == 8
