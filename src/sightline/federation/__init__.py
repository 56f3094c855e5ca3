"""A federation: several collections, each with its own store and models, searched as one.

>>> import pathlib, tempfile
>>> from PIL import Image
>>> box = tempfile.TemporaryDirectory()
>>> for n, (name, word) in enumerate((("family", "snow"), ("work", "tree, snow"))):
...     folder = pathlib.Path(box.name, name); folder.mkdir()
...     Image.new("RGB", (40, 30 + n), "green").save(folder / "a.jpg")
...     _ = (folder / "a.txt").write_text(word)
...     c = Collection.open(folder, store=pathlib.Path(box.name, name + "-store"), workers=1)
...     _ = c.index()
>>> both = Collections.open(
...     *(pathlib.Path(box.name, n) for n in ("family", "work")),
...     stores=[pathlib.Path(box.name, n + "-store") for n in ("family", "work")],
... )
>>> [(hit.collection, hit.hit.label) for hit in both.search("snow")]
[('family', 'exact'), ('work', 'exact')]
>>> len(both)
2
>>> box.cleanup()

A member that fails is named in the answer, and the others answer; only if none answers, or the
query itself is wrong, there is an error. What a picture shows decides where it is merged (`merge`).
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightline import settings as settings_of
from sightline.collection import Collection
from sightline.collection.filters import NO_FILTERS, Filters
from sightline.collection.index.options import quick_feature
from sightline.collection.search.words import parse_words
from sightline.errors import CollectionError, NoFeatures, ParameterError, SightlineError, UsageError
from sightline.federation.members import (
    Failure,
    LocalMember,
    Member,
    MemberHits,
    VectorRequest,
    WordRequest,
    problem_of,
    unit_vector,
)
from sightline.federation.merge import FederatedHit, merge
from sightline.federation.results import FederatedResults, MemberReport
from sightline.vectors import Fingerprint

if TYPE_CHECKING:
    from sightline._typing import Floats
    from sightline.contracts import Compute

__all__ = ["Collections", "FederatedHit", "FederatedResults", "LocalMember", "Member",
           "MemberReport", "NAME"]  # fmt: skip

T = TypeVar("T")
# Names of members stand in URLs.
NAME = re.compile(r"[0-9A-Za-z_][0-9A-Za-z._:-]{0,63}")
# A list ends here: members are asked for all hits before a page, to merge them.
DEEPEST = 10_000


class Collections:
    """Several collections and Sightline servers, searched as one.

    Parameters
    ----------
    members : mapping or sequence
        Collections, or other members such as `sightline.web.remote.RemoteMember`; by the names
        that hits show, or named after their folders and addresses.

    Attributes
    ----------
    members : dict
        Members by name, in the order in which equal hits take turns.
    """

    def __init__(
        self, members: Mapping[str, Collection | Member] | Sequence[Collection | Member]
    ) -> None:
        if isinstance(members, Mapping):
            names, parts = list(members), list(members.values())
        else:
            parts = list(members)
            names = names_of([_as_member(m).label for m in parts])
        for name in names:
            if not NAME.fullmatch(name):
                raise UsageError(
                    f"{name!r} cannot name a collection of several. Use up to 64 letters, digits "
                    "and . _ : - as in: family"
                )
        if not parts:
            raise UsageError("Name at least one collection or server to search.")
        self.members: dict[str, Member] = {
            n: _as_member(m) for n, m in zip(names, parts, strict=True)
        }

    @classmethod
    def open(
        cls,
        *folders: str | bytes | os.PathLike[str],
        stores: Sequence[str | os.PathLike[str] | None] = (),
        **settings: settings_of.Value | None,
    ) -> Collections:
        """Open the collections in some folders; nothing is written.

        Parameters
        ----------
        *folders : str or path
            Where the pictures lie.
        stores : sequence of path, optional
            The store of each; by default each has its usual one.
        **settings : object
            Any setting of `sightline.settings.Settings`, for all of them.
        """
        if stores and len(stores) != len(folders):
            raise UsageError(
                f"Name one store for each collection, or none. Got {len(stores)} for "
                f"{len(folders)} collections."
            )
        places = stores or (None,) * len(folders)
        pairs = zip(folders, places, strict=True)
        return cls([Collection.open(f, s, **settings) for f, s in pairs])

    def __repr__(self) -> str:
        return f"Collections({list(self.members)})"

    def __len__(self) -> int:
        """Return the number of pictures of all members; raise if one does not answer."""
        sizes = self._ask(lambda m: m.size())
        for name, size in sizes.items():
            if isinstance(size, Failure):
                raise CollectionError(f"{name} cannot be counted: {problem_of(size)}")
        return sum(n for n in sizes.values() if isinstance(n, int))

    def __bool__(self) -> bool:
        return True

    def sizes(self) -> dict[str, int | str]:
        """Return the number of pictures of each member, or why it does not answer."""
        sizes = self._ask(lambda m: m.size())
        return {n: problem_of(s) if isinstance(s, Failure) else s for n, s in sizes.items()}

    def search(
        self,
        query: str,
        k: int = 20,
        *,
        offset: int = 0,
        filters: Filters = NO_FILTERS,
        cut: bool = True,
        predicted: bool = True,
        verbatim: bool = False,
    ) -> FederatedResults:
        """Find pictures by words in all members.

        Parameters
        ----------
        query : str
            Words in the grammar of `Collection.search`.
        k : int
            How many hits to return.
        offset : int
            The rank to begin at.
        filters : Filters
            Which pictures may appear; a folder is one of the members that have it.
        cut, predicted, verbatim : bool
            As of `Collection.search`.
        """
        parsed = parse_words(query)
        if parsed.pictures:
            raise UsageError("Several collections are searched by words, or by a picture alone.")
        parsed = parsed.as_typed() if verbatim else parsed
        request = WordRequest(parsed, filters, cut, predicted)
        return self._merged(_WordSearch(self, request).hits, k, offset)

    def similar(
        self,
        picture: str | bytes | os.PathLike[str] | Sequence[float] | NDArray[np.floating],
        k: int = 20,
        *,
        feature: str = "",
        offset: int = 0,
        filters: Filters = NO_FILTERS,
        compute: Compute | None = None,
    ) -> FederatedResults:
        """Find pictures that are similar to a picture file, or to a vector, by one feature.

        Similarities of trained models do not compare between collections; the cosine of one
        feature does, where its fingerprint is the same.

        Parameters
        ----------
        picture : path or sequence of float
            A picture file, or a vector of `feature`.
        feature : str, optional
            The feature; by default the one that most members have.
        compute : Compute, optional
            Where a picture file is described.
        """
        features = self._ask(lambda m: m.features())
        fingerprint = _shared_feature(features, feature)
        if isinstance(picture, str | bytes | os.PathLike):
            vector = self._described(os.fsencode(picture), fingerprint, features, compute)
        else:
            if not feature:
                raise UsageError("Name the feature that the vector is of, such as: deep")
            vector = unit_vector(picture, fingerprint)
        request = VectorRequest(fingerprint, vector, filters)
        return self._merged(lambda depth: self._ask(lambda m: m.nearest(request, depth)), k, offset)

    def _described(
        self,
        file: bytes,
        fingerprint: str,
        features: Mapping[str, tuple[str, ...] | Failure],
        compute: Compute | None,
    ) -> Floats:
        """Return the unit vector of a file, computed for the first collection that can."""
        for name, member in self.members.items():
            some = features[name]
            described = isinstance(some, tuple) and fingerprint in some
            if isinstance(member, LocalMember) and described:
                return member.vector_of(file, fingerprint, compute)
        raise UsageError("A picture file is described here: name a collection on this machine too.")

    def _merged(
        self, ask: Callable[[int], dict[str, MemberHits | Failure]], k: int, offset: int
    ) -> FederatedResults:
        """Return the hits of some ranks; pictures that several members have make it read on."""
        if k < 1:
            raise ParameterError.of("k", "search", "at least 1", k)
        if not 0 <= offset < DEEPEST:
            raise ParameterError.of("offset", "search", f"at least 0 and below {DEEPEST}", offset)
        end = depth = min(offset + k, DEEPEST)
        while True:
            answers = ask(depth + 1)
            parts = {n: a for n, a in answers.items() if isinstance(a, MemberHits)}
            if not parts:
                raise _no_answer(answers)
            ranked = merge([_named(n, a) for n, a in parts.items()])
            if len(ranked) > end or all(a.complete for a in parts.values()) or depth >= DEEPEST:
                break
            depth = min(2 * depth, DEEPEST)
        reports = tuple(_report(name, answer) for name, answer in answers.items())
        more = len(ranked) > end and end < DEEPEST
        return FederatedResults(tuple(ranked[offset:end]), reports, more)

    def _ask(
        self, ask: Callable[[Member], T], only: Sequence[str] | None = None
    ) -> dict[str, T | Failure]:
        """Return the answer of each member by name, or its error.

        Members on other machines are asked at the same time, each in a thread of its own that is
        abandoned when its time is over; those on this machine after one another meanwhile.
        """
        some = {n: m for n, m in self.members.items() if only is None or n in only}
        remote = {n: _Waiting(partial(ask, m), m.seconds) for n, m in some.items() if m.seconds}
        answers = {n: _attempt(partial(ask, m)) for n, m in some.items() if n not in remote}
        answers |= {n: waiting.answer() for n, waiting in remote.items()}
        return {n: answers[n] for n in some}


class _WordSearch:
    """A search by words, in which a word that one member has is corrected by none.

    A member corrects a word that none of its own pictures has. If another member has the word, it
    was not mistyped: the first is asked again for the word as it is typed.
    """

    def __init__(self, collections: Collections, request: WordRequest) -> None:
        self._collections, self._request = collections, request

    def hits(self, depth: int) -> dict[str, MemberHits | Failure]:
        """Return the first hits of each member."""
        request = self._request
        answers = self._collections._ask(lambda m: m.search(request, depth))
        parts = {n: a for n, a in answers.items() if isinstance(a, MemberHits)}
        typed = {c.typed for a in parts.values() for c in a.corrections}
        known = frozenset(w for w in typed if any(_knows(a, w) for a in parts.values()))
        again = [n for n, a in parts.items() if known & {c.typed for c in a.corrections}]
        if again:
            request = replace(request, verbatim=known)
            answers |= self._collections._ask(lambda m: m.search(request, depth), again)
        return answers


def _knows(answer: MemberHits, word: str) -> bool:
    return word not in answer.unknown and word not in {c.typed for c in answer.corrections}


class _Waiting(Generic[T]):
    """A call in a thread of its own, for whose answer somebody waits a limited time."""

    def __init__(self, call: Callable[[], T], seconds: float | None) -> None:
        self._call, self._seconds = call, seconds
        self._answer: T | Failure | None = None
        self._bug: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answer = _attempt(self._call)
        except Exception as e:
            self._bug = e

    def answer(self) -> T | Failure:
        """Return the answer, or why there is none."""
        self._thread.join(self._seconds)
        if self._bug is not None:
            raise self._bug
        if self._answer is None:
            return CollectionError(f"There was no answer within {self._seconds:g} seconds.")
        return self._answer


def _attempt(call: Callable[[], T]) -> T | Failure:
    """Return the answer of a member, or why there is none; other errors are bugs and raised."""
    try:
        return call()
    except (SightlineError, OSError) as e:
        return e


def _as_member(part: Collection | Member) -> Member:
    return LocalMember(part) if isinstance(part, Collection) else part


def names_of(labels: Sequence[str]) -> list[str]:
    """Return a short name for each folder or address, each different.

    >>> names_of(["/data/family", "/data/trips/2024", "/old/trips/2024", "/old/family", "pc:8421"])
    ['data-family', 'data-trips-2024', 'old-trips-2024', 'old-family', 'pc:8421']
    >>> names_of(["/a/pictures", "/a/pictures", "/"])
    ['pictures', 'pictures-2', 'collection']
    """
    parts = [[p for p in PurePath(label).parts if p != "/"] or ["collection"] for label in labels]
    names = []
    for own in parts:
        others = [p for p in parts if p != own]
        depth = 1
        while depth < len(own) and any(p[-depth:] == own[-depth:] for p in others):
            depth += 1
        name = re.sub(r"[^0-9A-Za-z._:-]", "-", "-".join(own[-depth:]))[-60:].lstrip(".:-")
        name = name or "collection"
        numbered = (f"{name}-{n}" for n in count(2))
        names.append(name if name not in names else next(n for n in numbered if n not in names))
    return names


def _named(name: str, answer: MemberHits) -> list[FederatedHit]:
    """Return the hits of a member under its name."""
    pairs = zip(answer.hits, answer.contents, strict=True)
    return [FederatedHit(name, h, (), content, answer.server) for h, content in pairs]


def _report(name: str, answer: MemberHits | Failure) -> MemberReport:
    if isinstance(answer, Failure):
        return MemberReport(name, problem=problem_of(answer))
    return MemberReport(name, answer.version, remarks=answer.remarks)


def _no_answer(answers: Mapping[str, object]) -> SightlineError:
    """Return the error if no member answers: that of the only one, or one that names them all."""
    failures = {n: e for n, e in answers.items() if isinstance(e, Failure)}
    if len(failures) == 1:
        ((name, only),) = failures.items()
        return CollectionError(f"{name} does not answer: {problem_of(only)}")
    each = "; ".join(f"{n}: {problem_of(e)}" for n, e in failures.items())
    return CollectionError(f"None of {len(failures)} collections answers. {each}")


def _shared_feature(features: Mapping[str, tuple[str, ...] | Failure], name: str) -> str:
    """Return the fingerprint that most members have, of a feature if one is named."""
    have = Counter(f for some in features.values() if not isinstance(some, Failure) for f in some)
    if not have:
        failed = {n: e for n, e in features.items() if isinstance(e, Failure)}
        if len(failed) == len(features):
            raise _no_answer(failed)
        raise NoFeatures(
            "No collection has a feature to compare pictures by. Run: sightline index "
            f"--features {quick_feature()}"
        )
    by_name = {f: Fingerprint.parse(f).name for f in have}
    options = [f for f in have if name in ("", by_name[f])]
    if not options:
        raise UsageError(
            f"No collection has the feature {name!r} (they have: "
            f"{', '.join(sorted(set(by_name.values())))})."
        )
    return min(options, key=lambda f: (-have[f], by_name[f] != quick_feature(), f))
