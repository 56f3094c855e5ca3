"""Documents say what is true: every verb, setting, hook, exit code and name in them exists."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

from sightline import errors, plugins
from sightline.cli import VERBS
from sightline.collection import Collection
from sightline.plugins import commands

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def documents() -> list[Path]:
    """Return every document of the repository."""
    folders = (ROOT, ROOT / "experiments")
    return sorted([*(p for f in folders for p in f.glob("*.md")), *(ROOT / "docs").rglob("*.md")])


def test_documents_name_no_verb_that_does_not_exist() -> None:
    known = {*VERBS, *commands()}
    for page in documents():
        text = page.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:^|[`$] ?)sightline ([a-z]+)\b", text, re.MULTILINE))
        assert named <= known or page.name == "CHANGELOG.md", (page, named - known)
    assert set(re.findall(r"^sightline (\w+)", README, re.MULTILINE)) >= {
        "index",
        "train",
        "search",
    }


def test_documents_stay_short_enough_to_be_read() -> None:
    assert len(README.splitlines()) <= 120
    assert len(MAP.splitlines()) <= 150


def test_the_readme_shows_the_essentials_in_its_first_30_lines() -> None:
    top = "\n".join(README.splitlines()[:30])
    for part in ("![", "pip install", "sightline index", "sightline search", "Collection.open"):
        assert part in top


def test_every_picture_and_page_the_documents_name_is_there() -> None:
    for page in documents():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


def anchors(page: Path) -> set[str]:
    """Return the names by which links reach the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_every_heading_that_a_link_names_is_there() -> None:
    seen = 0
    for page in documents():
        links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
        for target, anchor in links:
            assert anchor in anchors(page.parent / target if target else page), (page, anchor)
            seen += 1
    assert seen > len(VERBS)


def test_every_exit_code_is_in_the_guide() -> None:
    kinds = [e for e in vars(errors).values() if isinstance(e, type)]
    codes = {e.exit_code for e in kinds if issubclass(e, errors.SightlineError)}
    for code in codes | {0}:
        assert f"| {code} |" in GUIDE


def test_the_error_tree_names_every_error() -> None:
    assert errors.__doc__ is not None
    for name, e in vars(errors).items():
        if isinstance(e, type) and issubclass(e, errors.SightlineError):
            line = next(line for line in errors.__doc__.splitlines() if f" {name} " in f" {line} ")
            assert f"exit {e.exit_code}" in line or "exit_code" not in vars(e)


def test_every_hook_is_in_the_guide() -> None:
    for kind in plugins.KINDS:
        assert f"register_{kind}(register)" in GUIDE


def test_every_name_of_the_papers_page_exists() -> None:
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    names = re.findall(r"`(sightline(?:_experiments)?\.[\w.]+)`", page)
    assert len(names) > 10
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert callable(getattr(importlib.import_module(module), attribute)), name


def test_the_readme_quotes_the_demo_figures_truly() -> None:
    said = json.loads((ROOT / "docs" / "results" / "demo.json").read_bytes())
    assert said["settings"]["commit"] and said["experiment"] == "demo"
    found = {(r["method"], r["features"]): r for r in said["rows"] if r["measure"] == "AvgP"}
    quoted = re.search(r"mean AvgP over (\d+) words.*?a random order (\.\d+)\.", README, re.DOTALL)
    assert quoted is not None
    text = quoted.group(0)
    for key, row in found.items():
        assert f"{row['value']:.3f}".removeprefix("0") in text, key
    assert {str(row["n"]) for row in found.values()} == {quoted.group(1)}


PACKAGES = {
    "": ROOT / "src" / "sightline",
    "experiments": ROOT / "experiments" / "src" / "sightline_experiments",
}


def packages(folder: Path) -> set[str]:
    """Return every package below a folder, as a path relative to it."""
    inner = (p.parent.relative_to(folder).as_posix() for p in folder.rglob("__init__.py"))
    return {name for name in inner if name != "."}


def mapped() -> dict[str, set[str]]:
    """Return the packages that the map of ARCHITECTURE.md names, those of experiments apart."""
    product, _, experiments = MAP.split("```")[1].partition("\nexperiments/")
    lines = {"": product, "experiments": experiments.partition("\ntests/")[0]}
    return {k: set(re.findall(r"^  ([\w/]+)/ ", text, re.MULTILINE)) for k, text in lines.items()}


def test_the_map_names_every_package_and_no_other() -> None:
    for where, folder in PACKAGES.items():
        shown, there = mapped()[where], packages(folder)
        assert there - shown == set(), f"packages missing in ARCHITECTURE.md: {there - shown}"
        assert {s for s in shown - there if not (folder / s).is_dir()} == set()


def test_every_module_that_the_architecture_names_exists() -> None:
    source = PACKAGES[""]
    names = set(re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)+)/?`", MAP))
    assert len(names) > 40
    for name in names:
        places = (source / f"{name}.py", source / name, ROOT / name)
        assert any(place.exists() for place in places), name
    for name in re.findall(r"modules: (.+)", MAP)[0].split():
        assert (source / f"{name}.py").exists(), name
    for name in re.findall(r"Shared: (.+)", MAP)[0].split():
        assert (PACKAGES["experiments"] / f"{name}.py").exists(), name


def verb_rows() -> dict[str, tuple[str, list[str], list[str]]]:
    """Return the table of verbs: module, methods and packages of each."""
    table = MAP.partition("| verb |")[2].partition("\n\n")[0]
    rows = {}
    for line in table.splitlines()[2:]:
        verb, module, methods, found = (
            re.findall(r"`([\w/.]+)`", c) for c in line.split("|")[1:-1]
        )
        rows[verb[0]] = module[0], methods, found
    return rows


def is_method(name: str) -> bool:
    """Say whether a name such as `search` or `store.verify` is a method of a collection."""
    found: object = Collection.open(ROOT / "docs", store=ROOT / "nowhere")
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def test_the_table_of_verbs_leads_to_their_modules_methods_and_packages() -> None:
    rows, source = verb_rows(), PACKAGES[""]
    assert list(rows) == list(VERBS)
    for verb, (module, methods, found) in rows.items():
        assert module.removeprefix("cli/").rstrip("_") == verb
        assert (source / f"{module}.py").exists() or (source / module / "__init__.py").exists()
        assert methods and all(is_method(m) for m in methods), verb
        assert found and set(found) <= packages(source), verb


def test_decision_records_are_complete_and_listed() -> None:
    folder = ROOT / "docs" / "adr"
    records = sorted(folder.glob("[0-9]*.md"))
    listed = re.findall(r"^- \[(\d{4})\]\((.+?)\) (.+) \((.+)\)$", index_of(folder), re.MULTILINE)
    assert [r.name for r in records] == [name for _, name, _, _ in listed]
    numbers = [record.name[:4] for record in records]
    assert sorted(set(numbers)) == numbers
    for number, record, (shown, _, title, date) in zip(numbers, records, listed, strict=True):
        text = record.read_text(encoding="utf-8")
        assert shown == number
        assert text.startswith(f"# {int(number)}. {title}\n\nDate: {date}. Status: ")
        parts = re.split(r"^## (\w+)$", text, flags=re.MULTILINE)
        assert parts[1::2] == ["Context", "Decision", "Consequences"], record.name
        assert all(part.strip() for part in parts[2::2]), record.name


def index_of(folder: Path) -> str:
    """Return the page that lists the pages of a folder."""
    return (folder / "README.md").read_text(encoding="utf-8")


def test_every_class_that_the_readme_names_exists() -> None:
    names = re.findall(r"`(sightline\.[\w.]+)`", README)
    assert len(names) == 5
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), attribute), type), name
