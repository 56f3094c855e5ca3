"""The dialogue of a review: each suggestion is accepted, rejected or skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

import click

from sightline.cli.common import counted
from sightline.cli.dialogue.terminal import drawn, here
from sightline.cli.filters import full_path
from sightline.errors import StoreBusy, UsageError
from sightline.records import shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.tagging.review import Review
    from sightline.collection.tagging.suggest import Suggestion, Suggestions
    from sightline.collection.tagging.suspected import SuspectedTag, SuspectedTags

_HELP = "y: it is right   n: it is not   s: skip it   u: take the last answer back   q: end"
_HELP_LAST = "u: take the last answer back   q: end"
_YES, _NO, _SKIP = ("y", "yes", "+"), ("n", "no", "-"), ("s", "skip", "")
_BACK, _END = ("u", "undo"), ("q", "quit")


def run_review(
    c: Collection,
    review: Review,
    say: Callable[[Suggestions | SuspectedTags], None],
    thumbnails: bool,
) -> int:
    """Ask about every suggestion, and print a summary at the end."""
    say(review.queue)
    try:
        _Queue(c, review, thumbnails).run()
    finally:
        n = review.answered
        try:
            n_changed = review.close()
            outcome = f"; the words of {counted(n_changed, 'picture')} changed" if n_changed else ""
        except StoreBusy:
            outcome = "; the store is busy: accepted words are added after the next review"
        if n:
            click.echo(
                f"session {review.id}: {n} answered{outcome}. To revert it: "
                f"sightline sessions revert {review.id}",
                err=True,
            )
    return 0


class _Queue:
    """The suggestions in order, and the answers to them."""

    def __init__(self, c: Collection, review: Review, thumbnails: bool) -> None:
        self.c, self.review = c, review
        self.asks = sys.stdin.isatty()
        self.way = here() if thumbnails else ""
        # Whether each turn was an answer; false for a skip, so that undo asks again.
        self.turns: list[bool] = []
        self.line = 0

    def run(self) -> None:
        """Ask until the answers end; the last answer can be undone too."""
        at, suggestions = 0, self.review.suggestions
        while suggestions:
            last = at >= len(suggestions)
            answer = self._ask_at_the_end() if last else self._ask(suggestions[at], at)
            if answer is None or answer in _END:
                return
            if answer in _YES or answer in _NO:
                self.review.answer(suggestions[at], answer in _YES)
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

    def _ask(self, s: Suggestion | SuspectedTag, at: int) -> str | None:
        """Return a valid answer; None at the end of the input."""
        if self.way:
            click.echo(drawn(self.c.pictures.thumbnails([s.picture])[0], self.way))
        what = "has the word" if s.add else "does not show"
        path = shown(full_path(self.c, s.path))
        click.echo(f"{at + 1}\t{s.confidence:.0%}\t{'+' if s.add else '-'}{s.word}\t{path}")
        sys.stdout.flush()
        known = {*_YES, *_NO, *_SKIP, *_BACK, *_END}
        return self._read(f"{what} {s.word!r}? [y/n/s, ? for help] ", known, _HELP)

    def _ask_at_the_end(self) -> str | None:
        """Return whether to undo the last answer; None to end."""
        if self.asks:
            return self._read("that was the last one [u/q, ? for help] ", _BACK + _END, _HELP_LAST)
        # Input from a program may continue, as that of `yes` does.
        self.line += 1
        answer = sys.stdin.readline().strip().lower()
        return answer if answer in _BACK else None

    def _read(self, prompt: str, known: Container[str], help_: str) -> str | None:
        while True:
            self.line += 1
            if self.asks:
                click.echo(prompt, nl=False, err=True)
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
            click.echo(help_, err=True)
