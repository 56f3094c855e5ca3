"""What importing the room costs and offers."""

from __future__ import annotations

import pytest

import sightline.words
from tests.factories.fresh_python import imported_by


@pytest.mark.parametrize("module", ["tokens", "vocabulary", "grammar", "queries"])
def test_words_do_not_import_numpy(module: str) -> None:
    assert "numpy" not in imported_by(f"sightline.words.{module}")


def test_every_promised_name_is_there() -> None:
    assert all(hasattr(sightline.words, name) for name in sightline.words.__all__)
