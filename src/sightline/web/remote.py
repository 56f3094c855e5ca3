"""Another Sightline server as a member of a federation.

What the server sends is untrusted: it is limited in size and time, every field is checked, texts
lose what cannot be printed, and a list that is not in the order of the merge is rejected as a
whole. Links of the server are not used. A thumbnail is passed on only if it is a WebP or JPEG file
of a limited size; originals stay on the server.
"""

from __future__ import annotations

import datetime
import http.client
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from sightline.collection.corrections import Correction
from sightline.collection.filters import Filters
from sightline.errors import CollectionError, SightlineError, UsageError
from sightline.federation.members import MemberHits, VectorRequest, WordRequest
from sightline.federation.merge import is_ordered
from sightline.pictures.thumbnails import media_type
from sightline.records import Hit, MatchKind
from sightline.web.client import Client, ServiceError
from sightline.web.limits import MOST, PAGE

# For how many times its limit a silent server is left alone.
_PAUSE = 3
# Seconds for an answer, and bytes of a page of hits and of a thumbnail.
SECONDS = 10.0
_ANSWER_BYTES, _THUMBNAIL_BYTES = 4_000_000, 1_000_000
# Characters of a path, a word, and a remark; how many of each are kept.
_PATH, _WORD, _REMARK, _LISTED = 4_096, 200, 300, 64
# No score is larger.
_MOST_SCORE = 1e9
_SIMILAR = frozenset({"similar"})
_BY_WORDS = frozenset(get_args(MatchKind)) - _SIMILAR
# A cosine, rounded.
_COSINE = 1.001
# How many pages are read beyond those that a list without gaps has.
_PAGES = 3


class RemoteMember:
    """A server that `sightline serve` runs, asked for hits and thumbnails.

    Parameters
    ----------
    url, token : str
        Of the server.
    seconds : float, default=10.0
        How long one answer may take.
    """

    def __init__(self, url: str, token: str, seconds: float = SECONDS) -> None:
        self._client = Client(url, token, seconds, _ANSWER_BYTES)
        self._thumbnails = Client(url, token, seconds, _THUMBNAIL_BYTES)
        self.url = self._client.url
        self.seconds: float | None = seconds
        self._silent_until = 0.0
        self.label = urlsplit(url).netloc.rpartition("@")[2]

    def size(self) -> int:
        """Return the number of pictures."""
        return _number(self._asked("GET", "/v1/health"), "pictures")

    def search(self, request: WordRequest, depth: int) -> MemberHits:
        """Return the first hits for words; deep lists are read in pages."""
        hits, answer, unlikely = self._pages("/v1/search", _word_body(request), depth)
        return MemberHits(
            tuple(hits), ("",) * len(hits), _number(answer, "version"), answer.get("next") is None,
            _corrections(answer), tuple(_word(w) for w in _listed(answer, "unknown")),
            _remarks(answer, request.predicted, unlikely), self.url,
        )  # fmt: skip

    def features(self) -> tuple[str, ...]:
        """Return the fingerprints of dense features that nearly all pictures have."""
        names = _listed(self._asked("GET", "/v1/search/vector"), "features")
        return tuple(_plain_word(n) for n in names)

    def nearest(self, request: VectorRequest, depth: int) -> MemberHits:
        """Return the pictures with the largest cosine."""
        body = {"feature": request.feature, "vector": request.vector.tolist()}
        body |= _filters(request.filters)
        hits, answer, _ = self._pages("/v1/search/vector", body, depth, _SIMILAR)
        if any(abs(h.score) > _COSINE for h in hits):
            raise _unreadable("a cosine is larger than 1")
        complete, version = answer.get("next") is None, _number(answer, "version")
        lines = tuple(_said(answer))
        return MemberHits(
            tuple(hits), ("",) * len(hits), version, complete, remarks=lines, server=self.url
        )

    def _pages(
        self, path: str, body: Mapping[str, object], depth: int, matches: frozenset[str] = _BY_WORDS
    ) -> tuple[list[Hit], Mapping[str, Any], int]:
        """Return the first hits, the last page, and how many predictions have no probability."""
        hits: list[Hit] = []
        versions: set[int] = set()
        reached = unlikely = 0
        # Pages may have gaps, where files are gone, but not without end.
        for _ in range(_PAGES + depth // PAGE):
            k = min(depth - len(hits), PAGE)
            answer = self._asked("POST", path, {**body, "k": k, "offset": reached})
            page, left_out = _hits_of(answer, k, matches)
            versions.add(_number(answer, "version"))
            hits, unlikely, reached = [*hits, *page], unlikely + left_out, reached + k
            if answer.get("next") is None or len(hits) >= depth:
                break
        else:
            raise CollectionError(f"Only {len(hits)} of its first {reached} pictures have a file.")
        if len(versions) > 1:
            raise CollectionError("The server published a new version meanwhile. Search again.")
        if not is_ordered(hits):
            raise CollectionError("The server's hits are not in the order of a search.")
        return hits, answer, unlikely

    def thumbnail(self, picture: int) -> bytes:
        """Return the thumbnail of a picture, if it is one."""
        data = self._try(lambda: self._thumbnails.thumbnail(picture))
        if not media_type(data):
            raise CollectionError(f"What the server sent for picture {picture} is no thumbnail.")
        return bytes(data)

    def _asked(self, method: str, path: str, body: object = None) -> Mapping[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        raw = self._try(lambda: self._client.ask(method, path, data, "application/json")[1])
        try:
            answer = json.loads(raw, parse_constant=_no_number)
        except (ValueError, RecursionError) as e:
            raise _unreadable("it is not JSON") from e
        if not isinstance(answer, dict):
            raise _unreadable("it is not an object")
        if "collections" in answer:
            raise CollectionError(
                "The server itself searches several collections. Name the servers behind it."
            )
        return answer

    def _try(self, ask: Any) -> Any:
        """Return what a request returns; its errors are in words that may be printed.

        A server that was silent is not asked for a while, so that those who ask often, such as a
        page of thumbnails, do not wait each time.
        """
        if time.monotonic() < self._silent_until:
            raise CollectionError("It was silent a moment ago, and is asked again soon.")
        try:
            return ask()
        except ServiceError as e:
            raise CollectionError(_printable(str(e), _REMARK)) from None
        except TimeoutError:
            self._silent_until = time.monotonic() + _PAUSE * (self.seconds or 0)
            raise CollectionError(f"There was no answer within {self.seconds:g} seconds.") from None
        except OSError as e:
            raise CollectionError(f"It cannot be reached: {e.strerror or e}.") from None
        except (http.client.HTTPException, ValueError) as e:
            raise CollectionError(f"Its answer broke off or is none ({type(e).__name__}).") from e


def token_of(file: Path) -> str:
    """Return the token of a server that a file holds."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"The token in {file} cannot be read: {e}") from e
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise UsageError(f"{file} holds no token. Write the one that `sightline serve` printed.")
    return token


def _word_body(request: WordRequest) -> dict[str, object]:
    return {
        "query": request.text, "cut": request.cut, "predicted": request.predicted,
        **_filters(request.filters),
    }  # fmt: skip


def _filters(chosen: Filters) -> dict[str, object]:
    """Return filters as the fields of a request."""
    filters = {n: v for n, v in asdict(chosen).items() if v is not None}
    if "folder" in filters:
        raise CollectionError("A server cannot be searched by a folder of its collection.")
    words = {n: filters.pop(n) for n in ("tagged", "untagged")}
    for name in ("after", "before"):
        if isinstance(filters.get(name), int):
            filters[name] = _date(filters[name])
    return {**words, "filters": filters}


def _date(value: int) -> str:
    """Return a filter as the service takes it: seconds since 1970 as a date."""
    moment = datetime.datetime.fromtimestamp(value, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _hits_of(
    answer: Mapping[str, Any], most: int, matches: frozenset[str]
) -> tuple[list[Hit], int]:
    """Return the hits that can be merged, and how many predictions have no probability."""
    rows = _listed(answer, "hits", most)
    hits = [_hit(r, matches) for r in rows]
    likely = [h for h in hits if _compares(h)]
    return likely, len(hits) - len(likely)


def _compares(hit: Hit) -> bool:
    """Say whether it is known where a hit belongs."""
    predicted = hit.match in ("predicted", "suggested")
    return not predicted or not hit.proven or hit.probability is not None


def _hit(row: object, matches: frozenset[str]) -> Hit:
    if not isinstance(row, dict):
        raise _unreadable("a hit is not an object")
    match, probability = row.get("match"), row.get("probability")
    if not isinstance(match, str) or match not in matches:
        raise _unreadable("a hit has no known kind of match")
    if probability is not None and not 0 <= _real(probability, "probability") <= 1:
        raise _unreadable("a probability is not between 0 and 1")
    picture = row.get("id")
    if type(picture) is not int or not 1 <= picture <= MOST:
        raise _unreadable("a hit has no id")
    path = row.get("path")
    if not isinstance(path, str):
        raise _unreadable("a hit has no path")
    proven = row.get("proven", True)
    if not isinstance(proven, bool):
        raise _unreadable("a hit does not say whether it is proven")
    return Hit(
        picture, os.fsencode(_printable(path, _PATH)), _real(row.get("score"), "score"),
        cast(MatchKind, match), probability=None if probability is None else float(probability),
        proven=proven,
    )  # fmt: skip


def _corrections(answer: Mapping[str, Any]) -> tuple[Correction, ...]:
    rows = _listed(answer, "corrections")
    pairs = [(_word(r, "typed"), _listed(r, "searched")) for r in rows]
    return tuple(Correction(t, tuple(_plain_word(w) for w in words)) for t, words in pairs)


def _remarks(answer: Mapping[str, Any], predicted: bool, unlikely: int) -> tuple[str, ...]:
    lines = [str(c) for c in _corrections(answer)]
    lines += [f"no picture has the word {_word(w)!r}" for w in _listed(answer, "unknown")]
    if predicted and answer.get("predicted") is None:
        lines.append("there is no word model yet, so nothing is predicted")
    lines += [f"not learned: {_word(w)}" for w in _listed(answer, "not_learned")]
    lines += _said(answer)
    if unlikely:
        lines.append(
            f"{unlikely} predictions without a probability were left out, since nothing says "
            "where they belong; the server is of an older Sightline"
        )
    return tuple(lines)


def _said(answer: Mapping[str, Any]) -> list[str]:
    return [_printable(r, _REMARK) for r in _listed(answer, "said") if isinstance(r, str)]


def _listed(answer: object, name: str, most: int = _LISTED) -> Sequence[Any]:
    rows = answer.get(name, []) if isinstance(answer, dict) else None
    if not isinstance(rows, list) or (most != _LISTED and len(rows) > most):
        raise _unreadable(f"{name} is no list, or longer than was asked for")
    return rows[:most]


def _word(row: object, name: str = "word") -> str:
    return _plain_word(row.get(name) if isinstance(row, dict) else None)


def _plain_word(word: object) -> str:
    if not isinstance(word, str):
        raise _unreadable("a word is not a text")
    return _printable(word, _WORD)


def _number(answer: Mapping[str, Any], name: str) -> int:
    value = answer.get(name)
    if type(value) is not int or not 0 <= value <= MOST:
        raise _unreadable(f"{name} is no number")
    return value


def _real(value: object, name: str) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not -_MOST_SCORE <= cast(float, value) <= _MOST_SCORE:
        raise _unreadable(f"{name} is no number")
    return float(cast(float, value))


def _no_number(name: str) -> float:
    raise ValueError(name)


def _printable(text: str, most: int) -> str:
    r"""Return a text of a server as it may be shown, without what cannot be printed.

    >>> _printable("a\x1b[31m\u202eb", 10)
    'a\ufffd[31m\ufffdb'
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:most])


def _unreadable(why: str) -> SightlineError:
    return CollectionError(f"Its answer cannot be used: {why}.")
