"""Starting fast: what a command imports, and what it must not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sightline.collection import Collection
from sightline.compute.inline import InlineCompute
from tests.factories.photos import make_photos

HEAVY = ("numba", "sklearn", "scipy", "PIL", "simplejpeg", "pluggy", "logging.handlers", "faiss")


def modules_after(*arguments: str) -> set[str]:
    """Return what is imported once a command has run, in a process of its own."""
    code = (
        "import sys\n"
        "from sightline.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit as e:\n    assert not e.code, e.code\n"
        "sys.stderr.write('\\n'.join(sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(ran.stderr.split())


def test_help_imports_next_to_nothing() -> None:
    found = modules_after("--help")
    assert not found & {"numpy", "sqlite3", *HEAVY}


def test_search_imports_neither_compilers_nor_decoders(tmp_path: Path) -> None:
    photos, store = make_photos(tmp_path / "photos"), tmp_path / "store"
    Collection.open(photos, store=store).index(compute=InlineCompute())
    found = modules_after("search", "tree", "-C", str(photos), "--store", str(store))
    assert "numpy" in found
    assert not found & set(HEAVY)


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, sightline; print('numpy' in sys.modules, 'click' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
