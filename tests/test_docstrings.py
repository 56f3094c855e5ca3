"""Sections of docstrings are numpydoc's: `name : type`, then an indented description."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "sightline"
Documented = ast.ClassDef | ast.FunctionDef


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def entries(node: Documented, section: str) -> Iterator[str]:
    """Yield the first lines of a section's entries."""
    lines = (ast.get_docstring(node) or "").splitlines()
    for at, line in enumerate(lines[:-1]):
        if line == section and set(lines[at + 1]) == {"-"}:
            for entry in lines[at + 2 :]:
                if not entry:
                    return
                if not entry.startswith(" "):
                    yield entry


def parameters(node: Documented) -> set[str] | None:
    """Return the names of parameters; None where a class takes those of its base or its fields."""
    function: Documented | None = node
    if isinstance(node, ast.ClassDef):
        own = (n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
        function = next(own, None)
    if not isinstance(function, ast.FunctionDef):
        return None
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return {argument.arg for argument in every}


def problems(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        for section in ("Parameters", "Attributes"):
            for entry in entries(node, section):
                place = f"{path.name}: {node.name}: {entry}"
                names, colon, kind = entry.partition(" : ")
                if not colon or not kind or kind.endswith((".", ",", ";")):
                    yield f"{place} (no type)"
                elif section == "Parameters" and (known := parameters(node)) is not None:
                    wrong = set(re.findall(r"\w+", names)) - known
                    yield from (f"{place} ({name} is no parameter)" for name in sorted(wrong))


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_entries_have_a_type_and_name_parameters(path: Path) -> None:
    assert list(problems(path)) == []


def test_what_is_no_type_or_no_parameter_is_reported(tmp_path: Path) -> None:
    text = (
        'def f(a, b):\n    """F.\n\n    Parameters\n    ----------\n'
        '    a : what is added.\n    c : int\n        Added.\n    """\n'
    )
    (tmp_path / "made.py").write_text(text)
    assert list(problems(tmp_path / "made.py")) == [
        "made.py: f: a : what is added. (no type)",
        "made.py: f: c : int (c is no parameter)",
    ]
