"""Tables in Markdown, and the values of a page by placeholder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Values = dict[str, str]
MISSING = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(("method", "AvgP"), [("PAMIR", ".5")]))
    | method | AvgP |
    |---|---|
    | PAMIR | .5 |
    """
    lines = [head, *rows]
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(head), *text[1:]])
