"""Progress that records its calls."""

from __future__ import annotations


class RecordedProgress:
    """The last task and its total, what is done, all notes, and whether it was finished."""

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
        """Return task, total, progress and whether it was finished."""
        return self.what, self.total, self.done, self.finished
