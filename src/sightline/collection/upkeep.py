"""Looking after a collection's store: check, mend, roll back, copy, purge."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.collection.finding import inside
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.contracts import Progress
    from sightline.settings import Settings
    from sightline.store.home import Home
    from sightline.store.upkeep.keeping import Rollback
    from sightline.store.upkeep.permissions import Exposed
    from sightline.store.upkeep.verifying import Verified


class Upkeep:
    """The verbs of `sightline store`, as methods of a collection."""

    root: bytes
    home: Home
    settings: Settings
    index: Callable[..., Any]
    resolve: Callable[[Sequence[str | bytes | int]], list[int]]

    def require_writable(self) -> None:
        """Refuse, before any work is done for it, what would change a read-only store."""
        from sightline.store.locks import require_writable

        require_writable(self.home.folder)

    def verify(
        self, progress: Progress | None = None, *, fix_permissions: bool = False
    ) -> Verified:
        """Check every byte of the store.

        Parameters
        ----------
        fix_permissions
            Take away all permissions that other users have for files and folders of the store.
        """
        from sightline.store.locks import Lock
        from sightline.store.upkeep.verifying import verify

        if os.access(self.home.folder, os.W_OK):
            with Lock(self.home.folder, "store verify", self.settings.wait):
                return verify(self.home, progress, fix_permissions=fix_permissions)
        return verify(self.home, progress, fix_permissions=fix_permissions)

    def exposed(self) -> tuple[Exposed, ...]:
        """Return the files and folders of the store that other users have permissions for."""
        from sightline.store.upkeep.permissions import exposed

        return exposed(self.home.folder)

    def repair(self, say: Callable[[str], None], progress: Progress | None = None) -> Verified:
        """Mend the store, then read again the pictures that lost their place in it."""
        from sightline.store.locks import running
        from sightline.store.upkeep.repairing import repair

        with running(self.home.folder, "store repair"):
            mended = repair(self.home, say, self.settings.wait)
            if os.path.isdir(self.root):
                self.index(progress=progress)
                return self.verify()
            return mended

    def rollback(self, number: int | None = None) -> Rollback:
        """Publish an older version again, by default the one before; return from which to which.

        What differs between the two is brought up to date by the next index.
        """
        from sightline.store.upkeep.keeping import Rollback, describe_version
        from sightline.store.writer import Writer

        self.home.refuse_nothing()
        with Writer(self.home, "store rollback", self.settings.wait) as writer:
            current = writer.version.number
            finished = [
                n
                for n in self.home.versions.numbers()
                if n < current and self.home.versions.read(n).finished
            ]
            if not finished or (number is not None and number not in finished):
                listed = ", ".join(map(str, finished)) or "none"
                raise UsageError(
                    f"There is no version {number if number is not None else 'before this one'} "
                    f"to go back to. Kept: {listed}."
                )
            left, restored = (
                describe_version(self.home, n) for n in (current, number or finished[-1])
            )
            return Rollback(writer.rollback(restored.number).number, left, restored)

    def backup(self, target: str | os.PathLike[str]) -> Verified:
        """Copy the store to a new folder and check the copy."""
        from sightline.store.upkeep.keeping import backup

        place = Path(target).expanduser().absolute()
        if inside(place, self.root):
            raise UsageError(f"{place} lies inside the collection, where nothing is ever written.")
        return backup(self.home, place, self.settings.wait)

    def purge(
        self, pictures: Sequence[str | bytes | int] = (), sessions: Sequence[str] = ()
    ) -> int:
        """Remove all that is known of some pictures or sessions, for good."""
        from sightline.collection.sessions.tags import revert_saved
        from sightline.store.upkeep.keeping import purge

        # Words made of a session lie in the published rows too.
        revert_saved(self.home, sessions, self.settings.wait)
        return purge(self.home, self.resolve(pictures), sessions, self.settings.wait)
