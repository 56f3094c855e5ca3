"""Maintenance of a collection's store: verify, repair, roll back, back up, purge."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.collection.discovery import inside
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.collection import Collection
    from sightline.collection.pictures import PictureLike
    from sightline.contracts import Progress
    from sightline.store.locks import Running
    from sightline.store.upkeep.permissions import Exposed
    from sightline.store.upkeep.rollback import Rollback
    from sightline.store.upkeep.verify import Verified


class StoreMaintenance:
    """The commands of `sightline store`: `Collection.store`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._store_folder = collection.store_folder

    @property
    def folder(self) -> Path:
        """Where the store lies."""
        return self._store_folder.path

    def exists(self) -> bool:
        """Say whether anything was ever indexed."""
        return self._store_folder.exists()

    def version(self) -> int:
        """Return the number of the version in use; 0 before anything is indexed."""
        if not self._store_folder.exists():
            return 0
        with self._store_folder.reader() as reader:
            return reader.snapshot.version

    def running(self) -> list[Running]:
        """Return the commands at work on the store now, such as a training."""
        from sightline.store.locks import commands

        return commands(self._store_folder.path)

    def require_writable(self) -> None:
        """Raise if the store is read-only, before any work is done for a change to it."""
        from sightline.store.locks import require_writable

        require_writable(self._store_folder.path)

    def verify(
        self, progress: Progress | None = None, *, fix_permissions: bool = False
    ) -> Verified:
        """Check every byte of the store.

        Parameters
        ----------
        progress : Progress, optional
            Shows how far it is.
        fix_permissions : bool
            Remove all permissions that other users have for files and folders of the store.
        """
        from sightline.store.locks import Lock
        from sightline.store.upkeep.verify import verify

        if os.access(self._store_folder.path, os.W_OK):
            with Lock(self._store_folder.path, "store verify", self._collection.settings.wait):
                return verify(self._store_folder, progress, fix_permissions=fix_permissions)
        return verify(self._store_folder, progress, fix_permissions=fix_permissions)

    def exposed(self) -> tuple[Exposed, ...]:
        """Return the files and folders of the store that other users have permissions for."""
        from sightline.store.upkeep.permissions import exposed

        return exposed(self._store_folder.path)

    def repair(self, say: Callable[[str], None], progress: Progress | None = None) -> Verified:
        """Repair the store, then read again the pictures whose rows were lost."""
        from sightline.store.locks import running
        from sightline.store.upkeep.repair import repair

        with running(self._store_folder.path, "store repair"):
            repaired = repair(self._store_folder, say, self._collection.settings.wait)
            if os.path.isdir(self._collection.root):
                self._collection.index(progress=progress)
                return self.verify()
            return repaired

    def rollback(self, number: int | None = None) -> Rollback:
        """Publish an older version again, by default the one before; return from which to which.

        The next index brings what differs between the two up to date.
        """
        from sightline.store.upkeep.rollback import Rollback, describe_version
        from sightline.store.writer import Writer

        store_folder = self._store_folder
        store_folder.require_indexed()
        with Writer(store_folder, "store rollback", self._collection.settings.wait) as writer:
            current = writer.version.number
            finished = [
                n
                for n in store_folder.versions.numbers()
                if n < current and store_folder.versions.read(n).finished
            ]
            if not finished or (number is not None and number not in finished):
                listed = ", ".join(map(str, finished)) or "none"
                raise UsageError(
                    f"There is no version {number if number is not None else 'before this one'} "
                    f"to go back to. Kept: {listed}."
                )
            left, restored = (
                describe_version(store_folder, n) for n in (current, number or finished[-1])
            )
            return Rollback(writer.rollback(restored.number).number, left, restored)

    def backup(self, target: str | os.PathLike[str]) -> Verified:
        """Copy the store to a new folder and verify the copy."""
        from sightline.store.upkeep.backup import backup

        place = Path(target).expanduser().absolute()
        if inside(place, self._collection.root):
            raise UsageError(f"{place} lies inside the collection, where nothing is ever written.")
        return backup(self._store_folder, place, self._collection.settings.wait)

    def purge(self, pictures: Sequence[PictureLike] = (), sessions: Sequence[str] = ()) -> int:
        """Remove all that is known of some pictures or sessions, for good."""
        from sightline.collection.sessions.tags import revert_saved
        from sightline.store.upkeep.purge import purge

        wait = self._collection.settings.wait
        # Words that were saved from a session are in the published rows too.
        revert_saved(self._store_folder, sessions, wait)
        return purge(
            self._store_folder, self._collection.pictures.resolve(pictures), sessions, wait
        )
