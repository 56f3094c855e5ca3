"""The page of label efficiency: tables and statements of `efficiency.json`."""

from __future__ import annotations

from pathlib import Path

from sightline.measures.figures import Figure, Figures
from sightline_experiments.markdown import Values, table
from sightline_experiments.statements import enumeration, short

_AVGP, _NEEDED, _PICTURES = "AvgP", "tags needed", "pictures"
_GOAL = 8.0


def values_of(folder: Path) -> Values:
    """Return the tables and statements of label efficiency."""
    run = Figures.read(folder / "efficiency.json")
    titles = list(dict.fromkeys(r.protocol for r in run.rows))
    features, words = run.settings["features"], run.settings["words"]
    assert isinstance(features, list) and isinstance(words, dict)
    parts = []
    for title in titles:
        rows = run.find(protocol=title, measure=_AVGP)
        methods = list(dict.fromkeys(r.method for r in rows))
        head = (f"{title}, {words[title]} words: tags", *methods, "pictures")
        lines = []
        for n in dict.fromkeys(r.at for r in rows):
            cells = [_cell(r) for m in methods for r in rows if (r.method, r.at) == (m, n)]
            (pictures,) = run.find(protocol=title, measure=_PICTURES, at=n)
            lines.append((str(n), *cells, f"{pictures.value:,.0f}"))
        parts.append(table(head, lines))
    return {
        "features": enumeration(map(str, features)),
        "draws": str(run.settings["draws"]),
        "trials": str(run.settings["trials of ridge"]),
        "tables": "\n\n".join(parts),
        "needed": "\n".join(_needed(run, title) for title in titles),
    }


def _cell(row: Figure) -> str:
    return short(row.value) + (f" ± {short(row.spread)}" if row.spread is not None else "")


def _needed(run: Figures, title: str) -> str:
    compared = run.settings["compared"]
    rows = run.find(protocol=title, measure=_NEEDED)
    if not rows:
        return f"- {title}: the AvgP that ridge has with {compared} tags a word is never reached."
    (row,) = rows
    error = "" if row.spread is None else f" ± {row.spread:.1f}"
    kept = "at most" if row.value <= _GOAL else "not"
    return (
        f"- {title}: a word needs {row.value:.1f}{error} tags for the AvgP that ridge has with "
        f"{compared} ({kept} the {_GOAL:.0f} that were aimed at)."
    )
