"""Progress that remembers what it was told."""

from __future__ import annotations


class Told:
    """What was started and of how much, what is done and was noted, and whether it was finished."""

    what = ""
    total: int | None = None
    done = 0
    finished = False
    noted: tuple[str, ...] = ()

    def start(self, what: str, total: int | None) -> None:
        self.what, self.total = what, total

    def advance(self, n: int = 1) -> None:
        self.done += n

    def note(self, text: str) -> None:
        self.noted += (text,)

    def finish(self) -> None:
        self.finished = True

    def all(self) -> tuple[str, int | None, int, bool]:
        """Return all of it."""
        return self.what, self.total, self.done, self.finished
