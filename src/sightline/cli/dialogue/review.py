"""The dialogue of a review: suggestions one by one, yes, no or skip."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from sightline.cli.dialogue.terminal import drawn, here
from sightline.cli.filters import full_path
from sightline.errors import StoreBusy, UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.proposing import Suggestion, Suggestions
    from sightline.collection.tagging.reviewing import Review

_HELP = "y: it is right   n: it is not   s: skip it   u: take the last answer back   q: end"
_YES, _NO, _SKIP = ("y", "yes", "+"), ("n", "no", "-"), ("s", "skip", "")


def run_review(
    c: Collection, review: Review, say: Callable[[Suggestions], None], thumbnails: bool
) -> int:
    """Ask about every suggestion, and say at the end what came of it."""
    say(review.found)
    try:
        _Queue(c, review, thumbnails).run()
    finally:
        n = review.answered
        try:
            carried = review.close()
            said = f"; {carried} pictures carry other words now" if carried else ""
        except StoreBusy:
            said = "; accepted words are carried after the next review, the store is busy now"
        if n:
            click.echo(
                f"session {review.id}: {n} answered{said}. To take all of it back: "
                f"sightline sessions revert {review.id}",
                err=True,
            )
    return 0


class _Queue:
    """Suggestions in their order, and answers."""

    def __init__(self, c: Collection, review: Review, thumbnails: bool) -> None:
        self.c, self.review = c, review
        self.asks = sys.stdin.isatty()
        self.way = here() if thumbnails else ""
        # Where each answer was given, None for a skip, so that undoing asks again.
        self.turns: list[bool] = []
        self.line = 0

    def run(self) -> None:
        """Go through the queue until it or the answers end."""
        at, asked = 0, self.review.suggestions
        while at < len(asked):
            answer = self._ask(asked[at], at)
            if answer is None or answer in ("q", "quit"):
                return
            if answer in _YES or answer in _NO:
                self.review.answer(asked[at], answer in _YES)
                self.turns.append(True)
                at += 1
            elif answer in _SKIP:
                self.turns.append(False)
                at += 1
            elif self.turns:
                if self.turns.pop():
                    self.review.undo()
                at -= 1
            else:
                click.echo("Nothing was answered yet.", err=True)

    def _ask(self, s: Suggestion, at: int) -> str | None:
        """Return an answer that can be understood; None at the end of them."""
        known = {*_YES, *_NO, *_SKIP, "u", "undo", "q", "quit"}
        if self.way:
            click.echo(drawn(self.c.thumbnails([s.picture])[0], self.way))
        what = "carries" if s.add else "does not show"
        path = shown(full_path(self.c, s.path))
        click.echo(f"{at + 1}\t{s.confidence:.0%}\t{'+' if s.add else '-'}{s.word}\t{path}")
        sys.stdout.flush()
        while True:
            self.line += 1
            if self.asks:
                click.echo(f"{what} {s.word!r}? [y/n/s, ? for help] ", nl=False, err=True)
            text = sys.stdin.readline()
            if not text:
                return None
            answer = text.strip().lower()
            if answer in known:
                return answer
            if answer not in ("?", "help"):
                if not self.asks:
                    raise UsageError(
                        f"Line {self.line} of the answers: {text.strip()!r} is no answer. "
                        "Write y, n, s, u or q."
                    )
                click.echo(f"{text.strip()!r} is no answer.", err=True)
            click.echo(_HELP, err=True)
