"""Documents say what is true: every verb, setting, hook, exit code and name in them exists."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from sightline import errors, plugins
from sightline.cli import VERBS
from sightline.plugins import commands
from sightline.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_the_readme(verb: str) -> None:
    assert f"`sightline {verb}" in README


def test_the_readme_names_no_verb_that_does_not_exist() -> None:
    named = set(re.findall(r"^(?:sightline|\| `sightline) (\w+)", README, re.MULTILINE))
    assert named and named <= {*VERBS, *commands()}


def test_the_readme_shows_the_essentials_in_its_first_30_lines() -> None:
    top = "\n".join(README.splitlines()[:30])
    for part in ("![", "pip install", "sightline index", "sightline search", "Collection.open"):
        assert part in top


def test_every_picture_and_page_the_documents_name_is_there() -> None:
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


@pytest.mark.parametrize("name", [f.name for f in fields(Settings)])
def test_every_setting_is_in_the_guide_with_its_default(name: str) -> None:
    default = getattr(Settings(), name)
    shown = (
        str(default).lower()
        if isinstance(default, bool)
        else f"{default:g}"
        if isinstance(default, int | float)
        else default
    )
    row = f"| `{name}` | {shown} |" if shown else f"| `{name}` | |"
    assert row in GUIDE


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


COREL_COLUMNS = ("classic-strict", "classic", "deep")


def corel_figures() -> dict[tuple[str, str, str], float]:
    """Return what was measured on all test queries: by method, features and measure."""
    found = {}
    for file in ("pamir-strict.json", "pamir-classic.json", "pamir-deep.json"):
        said = json.loads((ROOT / "docs" / "results" / file).read_bytes())
        assert said["experiment"] == "pamir" and said["settings"]["commit"]
        assert len(said["settings"]["seeds"]) == 5
        for row in said["rows"]:
            if row["subset"] == "all" and row["measure"] in ("AvgP", "P10"):
                found[row["method"], row["features"], row["measure"]] = row["value"]
    return found


def test_the_readme_quotes_what_was_measured_on_corel5k() -> None:
    found = corel_figures()
    table = re.search(r"^\| AvgP / P10 .*?\n\n", README, re.DOTALL | re.MULTILINE)
    assert table is not None
    seen = 0
    for line in table.group(0).strip().splitlines()[2:]:
        method, *cells = (cell.strip().strip("`*") for cell in line.strip("|").split("|"))
        for features, cell in zip(COREL_COLUMNS, cells, strict=True):
            if cell in ("", "–"):
                continue
            values = (found[method, features, m] for m in ("AvgP", "P10"))
            assert cell == " / ".join(f"{100 * v:.1f}" for v in values), (method, features)
            seen += 1
    assert seen >= 12


ALIKE_COLUMNS = tuple((d, f) for d in ("Caltech-101", "Corel") for f in ("nine", "nine+deep"))


def alike_figures() -> dict[tuple[str, str, str], tuple[float, float | None]]:
    """Return mAP over five folds and the paper's: by method, dataset and features."""
    found = {}
    for file in ("online-caltech101.json", "online-corel5k.json"):
        said = json.loads((ROOT / "docs" / "results" / file).read_bytes())
        assert said["experiment"] == "online" and said["settings"]["commit"]
        assert said["settings"]["folds"] == 5
        for row in said["rows"]:
            dataset, _, rest = row["protocol"].partition(", ")
            if (row["measure"], rest, row["at"]) == ("mAP", "5 folds", None):
                found[row["method"], dataset, row["features"]] = row["value"], row["paper"]
    return found


def test_the_readme_quotes_what_was_measured_of_picture_queries() -> None:
    found = alike_figures()
    table = re.search(r"^\| mAP \(paper\) .*?\n\n", README, re.DOTALL | re.MULTILINE)
    assert table is not None
    seen = set()
    for line in table.group(0).strip().splitlines()[2:]:
        method, *cells = (cell.strip().strip("`*") for cell in line.strip("|").split("|"))
        for where, cell in zip(ALIKE_COLUMNS, cells, strict=True):
            ours, theirs = found[(method, *where)]
            want = f"{ours:.3f}" + ("" if theirs is None else f" ({theirs:.3f})")
            assert cell == want.replace("0.", "."), (method, where)
        seen.add(method)
    assert {"Best-Fea", "Uni-Con", "RankNet", "C-Ascent", "RankSVM", "λ-MART", "OPR", "OPAR-I",
            "OPAR-II", "OGDR"} <= seen  # fmt: skip


FEEDBACK_COLUMNS = ("ehd", "cedd", "deep")


def feedback_figures() -> dict[tuple[str, str, str, int | None], float]:
    """Return what was measured of feedback, the query left out."""
    said = json.loads((ROOT / "docs" / "results" / "feedback.json").read_bytes())
    assert said["experiment"] == "feedback" and said["settings"]["commit"]
    assert said["settings"]["queries"].startswith("500,")
    rows = [r for r in said["rows"] if r["protocol"] in ("query left out", "flipped judgements")]
    return {
        (r["method"] + ", flipped" * r["protocol"].startswith("flipped"), r["features"],
         r["measure"], r["at"]): r["value"]
        for r in rows
    }  # fmt: skip


def test_the_readme_quotes_what_was_measured_of_feedback() -> None:
    found = feedback_figures()
    table = re.search(r"^\| AP@T; unjudged .*?\n\n", README, re.DOTALL | re.MULTILINE)
    assert table is not None
    seen = set()
    for line in table.group(0).strip().splitlines()[2:]:
        method, *cells = (cell.strip().strip("`*") for cell in line.strip("|").split("|"))
        for features, cell in zip(FEEDBACK_COLUMNS, cells, strict=True):
            values = [found[method, features, "AP@T", at] for at in (0, 1, 9)]
            harmed = found[method, features, "harmed", 9]
            want = " ".join(f"{v:.3f}".removeprefix("0") for v in values)
            new = f"{found[method, features, 'unjudged P@20', 9]:.3f}".removeprefix("0")
            assert cell == f"{want}; {new}; {100 * harmed:.1f} %", (method, features)
        seen.add(method)
    assert {"PA", "PA blended", "kernel PA", "SVM", "RS", "Rocchio"} <= seen
    for measure, at in (("P@20", 1), ("unjudged P@20", 9)):
        value = f"{found['PA blended', 'deep', measure, at]:.3f}".removeprefix("0")
        assert f"{measure} {value}" in README, (measure, value)
    kept = found["PA blended, flipped", "deep", "gain kept", 9]
    assert f"{100 * kept:.0f} % of the gain" in README


def test_the_map_names_every_room() -> None:
    for room in (ROOT / "src" / "sightline").iterdir():
        if room.is_dir() and room.name != "__pycache__":
            assert f"  {room.name}/" in MAP
            for file in room.glob("*.py"):
                if not file.name.startswith("_"):
                    assert re.search(rf"\b{file.stem}\b", MAP), f"{room.name}/{file.name}"


ACROSS_COLUMNS = tuple(
    (p, d) for p in ("published split", "random splits") for d in ("picture->text", "text->picture")
)


def across_figures() -> dict[tuple[str, str, str, str], tuple[float, float | None]]:
    """Return what was measured on test pairs of Wikipedia and the paper's, by method and column."""
    said = json.loads((ROOT / "docs" / "results" / "lscmr.json").read_bytes())
    assert said["experiment"] == "lscmr" and said["settings"]["commit"]
    assert said["settings"]["random splits"] == 10
    return {
        (r["method"], r["protocol"], r["direction"], r["measure"]): (r["value"], r["paper"])
        for r in said["rows"]
        if r["subset"] == "all" and r["measure"] in ("MAP", "MAP@50")
    }


def test_the_readme_quotes_what_was_measured_on_wikipedia() -> None:
    found = across_figures()
    table = re.search(r"^\| MAP@50 / MAP .*?\n\n", README, re.DOTALL | re.MULTILINE)
    assert table is not None
    lines = table.group(0).strip().splitlines()[2:]
    for line in lines:
        method, *cells = (cell.strip().strip("`*") for cell in line.strip("|").split("|"))
        for column, cell in zip(ACROSS_COLUMNS, cells, strict=True):
            both = [found.get((method, *column, m)) for m in ("MAP@50", "MAP")]
            if cell == "–":
                assert both == [None, None]
                continue
            ours, theirs = zip(*(b for b in both if b is not None), strict=True)
            text = " / ".join(f"{v:.3f}".removeprefix("0") for v in ours)
            if theirs[0] is not None:
                text += f" ({' / '.join(f'{v:.3f}'.removeprefix('0') for v in theirs)})"
            assert cell == text, (method, column)
    assert len(lines) == len({key[0] for key in found if not key[1].startswith("Corel5K")})
    gains = {}
    for direction in ("picture->text", "text->picture"):
        for measure in ("MAP", "MAP@50"):
            own, *rivals = (
                found[m, "random splits", direction, measure][0]
                for m in ("LSCMR", "CCA", "PAMIR", "SSI")
            )
            gains[direction, measure] = f"{100 * (own / max(rivals) - 1):.1f} %"
    for measure in ("MAP", "MAP@50"):
        there, back = (gains[d, measure] for d in ("picture->text", "text->picture"))
        assert f"by {there} and {back}" in README


REGION_MEASURES = ("F", "NMI", "pixel accuracy")


def region_figures(subset: str = "all") -> dict[tuple[str, str, str], tuple[float, float | None]]:
    """Return what was measured on test pictures of MSRC v2 and the paper's."""
    said = json.loads((ROOT / "docs" / "results" / "regions.json").read_bytes())
    assert said["experiment"] == "regions" and said["settings"]["commit"]
    assert said["settings"]["halves"] == 5 and said["settings"]["scenes"] == 20
    return {
        (r["method"], r["features"], r["measure"]): (r["value"], r["paper"])
        for r in said["rows"]
        if r["subset"] == subset and r["at"] is None and r["measure"] in REGION_MEASURES
    }


def test_the_readme_quotes_what_was_measured_of_regions() -> None:
    found = region_figures()
    table = re.search(r"^\| F; NMI; pixels .*?\n\n", README, re.DOTALL | re.MULTILINE)
    assert table is not None
    seen = set()
    for line in table.group(0).strip().splitlines()[2:]:
        method, *cells = (cell.strip().strip("`*") for cell in line.strip("|").split("|"))
        for features, cell in zip(("classic", "deep"), cells, strict=True):
            if (method, features) not in {key[:2] for key in found}:
                assert cell == "–"
                continue
            parts = []
            for measure in REGION_MEASURES:
                ours, theirs = found.get((method, features, measure), (None, None))
                text = "–" if ours is None else f"{ours:.3f}".removeprefix("0")
                parts.append(
                    text + ("" if theirs is None else f" ({theirs:.3f})".replace("0.", "."))
                )
            assert cell == "; ".join(parts), (method, features)
        seen.add(method)
    assert seen == {key[0] for key in found}
    rivals = ("pseudo-label + SVM", "pseudo-annotation + K-means", "K-means")
    mine = {m: found["latent model", "classic", m][0] for m in ("F", "NMI")}
    f = mine["F"] / found["SVM", "classic", "F"][0] - 1
    nmi = mine["NMI"] / max(found[r, "classic", "NMI"][0] for r in rivals) - 1
    text = " ".join(README.split())
    assert f"by {100 * f:.1f} % and {100 * nmi:.1f} %" in text
    same = [
        mine[m] / found[r, "classic", m][0] - 1
        for m, r in (("F", "SVM, chi2"), ("NMI", "pseudo-label + SVM, chi2"))
    ]
    assert f"{100 * same[0]:.1f} % and {100 * same[1]:.1f} % on the same rows" in text
    clean = region_figures("never designed on")
    for features in ("classic", "deep"):
        for measure in REGION_MEASURES:
            value = f"{clean['latent model', features, measure][0]:.3f}".removeprefix("0")
            assert re.search(rf"nothing was designed on[^|]*{re.escape(value)}", README), measure
