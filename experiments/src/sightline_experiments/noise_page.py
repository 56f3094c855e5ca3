"""The page of label noise: tables and statements of `noise.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sightline.measures.figures import Figure, Figures
from sightline_experiments.markdown import MISSING, Values, table
from sightline_experiments.statements import enumeration, percent, short

_NOISE_BOUND = 0.02
_NOISE_METHODS = ("served", "ridge")


def values_of(folder: Path) -> Values:
    """Return the tables and figures of label noise."""
    run = Figures.read(folder / "noise.json")
    titles = list(dict.fromkeys(r.protocol for r in run.rows))
    conditions = list(dict.fromkeys(r.subset for r in run.find(measure="AvgP")))

    def value(title: str, method: str, name: str, measure: str = "AvgP") -> Figure:
        return _one(run, protocol=title, method=method, subset=name, measure=measure)

    rows: list[tuple[str, ...]] = []
    within: list[str] = []
    beyond: list[str] = []
    for title in titles:
        for name in conditions:
            cells = []
            for method in _NOISE_METHODS:
                row = value(title, method, name)
                text = short(row.value) + (f" ± {short(row.spread)}" if row.spread else "")
                if name != "clean":
                    loss = value(title, method, name, "loss of AvgP").value
                    text += f" ({_signed(-loss)})"
                    if method == "served":
                        where = f"{title} with {name} ({short(loss)})"
                        (within if loss <= _NOISE_BOUND else beyond).append(where)
                cells.append(text)
            rows.append((f"{title}, {name}", *cells))

    def beside(title: str, method: str) -> str:
        wrong, fewer = (value(title, method, n).value for n in ("20 % wrong", "20 % missing"))
        return _signed(fewer - wrong)

    corel, caltech = titles
    pictures = run.settings["training pictures"]
    assert isinstance(pictures, dict)
    names = "20 % wrong", " missing", "clean"
    excluded = dict(zip(names, (_excluded(run, name) for name in names), strict=True))
    seeds = len(_listed(run, "seeds"))
    return {
        "options": f"the features {enumeration(map(str, _listed(run, 'features')))} and the "
        f"rankers {enumeration(map(str, _listed(run, 'rankers')))}",
        "corel_pictures": f"{pictures[corel]:,}", "caltech_pictures": f"{pictures[caltech]:,}",
        "seeds": f"the mean and deviation of {seeds} seeds" if seeds > 1 else "one seed",
        "table": table(("AvgP", *_NOISE_METHODS), rows),
        "within": enumeration(within) if within else "none",
        "beyond": enumeration(beyond) if beyond else "none",
        "noise_corel": beside(corel, "served"), "noise_caltech": beside(caltech, "served"),
        "ridge_corel": beside(corel, "ridge"), "ridge_caltech": beside(caltech, "ridge"),
        "excluded": excluded["20 % wrong"], "excluded_missing": excluded[" missing"],
        "excluded_clean": excluded["clean"],
        "suspected": _suspected_table(run, titles),
        "calibration": _calibration_table(run, titles),
    }  # fmt: skip


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{short(abs(value))}"


def _excluded(run: Figures, name: str) -> str:
    """Return in how many trainings under some conditions wrong tags were excluded."""
    recipes = [str(r) for r in _listed(run, "recipes") if ": served " in str(r)]
    chosen = [r for r in recipes if f"{name}, seed" in r]
    return f"{sum('wrong_tags=excluded' in r for r in chosen)} of {len(chosen)}"


def _suspected_table(run: Figures, titles: Sequence[str]) -> str:
    rows = []
    for title in titles:
        for name in ("clean", "20 % wrong"):
            where = {"method": "suspected mislabels", "protocol": title, "subset": name}
            cells = [
                percent(_one(run, **where, measure=f"share {m}").value) + " %"
                for m in ("expected", "suspected")
            ]
            for measure, at in (("precision", "recall 0.5"), ("recall", "precision 0.8")):
                measured = run.find(**where, measure=measure, at=at)
                cells.append(short(measured[0].value) if measured else MISSING)
            rows.append((f"{title}, {name}", *cells))
    head = "tags", "wrong by the model", "suspected (at least one half)", "precision at recall .5"
    return table((*head, "recall at precision .8"), rows)


def _calibration_table(run: Figures, titles: Sequence[str]) -> str:
    where = {"method": "suspected mislabels", "subset": "20 % wrong"}
    rows = []
    for row in run.find(**where, measure="share predicted"):
        made = _one(run, **where, measure="share wrong", protocol=row.protocol, at=row.at)
        texts = (f"{row.n:,}", short(row.value, 2), short(made.value, 2))
        rows.append((f"{row.protocol}, {row.at}", *texts))
    return table(("probability", "tags", "mean probability", "made wrong"), rows)


def _one(figures: Figures, **where: object) -> Figure:
    (row,) = figures.find(**where)
    return row


def _listed(figures: Figures, setting: str) -> list[object]:
    values: object = figures.settings[setting]
    assert isinstance(values, list)
    return list(values)
