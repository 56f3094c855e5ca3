"""The figures of an experiment, in the one form in which all experiments are written.

{"experiment", "settings", "rows": [{"method", "features", "protocol", "subset", "direction", "at",
"measure", "value", "spread", "n", "paper"}], "tests": [{"a", "b", "measure", "p"}]}
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sightline.contracts import Json


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: `value` is the mean over repetitions and `spread` their standard deviation.

    `n` counts queries, `paper` is the paper's own figure where it has one.
    """

    method: str
    measure: str
    value: float
    features: str = ""
    protocol: str = ""
    subset: str = "all"
    direction: str = "text->picture"
    at: int | str | None = None
    spread: float | None = None
    n: int | None = None
    paper: float | None = None


@dataclass(frozen=True, slots=True)
class Compared:
    """Method `a` tested against method `b`; `p` is two-sided."""

    a: str
    b: str
    measure: str
    p: float


@dataclass(slots=True)
class Figures:
    """All figures of one experiment."""

    experiment: str
    settings: Mapping[str, Json]
    rows: list[Figure] = field(default_factory=list)
    tests: list[Compared] = field(default_factory=list)

    def find(self, **wanted: object) -> list[Figure]:
        """Return the figures with these attributes.

        >>> f = Figures("demo", {}, [Figure("PAMIR", "AvgP", 0.5), Figure("random", "AvgP", 0.1)])
        >>> [r.value for r in f.find(method="PAMIR")]
        [0.5]
        """
        return [r for r in self.rows if all(getattr(r, k) == v for k, v in wanted.items())]

    def as_json(self) -> dict[str, Json]:
        """Return plain values; a number that is not finite becomes null."""
        rows: list[Json] = [{k: _plain(v) for k, v in asdict(r).items()} for r in self.rows]
        tests: list[Json] = [{k: _plain(v) for k, v in asdict(t).items()} for t in self.tests]
        return {
            "experiment": self.experiment,
            "settings": dict(self.settings),
            "rows": rows,
            "tests": tests,
        }

    @classmethod
    def read(cls, file: Path) -> Figures:
        """Read figures that `write` wrote."""
        stored = json.loads(file.read_bytes())
        rows = [Figure(**r) for r in stored["rows"]]
        tests = [Compared(**t) for t in stored["tests"]]
        return cls(stored["experiment"], stored["settings"], rows, tests)

    def write(self, file: Path) -> None:
        """Write the JSON; the file appears whole or not at all."""
        aside = file.with_name(f"{file.name}.{os.getpid()}.part")
        try:
            aside.write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")
            os.replace(aside, file)
        finally:
            aside.unlink(missing_ok=True)


def _plain(value: Json) -> Json:
    return None if isinstance(value, float) and not math.isfinite(value) else value
