"""Names follow the glossary: one concept, one name, and the field's own.

`docs/reference/glossary.md` has the names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from sightline.cli import VERBS, sightline

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "sightline": ROOT / "src" / "sightline",
    "sightline_experiments": ROOT / "experiments" / "src" / "sightline_experiments",
}
GLOSSARY = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")

# Parts of names that are no terms of the field, or that have another meaning there.
DENIED = frozenset(
    (
        "alike", "asked", "asking", "elsewhere", "found", "given", "ground", "grounds", "learnt",
        "likeness", "looking", "mine", "once", "other", "placer", "places", "refuse", "rival",
        "rivals", "said", "seeing", "sent", "showing", "slip", "slips", "standing", "taking",
        "talk", "talks", "teaching", "telling", "theirs", "told", "unlike", "unwanted", "wanted",
    )
)  # fmt: skip
# Phrases for which the field has a term.
PHRASES = re.compile(
    r"made one long|in deviations|laid out|serves on|speaks? of|said no|(?:stop|learn)s as ever"
    r"|\brivals?\b|\blikeness\b|\bhouse\b|\brooms?\b"
)


def parts(name: str) -> set[str]:
    """Return the words that a name is made of.

    >>> sorted(parts("fit_elsewhere")), sorted(parts("ToldWord"))
    (['elsewhere', 'fit'], ['told', 'word'])
    """
    return {p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def names() -> Iterator[str]:
    """Yield modules, classes, public functions and their parameters, with where they are."""
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            module = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
            yield f"module {module.removesuffix('.__init__')}"
            yield from _defined(ast.parse(path.read_text(encoding="utf-8")), module)


def _defined(tree: ast.AST, place: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield f"class {place}.{node.name}"
            yield from _defined(node, f"{place}.{node.name}")
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"function {place}.{node.name}"
            for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                yield f"parameter {place}.{node.name}.{argument.arg}"


def flags(command: click.Command, path: str = "sightline") -> Iterator[str]:
    """Yield the flags of a command and of those below it."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            # The first name counts; those after it are what older releases called it.
            yield f"flag {path} {parameter.opts[0]}"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and (path != "sightline" or name in VERBS):
                yield from flags(below, f"{path} {name}")


def is_denied(name: str) -> bool:
    """Say whether the last part of a dotted name holds a word that the glossary rules out."""
    last = name.rpartition(" ")[2].rpartition(".")[2]
    return bool(parts(last) & DENIED)


def documents() -> Iterator[tuple[str, str]]:
    """Yield the documents that users read, line by line with their place."""
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        if path.name not in ("CHANGELOG.md", "glossary.md"):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield f"{path.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`", "", line)


def test_names_follow_the_glossary() -> None:
    denied = sorted({n for n in (*names(), *flags(sightline)) if is_denied(n)})
    assert denied == [], "see docs/reference/glossary.md"


def test_documents_use_the_terms_of_the_field() -> None:
    phrases = [(place, p) for place, line in documents() for p in PHRASES.findall(line)]
    assert phrases == [], "see docs/reference/glossary.md"


def test_the_glossary_has_every_term_that_every_surface_shares() -> None:
    for term in ("`match`", "`positive`", "`negative`", "`k`", "`id`", "`path`", "baseline"):
        assert term in GLOSSARY
