"""The rankers that a training of words selects from."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from sightline.registry import RANKERS
from sightline.web.shapes import Served

router = APIRouter(prefix="/v1/rankers", tags=["jobs"])


class Ranker(BaseModel):
    """A ranker.

    `default` says whether it is tried by default, `available` whether its requirements are
    installed.
    """

    name: str
    about: str
    default: bool
    available: bool


class Rankers(BaseModel):
    """All rankers, in the order in which they are tried."""

    version: int
    rankers: list[Ranker]


@router.get("")
def rankers(service: Served) -> Rankers:
    """Return the rankers that a train job may name."""
    return Rankers(
        version=service.collection.store.version(),
        rankers=[
            Ranker(name=n, about=r.about, default=not r.opt_in, available=r.available)
            for n, r in RANKERS.items()
        ],
    )
