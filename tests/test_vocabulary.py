"""Names and texts follow the glossary: one concept, one name, and the field's own.

`docs/reference/glossary.md` has the names.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

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
        "alike", "asked", "asking", "carried", "carrier", "carriers", "carries", "elsewhere",
        "found", "given", "ground", "grounds", "learnt", "likeness", "looking", "mine", "once",
        "other", "placer", "places", "refuse", "rival", "rivals", "said", "seeing", "sent",
        "showing", "slip", "slips", "standing", "taking", "talk", "talks", "teaching", "telling",
        "theirs", "told", "unlike", "unwanted", "wanted",
    )
)  # fmt: skip
# Words and phrases for which the field has a term, in texts that people read. Names of earlier
# releases, which stay in JSON and on the command line, stand between backticks.
PHRASES = re.compile(
    r"\b(?:made one long|in deviations|laid out|serves on|speaks? (?:of|for)|said no|so many"
    r"|(?:stop|learn)s as ever|rivals?|likeness|(?:all|two|just) alike|how alike|alike each|slips?"
    r"|learnt|(?:un)?told|tells? apart|carried|carriers?|unwanted|at home|taken? back|takes back"
    r"|(?:go|gone) on with"
    r"|house|rooms?|what (?:looked|serves))\b",
    re.IGNORECASE,
)
# The phrases that texts of a package still have. The numbers only go down.
ALLOWED = Path(__file__).parent / "vocabulary_allowed.txt"


def parts(name: str) -> set[str]:
    """Return the words that a name is made of.

    >>> sorted(parts("fit_elsewhere")), sorted(parts("ToldWord"))
    (['elsewhere', 'fit'], ['told', 'word'])
    """
    return {p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def names() -> Iterator[str]:
    """Yield modules, classes, their attributes, public functions and their parameters."""
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            module = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
            yield f"module {module.removesuffix('.__init__')}"
            yield from _defined(ast.parse(path.read_text(encoding="utf-8")), module)


def _defined(tree: ast.AST, place: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield f"class {place}.{node.name}"
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield f"attribute {place}.{node.name}.{field.target.id}"
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
    kind, _, dotted = name.partition(" ")
    last = dotted.rpartition(" ")[2].rpartition(".")[2]
    # Fields of the service keep their names of earlier releases as aliases.
    alias = kind == "attribute" and dotted.startswith("sightline.web.")
    return not alias and bool(parts(last) & DENIED)


def documents() -> Iterator[tuple[str, str]]:
    """Yield the lines of documents with their place, without code and names between backticks."""
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        if path.name in ("CHANGELOG.md", "glossary.md"):
            continue
        language: str | None = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("```"):
                language = None if language is not None else line[3:] or "output"
            elif language in (None, "output"):
                yield f"{path.relative_to(ROOT)}:{number}", without_code(line)


def without_code(text: str) -> str:
    """Return a text without what stands between backticks.

    >>> without_code("the field `learnt` of a hit")
    'the field  of a hit'
    """
    return re.sub(r"`[^`]*`", "", text)


def messages() -> Iterator[tuple[str, str]]:
    """Yield the texts of the code with their file: sentences, and what help and schema show."""
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            place = f"{package}/{path.relative_to(folder).as_posix()}"
            shown = place.startswith(("sightline/cli/", "sightline/web/"))
            for text in texts_of(path.read_text(encoding="utf-8"), docstrings=shown):
                yield place, text
    page = PACKAGES["sightline"] / "web" / "page"
    for path in sorted([*page.rglob("*.js"), *page.rglob("*.html")]):
        for text in page_texts(path.read_text(encoding="utf-8")):
            yield f"sightline/web/{path.relative_to(page.parent).as_posix()}", text


def texts_of(source: str, *, docstrings: bool) -> Iterator[str]:
    """Yield the literals of Python code that hold a sentence or a part of one.

    >>> list(texts_of("raise E(f'no room for {n}', 'x')", docstrings=False))
    ['no room for ']
    """
    tree = ast.parse(source)
    described = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = {
        id(n.body[0].value)
        for n in ast.walk(tree)
        if isinstance(n, described) and n.body and isinstance(n.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and " " in text and (docstrings or id(node) not in first):
            yield without_code(text)


def page_texts(source: str) -> Iterator[str]:
    """Yield the texts of a file of the page: comments, literals with a space, text of elements.

    >>> list(page_texts('el("p", { class: "told" }, "No picture.", `${n} here`); // Shows it.'))
    ['No picture.', ' here', '// Shows it.']
    """
    parts = r"(//[^\n]*|/\*.*?\*/)|\"([^\"\n]*)\"|`([^`]*)`|>([^<>{}]+)</"
    for found in re.finditer(parts, source, re.DOTALL):
        # Types in comments and code in templates are names, not texts.
        text = re.sub(r"\$?\{+[^}]*\}+", "", next(t for t in found.groups() if t is not None))
        if " " in text:
            yield text


def offences(texts: Iterable[tuple[str, str]]) -> Counter[str]:
    """Count the phrases that the glossary rules out, by package or document and phrase.

    >>> offences([("sightline/cli/tag.py", "A rival. No rivals, nor a slip.")])
    Counter({'sightline/cli rival': 1, 'sightline/cli rivals': 1, 'sightline/cli slip': 1})
    """
    counts: Counter[str] = Counter()
    for place, text in texts:
        document, _, line = place.partition(":")
        package = document if line else "/".join(place.split("/")[:2]).removesuffix(".py")
        for phrase in PHRASES.findall(text):
            counts[f"{package} {phrase.lower()}"] += 1
    return counts


def allowed() -> Counter[str]:
    """Return how often each phrase may still occur in the texts of a package."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    entries = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
    return Counter({entry: int(count) for entry, _, count in entries})


def test_names_follow_the_glossary() -> None:
    denied = sorted({n for n in (*names(), *flags(sightline)) if is_denied(n)})
    assert denied == [], "see docs/reference/glossary.md"


def test_documents_messages_help_and_page_use_the_terms_of_the_field() -> None:
    texts = [*documents(), *messages()]
    # Each kind of text is read.
    assert len(texts) > 8_000
    for kind in (
        "docs/guide.md:",
        "sightline/cli/",
        "sightline/web/page/",
        "sightline/collection/",
    ):
        assert any(place.startswith(kind) for place, _ in texts), kind
    found = offences(texts)
    assert found - allowed() == Counter(), "see docs/reference/glossary.md"
    gone = sorted(set(allowed()) - set(found))
    assert gone == [], f"take these lines out of {ALLOWED.name}"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("raise DataError(f'{n} words were learnt from.')", "py"),
        ("click.echo('Nothing is told of it.')", "py"),
        ("click.option('--x', help='Pictures of the same likeness.')", "py"),
        ("const text = `${n} slips`;", "js"),
        ('el("p", {}, "No words are carried.");', "js"),
        ("// Rows are searched at home.", "js"),
        ("<h1>So many</h1>", "js"),
    ],
)
def test_a_planted_phrase_is_found(source: str, kind: str) -> None:
    texts = texts_of(source, docstrings=False) if kind == "py" else page_texts(source)
    assert sum(offences(("sightline/cli", text) for text in texts).values()) == 1


def test_names_of_earlier_releases_may_be_named() -> None:
    assert not PHRASES.search(without_code("`learnt` is what `predicted` was called earlier."))


def test_the_glossary_has_every_term_that_every_surface_shares() -> None:
    for term in ("`match`", "`positive`", "`negative`", "`k`", "`id`", "`path`", "baseline"):
        assert term in GLOSSARY
