"""The page of questions to real collections: tables and statements of `queries-*.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sightline.measures.figures import Figure, Figures
from sightline_experiments.markdown import MISSING, Values, table
from sightline_experiments.statements import (
    Comparison,
    columns_with,
    enumeration,
    short,
    uniform,
    verdicts_by_place,
)

# Names of figures, as `queries.results` writes them.
AVGP, P10, HITS, SHOWN = "AvgP", "P10", "hits", "shown"
SIGNED, SIGNED_UNCUT = "share with the signed word", "share with the signed word, uncut"
CALIBRATION_ERROR, BRIER_SKILL = "calibration error", "Brier skill"
SIGHTLINE, RIDGE, PLAIN = "sightline", "ridge", "plain question"
MINUS, PLUS, CALIBRATION = "minus", "plus", "calibration"

# What is aimed at: the share of the excluded word, and the calibration error by tagged pictures.
LARGEST_SHARE = 0.25
LARGEST_ERRORS = {100: 0.08, 5_000: 0.03}

Column = tuple[str, str]  # a data set, and its words


def values_of(folder: Path) -> Values:
    """Return the tables and statements of all runs in a folder."""
    runs = [Figures.read(file) for file in sorted(folder.glob("queries-*.json"))]
    rows = [r for run in runs for r in run.rows]
    tests = {(t.a, t.b): t.p for run in runs for t in run.tests}
    asked = [r for r in rows if r.subset != CALIBRATION]
    columns = list(dict.fromkeys((r.protocol, r.features) for r in asked))
    kinds = list(dict.fromkeys(r.subset for r in asked))
    versus = {
        kind: [
            _compared(asked, column, kind, (SIGHTLINE, None), (RIDGE, None), tests)
            for column in columns
            if _row(asked, column, kind, AVGP, RIDGE) is not None
        ]
        for kind in kinds
    }
    gains = [
        _compared(asked, c, MINUS, (SIGHTLINE, None), (SIGHTLINE, PLAIN), tests)
        for c in columns
        if _row(asked, c, MINUS, AVGP, SIGHTLINE) is not None
    ]
    return {
        "collections": _collections(runs),
        "features": uniform((_features(run) for run in runs), "set of features"),
        "questions": _questions_table(asked, columns, kinds),
        "above_ridge": columns_with("significantly above", versus, "every column"),
        "below_ridge": columns_with("significantly below", versus, "every column"),
        "signs": _signs_table(asked, columns),
        "minus": verdicts_by_place("that of the word alone", gains),
        "minus_shown": _goal(asked, columns, SIGNED),
        "minus_uncut": _goal(asked, columns, SIGNED_UNCUT),
        "calibration": _calibration_table([r for r in rows if r.subset == CALIBRATION]),
        "errors": _error_goals([r for r in rows if r.measure == CALIBRATION_ERROR]),
        "skill": _skill([r for r in rows if r.measure == BRIER_SKILL]),
    }


def _row(
    rows: Sequence[Figure],
    column: Column,
    kind: str,
    measure: str,
    method: str = SIGHTLINE,
    at: str | None = None,
) -> Figure | None:
    key = (*column, kind, measure, method, at)
    matches = [
        r for r in rows if (r.protocol, r.features, r.subset, r.measure, r.method, r.at) == key
    ]
    if len(matches) > 1:
        raise ValueError(f"{len(matches)} figures are of {', '.join(map(str, key))}; need one.")
    return matches[0] if matches else None


def _value(
    rows: Sequence[Figure],
    column: Column,
    kind: str,
    measure: str,
    method: str = SIGHTLINE,
    at: str | None = None,
) -> float:
    row = _row(rows, column, kind, measure, method, at)
    if row is None:
        raise ValueError(f"There is no {measure} of {method} for {kind} on {', '.join(column)}.")
    return row.value


def _compared(
    rows: Sequence[Figure],
    column: Column,
    kind: str,
    a: tuple[str, str | None],
    b: tuple[str, str | None],
    tests: dict[tuple[str, str], float],
) -> Comparison:
    """Compare AvgP of two methods in one column; each is a method, and which question it had."""
    place = f"({', '.join(column)}, {kind})"
    names = [f"{method}{f', {at}' if at else ''} {place}" for method, at in (a, b)]
    first, second = (_value(rows, column, kind, AVGP, *side) for side in (a, b))
    return Comparison(f"on {_titled(column)}", first, second, tests.get((names[0], names[1])))


def _titled(column: Column) -> str:
    title, words = column
    return title if words == "published words" else f"{title} ({words})"


def _collections(runs: Sequence[Figures]) -> str:
    """Return what each collection is, and what was trained on it."""
    lines = []
    for run in runs:
        collections = run.settings["collections"]
        assert isinstance(collections, dict)
        for name, about in collections.items():
            assert isinstance(about, dict)
            sizes = f"{about['tagged']:,}", f"{about['measured']:,}"
            lines.append((name, *sizes, _rankers(run), f"`{about['recipe']}`"))
    return table(("collection", "tagged", "measured on", "rankers", "`train` selected"), lines)


def _rankers(run: Figures) -> str:
    rankers = run.settings["rankers"]
    return ", ".join(map(str, rankers)) if isinstance(rankers, list) else "the default"


def _features(run: Figures) -> str:
    features = run.settings["features"]
    if isinstance(features, list):
        return enumeration(f"`{name}`" for name in map(str, features))
    return "those that `train` computes by default"


def _questions_table(
    rows: Sequence[Figure], columns: Sequence[Column], kinds: Sequence[str]
) -> str:
    lines = []
    for kind in kinds:
        for method in (SIGHTLINE, RIDGE):
            cells = [_cell(rows, column, kind, method) for column in columns]
            if any(cell != MISSING for cell in cells):
                lines.append((kind if method == SIGHTLINE else "", method, *cells))
    return table(("question", "", *map(_titled, columns)), lines)


def _cell(rows: Sequence[Figure], column: Column, kind: str, method: str) -> str:
    own = [_row(rows, column, kind, m, method) for m in (AVGP, P10, HITS)]
    if None in own:
        return MISSING
    avgp, p10, hits = (r.value for r in own if r is not None)
    plain = _row(rows, column, kind, AVGP, method, PLAIN)
    beside = "" if plain is None else f" [{short(plain.value)}]"
    return f"{short(avgp)}{beside} / {short(p10)} / {hits:.1f}"


def _signs_table(rows: Sequence[Figure], columns: Sequence[Column]) -> str:
    lines = []
    for column in columns:
        for kind in (MINUS, PLUS):
            for method in (SIGHTLINE, RIDGE):
                if _row(rows, column, kind, SIGNED, method) is None:
                    continue
                shown = " and ".join(
                    f"{_value(rows, column, kind, SHOWN, method, at):.1f}" for at in (None, PLAIN)
                )
                shares = (_shares(rows, column, kind, m, method) for m in (SIGNED, SIGNED_UNCUT))
                lines.append((_titled(column), kind, method, shown, *shares))
    head = ("collection", "sign", "", "shown of 30, with and without the sign",
            "share of the word among them", "share among the first 30 of the ranking")  # fmt: skip
    return table(head, lines)


def _shares(rows: Sequence[Figure], column: Column, kind: str, measure: str, method: str) -> str:
    own, plain = (_value(rows, column, kind, measure, method, at) for at in (None, PLAIN))
    return f"{short(own)} and {short(plain)}: {own / plain:.2f} times"


def _goal(rows: Sequence[Figure], columns: Sequence[Column], measure: str) -> str:
    """Say where the share of the excluded word is at most a quarter of that without the minus."""
    texts = []
    for column in columns:
        if _row(rows, column, MINUS, measure) is not None:
            own, plain = (_value(rows, column, MINUS, measure, at=at) for at in (None, PLAIN))
            reached = "reached" if own <= LARGEST_SHARE * plain else "not reached"
            texts.append(f"{reached} on {_titled(column)} ({own / plain:.2f} times)")
    return enumeration(texts)


def _calibration_table(rows: Sequence[Figure]) -> str:
    titles = list(dict.fromkeys(r.protocol for r in rows))
    sizes = sorted({int(r.at) for r in rows if r.measure == CALIBRATION_ERROR and r.at is not None})
    lines = []
    for size in sizes:
        cells = []
        for title in titles:
            both = [
                next((r for r in rows if (r.protocol, r.measure, r.at) == (title, m, size)), None)
                for m in (CALIBRATION_ERROR, BRIER_SKILL)
            ]
            cells.append("; ".join(MISSING if r is None else _with_spread(r) for r in both))
        lines.append((f"{size:,}", *cells))
    return table(("tagged pictures", *(f"{t}: error; Brier skill" for t in titles)), lines)


def _with_spread(row: Figure) -> str:
    return short(row.value) + ("" if row.spread is None else f" ± {short(row.spread)}")


def _error_goals(rows: Sequence[Figure]) -> str:
    texts = []
    for goal_size, largest in LARGEST_ERRORS.items():
        for title in dict.fromkeys(r.protocol for r in rows):
            sizes = [int(r.at) for r in rows if r.protocol == title and r.at is not None]
            # A data set may have fewer tagged pictures than the largest size.
            size = min(goal_size, max(sizes))
            row = next(r for r in rows if (r.protocol, r.at) == (title, size))
            reached = "reached" if row.value <= largest else "not reached"
            texts.append(f"{short(largest, 2)} at {size:,} pictures of {title} {reached}")
    return enumeration(texts)


def _skill(rows: Sequence[Figure]) -> str:
    """Say where probabilities are better than base rates."""
    below = [f"{int(str(r.at)):,} pictures of {r.protocol}" for r in rows if r.value <= 0]
    return "everywhere" if not below else f"not at {enumeration(below)}"
