"""The dialogue of a judging session: hits, answers, better hits."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from sightline.cli.common import text_of
from sightline.cli.dialogue.answers import HELP, Answer, read_answer
from sightline.cli.dialogue.terminal import Way, drawn
from sightline.cli.filters import full_path, say_missing
from sightline.errors import SightlineError, UsageError
from sightline.records import Hit, shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.sessions.session import Ranking, Session

_KINDS = {True: "fits", False: "does not fit", None: ""}


class Dialogue:
    """Rounds of hits and answers, until there is nothing more to say."""

    def __init__(
        self,
        c: Collection,
        session: Session,
        top: int,
        propose: bool,
        hide_judged: bool,
        as_json: bool,
        way: Way,
    ) -> None:
        self.c, self.session, self.top, self.propose = c, session, top, propose
        self.hide_judged, self.as_json, self.way = hide_judged, as_json, way
        self.asks = sys.stdin.isatty()
        self.line = 0

    def run(self) -> None:
        """Go round until the answers end."""
        while True:
            ranking = self._ranking()
            self._show(ranking)
            if not ranking.hits or not self._round(ranking):
                return

    def _ranking(self) -> Ranking:
        if self.propose:
            return self.session.propose(self.top)
        return self.session.next(self.top, hide_judged=self.hide_judged)

    def _round(self, ranking: Ranking) -> bool:
        """Take the answers of one round; return whether there is another."""
        skipped: set[int] = set()
        while True:
            judged = self.session.judged
            left = [
                i
                for i, h in enumerate(ranking.hits)
                if h.picture not in judged and h.picture not in skipped
            ]
            if not left and self.session.round > ranking.round:
                return True
            if not left:
                said = "Nothing new was judged, so the same hits would come again. Others are"
                click.echo(f"{said} shown by --hide-judged, --propose or -t.", err=True)
                return False
            answer = self._ask(ranking, left[0])
            if answer is None or answer.what == "quit":
                return False
            if answer.what == "next":
                return True
            try:
                self._take(answer, ranking, skipped)
            except SightlineError as e:
                # At a terminal one answer that cannot be taken does not end the session.
                if not self.asks:
                    raise
                click.echo(str(e), err=True)

    def _ask(self, ranking: Ranking, at: int) -> Answer | None:
        """Return the next answer that can be understood; None at the end of them."""
        while True:
            if self.asks:
                h = ranking.hits[at]
                question = f"{at + 1} {shown(h.path)} fits? [y/n/s, ? for help] "
                click.echo(question, nl=False, err=True)
            self.line += 1
            try:
                text = sys.stdin.readline()
                if not text:
                    return None
                answer = read_answer(text, len(ranking.hits), at)
            except (UsageError, UnicodeDecodeError) as e:
                if not self.asks:
                    raise UsageError(f"Line {self.line} of the answers: {e}") from e
                click.echo(str(e), err=True)
                continue
            if answer.what != "help":
                return answer
            click.echo(HELP, err=True)

    def _take(self, answer: Answer, ranking: Ranking, skipped: set[int]) -> None:
        hits = [ranking.hits[i] for i in answer.hits]
        if answer.what == "undo":
            undo_last(self.session)
        elif answer.what == "why":
            self._why(hits[0])
        elif answer.what == "save":
            self.save(answer.word)
        elif answer.what == "skip":
            skipped.update(h.picture for h in hits)
        else:
            fits = answer.what == "fits"
            self.session.mark(relevant=hits if fits else (), other=() if fits else hits)

    def _why(self, hit: Hit) -> None:
        for line in self.session.why(hit).lines():
            click.echo(f"\t{line}", err=self.as_json)

    def save(self, word: str) -> None:
        """Make a word of the session."""
        n = self.session.save_as(word)
        said = f"{n} pictures carry {word!r} now. To have others found too: sightline train"
        click.echo(said, err=True)

    def farewell(self) -> None:
        """Say how to go on, if there is anything to go on with."""
        judged = self.session.judged
        if judged:
            fit = sum(judged.values())
            click.echo(
                f"session {self.session.id}: {fit} fit, {len(judged) - fit} do not. To go on: "
                f"sightline judge --resume {self.session.id}",
                err=True,
            )

    def _show(self, ranking: Ranking) -> None:
        for text in ranking.said:
            click.echo(text, err=True)
        say_missing(ranking)
        judged = self.session.judged
        if self.as_json:
            click.echo(json.dumps(_as_json(self.c, self.session, ranking, judged)))
            sys.stdout.flush()
            return
        if ranking.before is not None and ranking.after is not None:
            click.echo(
                f"round {ranking.round}: of judged pairs {ranking.before:.0%} were in order, now "
                f"{ranking.after:.0%}; {1 - ranking.share:.0%} of the ranking is learnt",
                err=True,
            )
        for i, h in enumerate(ranking.hits, 1):
            if self.way:
                click.echo(drawn(self.c.thumbnails([h.picture])[0], self.way))
            path = shown(full_path(self.c, h.path))
            click.echo(f"{i}\t{h.score:.4f}\t{path}\t{_KINDS[judged.get(h.picture)]}")
        sys.stdout.flush()


def undo_last(session: Session) -> None:
    """Take the last answer back, and say which that was."""
    back = session.undo()
    ids = ", ".join(map(str, back))
    click.echo(f"took back what was said of picture{'s' * (len(back) > 1)} {ids}", err=True)


def _as_json(
    c: Collection, session: Session, ranking: Ranking, judged: dict[int, bool]
) -> dict[str, object]:
    fit = sum(judged.values())
    return {
        "session": session.id,
        "query": session.start.query,
        "like": [p if isinstance(p, int) else os.fsdecode(p) for p in session.start.like],
        "version": ranking.version,
        "round": ranking.round,
        "relevant": fit,
        "other": len(judged) - fit,
        "blend": {"share": ranking.share, "before": ranking.before, "after": ranking.after},
        "said": list(ranking.said),
        "hits": [
            {
                "hit": i,
                "picture": h.picture,
                "path": text_of(full_path(c, h.path)),
                "score": h.score,
                "tagged": h.tagged,
                "learnt": h.learnt,
                "judged": judged.get(h.picture),
            }
            for i, h in enumerate(ranking.hits, 1)
        ],
    }
