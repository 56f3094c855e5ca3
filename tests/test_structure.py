"""The rules of style that a program can check."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "experiments").rglob("*.py"))
ALL = SOURCES + sorted((ROOT / "tests").rglob("*.py")) + sorted((ROOT / "benchmarks").rglob("*.py"))


def test_there_are_sources() -> None:
    assert len(SOURCES) > 50


@cache
def trees() -> dict[Path, ast.Module]:
    return {p: ast.parse(p.read_text(encoding="utf-8")) for p in SOURCES}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_files_stay_readable() -> None:
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in ALL}
    assert {n: length for n, length in lengths.items() if length > 600} == {}, "split by idea"
    vague = ("utils", "helpers", "common_utils", "manager", "misc")
    assert [name_of(p) for p in ALL if p.stem in vague] == []


def test_the_script_of_the_checks_is_parsed() -> None:
    ran = subprocess.run(["bash", "-n", ROOT / ".ci/run"], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_modules_explain_themselves() -> None:
    assert [name_of(p) for p, tree in trees().items() if not ast.get_docstring(tree)] == []


def test_functions_stay_short() -> None:
    long = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                docstring = ast.get_docstring(node, clean=False) or ""
                length = node.end_lineno - node.body[0].lineno - docstring.count("\n")
                if length > 60:
                    long[f"{name_of(path)}: {node.name}"] = length
    assert long == {}


def test_a_class_name_is_defined_once() -> None:
    found: dict[str, list[str]] = {}
    for path, tree in trees().items():
        if path.is_relative_to(ROOT / "src"):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    found.setdefault(node.name, []).append(name_of(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_nothing_from_outside_is_run_or_unpickled() -> None:
    forbidden = re.compile(
        r"\bimport pickle|\bjoblib\b|allow_pickle=True|shell=True|\beval\(|\bos\.system\("
    )
    texts = {name_of(p): p.read_text(encoding="utf-8") for p in SOURCES}
    assert {n: found[0] for n, text in texts.items() if (found := forbidden.search(text))} == {}
