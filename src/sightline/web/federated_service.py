"""The shared state of a server of several collections."""

from __future__ import annotations

from sightline.federation import Collections, LocalMember
from sightline.settings import load
from sightline.web import warming
from sightline.web.limits import Limits
from sightline.web.problems import Problem
from sightline.web.redaction import redacted
from sightline.web.remote import RemoteMember
from sightline.web.service import Front


class FederatedService(Front):
    """Several served collections, and other servers that are asked for hits."""

    def __init__(
        self, collections: Collections, token: str = "", limits: Limits | None = None
    ) -> None:
        super().__init__(token, limits, load()[0].seconds)
        self.collections = collections
        for member in self._local():
            member.collection.store_folder.fast = True

    def warm(self) -> None:
        """Search each collection once, so that the first request does not wait for models."""
        for member in self._local():
            warming.warm_first(member.collection)

    def redacted(self, text: str) -> str:
        """Return a message without paths of this machine."""
        for member in self._local():
            c = member.collection
            text = redacted(text, c.root, str(c.store_folder.path))
        return text

    def local(self, name: str) -> LocalMember:
        """Return a member on this machine by its name."""
        member = self.collections.members.get(name)
        if not isinstance(member, LocalMember):
            raise _no_member(name)
        return member

    def thumbnail(self, name: str, picture: int) -> bytes:
        """Return the thumbnail of a picture of a member, WebP or JPEG."""
        member = self.collections.members.get(name)
        if isinstance(member, RemoteMember):
            return member.thumbnail(picture)
        c = self.local(name).collection
        if picture not in c.pictures.facts([picture]):
            raise Problem(404, "no-picture", f"There is no picture {picture} in {name}.")
        return c.pictures.thumbnails([picture])[0]

    def _local(self) -> list[LocalMember]:
        return [m for m in self.collections.members.values() if isinstance(m, LocalMember)]


def _no_member(name: str) -> Problem:
    return Problem(
        404, "no-collection",
        f"There is no collection {name} on this machine. See: GET /v1/collections",
    )  # fmt: skip
