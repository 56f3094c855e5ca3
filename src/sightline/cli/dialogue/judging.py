"""The dialogue of a judging session: hits, judgements, better hits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from sightline.cli.common import counted
from sightline.cli.dialogue.answers import HELP, TypedAnswer, read_answer
from sightline.cli.dialogue.terminal import Way, drawn
from sightline.cli.filters import (
    full_path,
    say_missing,
    say_words,
)
from sightline.errors import SightlineError, UsageError
from sightline.records import Hit, shown

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.sessions.session import Session, SessionRanking


_NAMED = 5
_KINDS = {True: "fits", False: "does not fit", None: ""}


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer that can be undone: the pictures skipped or judged, and its round."""

    pictures: frozenset[int]
    round: int
    skip: bool


class Dialogue:
    """Rounds of hits and answers, until the answers end."""

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
        # A skipped picture is not asked about again.
        self.skipped: set[int] = set()
        self.turns: list[Turn] = []

    def run(self) -> None:
        """Run rounds until the answers end."""
        while True:
            ranking = self._ranking()
            self._show(ranking)
            if not ranking.hits or not self._round(ranking):
                return

    def _ranking(self) -> SessionRanking:
        """Return the hits to show, with at least one to ask about if there is any.

        Suspected mislabels come first: judged pictures may be hidden, and the user must be able to
        confirm a judgement.
        """
        ranking = self._unskipped()
        first = [h for h in ranking.doubted[:_NAMED] if h.picture not in self.skipped]
        twice = {h.picture for h in first}
        return replace(ranking, hits=(*first, *(h for h in ranking.hits if h.picture not in twice)))

    def _unskipped(self) -> SessionRanking:
        if self.propose:
            return self._without_skipped(self.session.propose)
        ranking = self._without_skipped(partial(self.session.next, hide_judged=self.hide_judged))
        judged = self.session.judged
        if self.hide_judged or not ranking.hits or any(h.picture not in judged for h in ranking):
            return ranking
        fit = sum(judged[h.picture] for h in ranking)
        note = f"The best {len(ranking)} were all judged, {fit} of them to fit. The best others:"
        others = self._without_skipped(partial(self.session.next, hide_judged=True))
        return replace(others, remarks=(*others.remarks, note) if others.hits else others.remarks)

    def _without_skipped(self, ask: Callable[[int], SessionRanking]) -> SessionRanking:
        ranking = ask(self.top + len(self.skipped))
        hits = [h for h in ranking if h.picture not in self.skipped]
        return replace(ranking, hits=tuple(hits[: self.top]))

    def _round(self, ranking: SessionRanking) -> bool:
        """Read the answers of one round; return whether there is another round."""
        while True:
            left = self._left(ranking)
            if not left:
                return True
            answer = self._ask(ranking, left[0])
            if answer is None or answer.what == "quit":
                return False
            if answer.what == "next":
                if self.session.round <= ranking.round:
                    # Without judgements the same hits would come again, so other hits are shown.
                    self._skip([ranking.hits[i] for i in left], ranking)
                return True
            try:
                if not self._take(answer, ranking):
                    return True
            except SightlineError as e:
                # At a terminal an invalid answer does not end the session.
                if not self.asks:
                    raise
                click.echo(str(e), err=True)

    def _left(self, ranking: SessionRanking) -> list[int]:
        """Return the positions of hits to ask about: not judged, or suspected, and not skipped."""
        now = [t.pictures for t in self.turns if t.round == ranking.round and not t.skip]
        doubted = ranking.suspected_mislabels.difference(*now) & {
            h.picture for h in ranking.doubted[:_NAMED]
        }
        done = (self.session.judged.keys() - doubted) | self.skipped
        return [i for i, h in enumerate(ranking.hits) if h.picture not in done]

    def _ask(self, ranking: SessionRanking, at: int) -> TypedAnswer | None:
        """Return the next valid answer; None at the end of the input."""
        while True:
            self.line += 1
            try:
                text = self._read(f"{at + 1} {shown(ranking.hits[at].path)}")
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

    def _read(self, hit: str) -> str:
        """Return a line, empty at the end of the input; later output starts on a new line."""
        text = ""
        try:
            if self.asks:
                click.echo(f"{hit} fits? [y/n/s, ? for help] ", nl=False, err=True)
            text = sys.stdin.readline()
        finally:
            if self.asks and not text.endswith("\n"):
                click.echo(err=True)
        return text

    def _take(self, answer: TypedAnswer, ranking: SessionRanking) -> bool:
        """Carry out an answer; return whether the hits are still current."""
        hits = [ranking.hits[i] for i in answer.hits]
        if answer.what == "undo":
            return self._undo(ranking)
        if answer.what == "why":
            self._why(hits[0])
        elif answer.what == "save":
            self.save(answer.word)
        elif answer.what == "skip":
            self._skip(hits, ranking)
        else:
            fits = answer.what == "fits"
            self.session.mark(positive=hits if fits else (), negative=() if fits else hits)
            self.turns.append(Turn(frozenset(h.picture for h in hits), ranking.round, False))
        return True

    def _skip(self, hits: Sequence[Hit], ranking: SessionRanking) -> None:
        new = frozenset(h.picture for h in hits) - self.skipped
        self.skipped |= new
        self.turns.append(Turn(new, ranking.round, True))

    def _undo(self, ranking: SessionRanking) -> bool:
        """Undo the last answer; return whether the hits are still current."""
        last = self.turns[-1] if self.turns else None
        if last is not None and last.skip:
            self.skipped -= last.pictures
            _say(self.c, "undid the skip of", sorted(last.pictures))
            # Pictures skipped before these hits were ranked are not among them.
            fresh = last.pictures <= {h.picture for h in ranking}
        else:
            # The hits shown depend on the answers of earlier rounds.
            fresh = self.session.round > ranking.round
            undo_last(self.c, self.session)
        if self.turns:
            self.turns.pop()
        return fresh

    def _why(self, hit: Hit) -> None:
        for line in self.session.why(hit).lines():
            click.echo(f"\t{line}", err=self.as_json)

    def save(self, word: str) -> None:
        """Save the session as a word."""
        n = self.session.save_as(word)
        now = f"{counted(n, 'picture')} with the word {word!r} now."
        click.echo(f"{now} To predict it for others: sightline train", err=True)

    def farewell(self) -> None:
        """Print how to resume the session, if it has judgements."""
        judged = self.session.judged
        if judged:
            fit = sum(judged.values())
            click.echo(
                f"session {self.session.id}: {fit} fit, {len(judged) - fit} do not. To resume: "
                f"sightline judge --resume {self.session.id}",
                err=True,
            )

    def _show(self, ranking: SessionRanking) -> None:
        if self.asks and self.line:
            click.echo(err=True)
        judged = self.session.judged
        if not self.as_json and ranking.before is not None and ranking.after is not None:
            fit = sum(judged.values())
            click.echo(
                f"round {ranking.round}: {fit} fit, {len(judged) - fit} do not. Of pairs of both "
                f"{ranking.before:.0%} were in order, now {ranking.after:.0%}; "
                f"{1 - ranking.share:.0%} of the ranking is by your judgements.",
                err=True,
            )
        for text in ranking.remarks:
            click.echo(text, err=True)
        say_words(ranking)
        say_missing(ranking)
        if self.as_json:
            click.echo(json.dumps(ranking.to_dict(self.c.root)))
            sys.stdout.flush()
            return
        for i, h in enumerate(ranking.hits, 1):
            if self.way:
                click.echo(drawn(self.c.pictures.thumbnails([h.picture])[0], self.way))
            path = shown(full_path(self.c, h.path))
            doubt = "?" if h.picture in ranking.suspected_mislabels else ""
            click.echo(f"{i}\t{h.score:.4f}\t{path}\t{_KINDS[judged.get(h.picture)]}{doubt}")
        sys.stdout.flush()


def undo_last(c: Collection, session: Session) -> None:
    """Undo the last judgements, and print them."""
    _say(c, "undid the judgement of", list(session.undo()))


def _say(c: Collection, what: str, pictures: list[int]) -> None:
    with c.store_folder.reader() as reader:
        facts = reader.catalogue.facts(pictures)
    names = [shown(facts[p].path) if p in facts else f"picture {p}" for p in pictures]
    more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
    click.echo(f"{what} {', '.join(names[:_NAMED])}{more}", err=True)
