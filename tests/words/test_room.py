"""What importing the room costs and offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sightline.words


@pytest.mark.parametrize("module", ["tokens", "vocabulary", "grammar", "queries"])
def test_words_do_not_import_numpy(module: str) -> None:
    code = f"import sys, sightline.words.{module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_promised_name_is_there() -> None:
    assert all(hasattr(sightline.words, name) for name in sightline.words.__all__)
