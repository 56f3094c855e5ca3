"""Statements about results, computed: who is first, who is above whom, and by how much.

Pages of results hold text that no table shows: "first of five", "significantly above". Each such
phrase is computed here from the figures, so that a page cannot contradict its data. If a sentence
holds for one outcome alone, `require` raises an error for another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

SIGNIFICANT = 0.05
EVERYWHERE = "every column"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def short(value: float, digits: int = 3) -> str:
    """Return a fraction without its leading zero.

    >>> short(0.3268), short(1.0)
    ('.327', '1.000')
    """
    return f"{value:.{digits}f}".removeprefix("0")


def percent(value: float, digits: int = 1) -> str:
    """Return a fraction in per cent, a number below one without its zero.

    >>> percent(0.0591), percent(0.0012), percent(-0.0119)
    ('5.9', '.1', '-1.2')
    """
    return f"{100 * value:.{digits}f}".removeprefix("0")


def p_value(p: float) -> str:
    """Return a p-value as prose has it.

    >>> p_value(0.2954), p_value(0.0107), p_value(4e-4), p_value(1e-9)
    ('p .30', 'p .011', 'p < .001', 'p < .0001')
    """
    if p < 1e-4:
        return "p < .0001"
    return "p < .001" if p < 1e-3 else f"p {short(p, 2 if p > 0.05 else 3)}"


def enumeration(names: Iterable[str]) -> str:
    """Return names as prose lists them, each of them once.

    >>> enumeration(["PLSA", "CMTT", "CMRM"]), enumeration(["PLSA", "PLSA"])
    ('PLSA, CMTT and CMRM', 'PLSA')
    """
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last


def rank(values: Mapping[str, float], method: str) -> str:
    """Return the rank of a method by value, in words; those that are equal share the better rank.

    >>> rank({"PA": 0.4, "SVM": 0.5, "RS": 0.4}, "PA")
    'second'
    """
    above = sum(value > values[method] for value in values.values())
    return _ORDINALS[above] if above < len(_ORDINALS) else f"number {above + 1}"


def relation(value: float, baseline: float) -> str:
    """Say whether a value is above another.

    >>> relation(0.2, 0.1), relation(0.1, 0.2), relation(0.1, 0.1)
    ('above', 'below', 'equal to')
    """
    if value == baseline:
        return "equal to"
    return "above" if value > baseline else "below"


def difference(value: float, baseline: float) -> str:
    """Return the relative difference of a value and a baseline, in per cent.

    >>> difference(0.22, 0.2), difference(0.19, 0.2)
    ('10.0 % above', '5.0 % below')
    """
    return f"{percent(abs(value / baseline - 1))} % {relation(value, baseline)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value beside that of a baseline, and the p-value of a two-sided test if there was one.

    Attributes
    ----------
    name : str
        What the sentence names: the baseline, or where both were measured.
    value, baseline : float
    p : float, optional
    """

    name: str
    value: float
    baseline: float
    p: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the value is above, and whether by more than chance."""
        sign = relation(self.value, self.baseline)
        if self.p is None or sign == "equal to":
            return sign
        return f"{'' if self.p < SIGNIFICANT else 'not '}significantly {sign}"


def verdicts(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons with baselines, those of one verdict together, with their largest p.

    >>> verdicts([Comparison("PLSA", 0.3, 0.2, 1e-9), Comparison("CMTT", 0.3, 0.1, 1e-8)])
    'significantly above PLSA and CMTT (p < .0001)'
    >>> verdicts([Comparison("SVM", 0.3, 0.29, 0.3), Comparison("CMTT", 0.3, 0.1)])
    'not significantly above SVM (p .30) and above CMTT'
    """
    texts = []
    for verdict, members in _groups((c.verdict, c) for c in comparisons).items():
        values = [c.p for c in members if c.p is not None and "significantly" in c.verdict]
        p = f" ({p_value(max(values))})" if values else ""
        texts.append(f"{verdict} {enumeration(c.name for c in members)}{p}")
    return enumeration(texts)


def verdicts_by_place(baseline: str, comparisons: Sequence[Comparison]) -> str:
    """Return comparisons with one baseline in several places, with the p-value of each.

    >>> verdicts_by_place("SVM", [Comparison("with networks", 0.5, 0.4, 0.011)])
    'significantly above SVM with networks (p .011)'
    """
    texts = []
    for verdict, members in _groups((c.verdict, c) for c in comparisons).items():
        places = enumeration(
            c.name if c.p is None else f"{c.name} ({p_value(c.p)})" for c in members
        )
        texts.append(f"{verdict} {baseline} {places}")
    return enumeration(texts)


def columns_with(
    verdict: str, subjects: Mapping[str, Sequence[Comparison]], everywhere: str = EVERYWHERE
) -> str:
    """Return the subjects that have a verdict somewhere, those of the same places together.

    >>> columns = [Comparison("here", 2, 1), Comparison("there", 1, 2)]
    >>> columns_with("above", {"easy": columns, "difficult": columns[:1]})
    'easy (here) and difficult (every column)'
    """
    places = {
        subject: tuple(c.name for c in comparisons if c.verdict == verdict)
        for subject, comparisons in subjects.items()
    }
    texts = []
    whole = {subject: len(comparisons) for subject, comparisons in subjects.items()}
    keyed = (
        (everywhere if len(names) == whole[subject] else enumeration(names), subject)
        for subject, names in places.items()
        if names
    )
    for where, members in _groups(keyed).items():
        texts.append(f"{enumeration(members)} ({where})")
    return enumeration(texts) if texts else "none"


def uniform(values: Iterable[str], what: str) -> str:
    """Return the one value there is; a sentence with one name for several is refused."""
    distinct = list(dict.fromkeys(values))
    if len(distinct) != 1:
        raise ValueError(f"The page names one {what}, but there are {enumeration(distinct)}.")
    return distinct[0]


def require(condition: bool, statement: str) -> None:
    """Raise an error if a page states what its data does not show."""
    if not condition:
        raise ValueError(f"The page states: {statement}. Its data does not show it.")


def count_of(conditions: Iterable[bool]) -> str:
    """Return how many conditions hold.

    >>> count_of([True, True]), count_of([False]), count_of([True, False, False])
    ('all', 'none', '1 of 3')
    """
    met = list(conditions)
    if all(met):
        return "all"
    return f"{sum(met)} of {len(met)}" if any(met) else "none"


def _groups(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    grouped: dict[K, list[V]] = {}
    for key, value in pairs:
        grouped.setdefault(key, []).append(value)
    return grouped
