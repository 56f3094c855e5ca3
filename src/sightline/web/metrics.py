"""Metrics of the server in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts and durations of responses by route and status.

    >>> metrics = Metrics()
    >>> metrics.answered("/v1/search", 200, 0.02)
    >>> [line for line in metrics.text({"pictures": 8}).splitlines() if "_total" in line][-1]
    'sightline_requests_total{route="/v1/search",status="200"} 1'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[tuple[str, int]] = Counter()
        self._slower: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a response; the route is a template, never user input."""
        with self._lock:
            self._answers[route, status] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            for bound in BOUNDS:
                if seconds <= bound:
                    self._slower[route, bound] += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all counts and the given gauges."""
        out = []
        for name, value in gauges.items():
            out += [f"# TYPE sightline_{name} gauge", f"sightline_{name} {value:g}"]
        # Requests must not wait for the text to be formatted.
        with self._lock:
            answers, slower = Counter(self._answers), Counter(self._slower)
            taken = dict(self._seconds)
        every: Counter[str] = Counter()
        out.append("# TYPE sightline_requests_total counter")
        for (route, status), n in sorted(answers.items()):
            every[route] += n
            out.append(f'sightline_requests_total{{route="{route}",status="{status}"}} {n}')
        out.append("# TYPE sightline_request_seconds histogram")
        for route, seconds in sorted(taken.items()):
            buckets = [slower[route, b] for b in BOUNDS]
            out += _histogram(route, seconds, buckets, every[route])
        return "\n".join(out) + "\n"


def _histogram(route: str, seconds: float, buckets: list[int], n: int) -> list[str]:
    name, label = "sightline_request_seconds", f'route="{route}"'
    lines = [
        f'{name}_bucket{{{label},le="{b:g}"}} {count}'
        for b, count in zip(BOUNDS, buckets, strict=True)
    ]
    lines.append(f'{name}_bucket{{{label},le="+Inf"}} {n}')
    return [*lines, f"{name}_sum{{{label}}} {seconds:.6f}", f"{name}_count{{{label}}} {n}"]
