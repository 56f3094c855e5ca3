"""Namespaces of a collection, such as `Collection.sessions`, which are made when first used.

A search needs few of them; that their modules are imported late keeps its start fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar, overload

if TYPE_CHECKING:
    from typing import Self

    from sightline.collection import Collection

T = TypeVar("T")


class Namespace(Generic[T]):
    """An attribute that holds an object of a class, made of its collection when first used.

    Parameters
    ----------
    place : str
        "module:class", below `sightline.collection`; the class is called with the collection.
    """

    def __init__(self, place: str) -> None:
        self._place = place

    def __set_name__(self, owner: type[Collection], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, collection: None, owner: type[Collection]) -> Self: ...
    @overload
    def __get__(self, collection: Collection, owner: type[Collection]) -> T: ...

    def __get__(self, collection: Collection | None, owner: type[Collection]) -> T | Self:
        if collection is None:
            return self
        module, _, name = self._place.partition(":")
        made: T = getattr(import_module(f"sightline.collection.{module}"), name)(collection)
        # What an instance holds goes before this descriptor.
        collection.__dict__[self._name] = made
        return made
