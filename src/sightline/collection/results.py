"""Answers: hits best first, and what there is to say about them.

Every ranking becomes hits here: ids and scores are looked up in the catalogue, and a picture whose
file is gone is left out and counted. A notebook shows them as thumbnails.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from sightline.collection.corrections import Correction
from sightline.collection.query import Constraint, NotLearned, Unproven, Wording
from sightline.collection.search.starting_words import StartingWords
from sightline.contracts import Json
from sightline.errors import MissingExtra, SightlineError
from sightline.records import Hit, MatchKind

if TYPE_CHECKING:
    import pandas

    from sightline.store.catalogue import Facts
    from sightline.store.folder import Reader, StoreFolder

__all__ = ["Hit", "MatchKind", "ResultPart", "Results", "UnknownWord", "best_hits", "hits_of"]

# A notebook keeps the thumbnails that it shows; of more hits than these it only gets the number.
MOST_SHOWN = 24
_THUMBNAIL_PIXELS = 160


@dataclass(frozen=True, slots=True)
class UnknownWord:
    """A word no picture has, and words near it that some do."""

    word: str
    near: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultPart:
    """Which part of a whole list the hits of an answer are.

    Attributes
    ----------
    reached : int
        The rank at which the next part begins, whether or not all files of this one are there.
    more : bool
        Whether the list goes on there.
    total : int or None
        How many pictures the whole list has; None unless they were counted.
    within : int or None
        How many of them have every word or lie above the cut-off: the first ones, with and without
        a cut; None unless counted, and where nothing is predicted.
    """

    reached: int
    more: bool
    total: int | None = None
    within: int | None = None


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """Which kind of model ranked pictures for a text, and why.

    Attributes
    ----------
    model : {"text", "words"}
        The kind of model.
    why : {"", "no text model", "no word learned", "better"}
        Why it was this one: there was no text model; the other learned no word of the text; or it
        ranked pictures better for held-out texts. Empty for the text model as usual.
    avgp_of_text, avgp_of_words : float or None
        Mean AvgP of pictures for held-out texts by either, where that decided.
    """

    model: Literal["text", "words"]
    why: Literal["", "no text model", "no word learned", "better"] = ""
    avgp_of_text: float | None = None
    avgp_of_words: float | None = None

    @property
    def title(self) -> str:
        """The name of the kind of model, in messages."""
        return "text model" if self.model == "text" else "word model"

    def __str__(self) -> str:
        by = f"Answered by the {self.title}"
        if self.why == "no text model":
            return f"{by}, since there is no text model. To train one: sightline train text"
        if self.why == "no word learned":
            other = "word model" if self.model == "text" else "text model"
            return f"{by}: the {other} has learned no word of the text."
        if self.why == "better" and self.avgp_of_text is not None:
            figures = f"AvgP {self.avgp_of_words:.3f}, the text model {self.avgp_of_text:.3f}"
            return f"{by}, which ranks pictures better for held-out texts ({figures})."
        return f"{by}."

    def to_dict(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {"model": self.model, "why": self.why, "remark": str(self)}


@dataclass(frozen=True, slots=True)
class Results:
    """The answer to a search: hits, best first, and what there is to say about them.

    Attributes
    ----------
    not_learned : tuple of NotLearned
        Words that the model has not learned, so that nothing is predicted by them; pictures that
        have them match as ever. Empty where no model was asked.
    predicted : bool or None
        Whether there is a predicted part; false if the model has learned none of the words that
        pictures have, None where no model was asked.
    constraints : tuple of Constraint
        Words with a plus or a minus, and whether tags alone or predictions too decided on them.
    corrections : tuple of Correction
        Words that were searched in place of mistyped ones.
    wording : Wording
        Stop words that were left out, and words that were taken as they are written.
    unproven : tuple of Unproven
        Words that predict and are not yet proven: hits by them show no probability.
    suggested : StartingWords
        Words that no model has learned and a network answers; hits by them have the match
        "suggested".
    served : str
        Why another engine answered than was asked to; mostly it is empty.
    store_folder : StoreFolder or None
        The store, from which a notebook shows thumbnails.
    text_answer : TextAnswer or None
        Of a whole text: which kind of model answered, and why.
    """

    hits: tuple[Hit, ...]
    unknown: tuple[UnknownWord, ...]
    version: int
    missing: int = 0
    part: ResultPart | None = field(default=None, kw_only=True)
    served: str = field(default="", kw_only=True)
    not_learned: tuple[NotLearned, ...] = field(default=(), kw_only=True)
    predicted: bool | None = field(default=None, kw_only=True)
    constraints: tuple[Constraint, ...] = field(default=(), kw_only=True)
    corrections: tuple[Correction, ...] = field(default=(), kw_only=True)
    wording: Wording = field(default_factory=Wording, kw_only=True)
    unproven: tuple[Unproven, ...] = field(default=(), kw_only=True)
    suggested: StartingWords = field(default_factory=StartingWords, kw_only=True)
    store_folder: StoreFolder | None = field(default=None, kw_only=True, repr=False, compare=False)
    text_answer: TextAnswer | None = field(default=None, kw_only=True)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def to_dict(self, root: bytes = b"") -> dict[str, Json]:
        """Return the answer as JSON; paths of hits lie below `root`."""
        return {
            "version": self.version, "hits": [dict[str, Json](h.to_dict(root)) for h in self.hits],
            "unknown": [{"word": u.word, "near": list[Json](u.near)} for u in self.unknown],
            "not_learned": [w.to_dict() for w in self.not_learned], "predicted": self.predicted,
            "constraints": [c.to_dict() for c in self.constraints],
            "corrections": [c.to_dict() for c in self.corrections],
            "wording": self.wording.to_dict(), "served": self.served,
            "text_answer": None if self.text_answer is None else self.text_answer.to_dict(),
            "suggested": [w.to_dict() for w in self.suggested.words],
            "unproven": [w.to_dict() for w in self.unproven],
        }  # fmt: skip

    def to_dicts(self) -> list[dict[str, object]]:
        """Return a plain row for each hit: id, path, file, score, match and probability."""
        return [
            {
                "id": h.picture,
                "path": h.name,
                "file": str(h.file),
                "score": h.score,
                "match": h.match,
                "probability": h.probability,
            }
            for h in self.hits
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the hits as a table; needs pandas.

        Raises
        ------
        MissingExtra
            pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtra("to_pandas needs pandas. Run: pip install pandas") from None
        columns = ["id", "path", "file", "score", "match", "probability"]
        return pandas.DataFrame(self.to_dicts(), columns=columns)

    def _repr_html_(self) -> str:
        """Show thumbnails of the hits in a notebook."""
        return contact_table(self.hits, self.store_folder)


def hits_of(
    reader: Reader,
    root: bytes,
    ids: Sequence[int],
    scores: Sequence[float],
    match: MatchKind | Callable[[int], MatchKind],
    learned: bool = False,
    probabilities: Sequence[float] | None = None,
    proven: bool = True,
) -> tuple[list[Hit], int]:
    """Return pictures as hits, in the order given, and how many have no file any more."""
    facts = reader.catalogue.facts(ids)
    hits = []
    for i, (picture, score) in enumerate(zip(ids, scores, strict=True)):
        known = facts.get(picture)
        if known is not None and has_file(root, known):
            kind = match if isinstance(match, str) else match(picture)
            likely = None if probabilities is None else round(probabilities[i], 6)
            hits.append(
                Hit(picture, known.path, round(score, 6), kind, root, learned, likely, proven)
            )
    return hits, len(ids) - len(hits)


def best_hits(
    reader: Reader,
    root: bytes,
    ids: NDArray[np.int64],
    scores: NDArray[np.floating],
    k: int,
    match: MatchKind | Callable[[int], MatchKind],
    learned: bool = False,
) -> tuple[list[Hit], int]:
    """Return the first k pictures of a ranking that have a file, and how many before have none."""
    hits: list[Hit] = []
    missing = begin = 0
    while len(hits) < k and begin < len(ids):
        end = begin + k - len(hits)
        part = ids[begin:end].tolist(), scores[begin:end].tolist()
        more, lost = hits_of(reader, root, *part, match, learned)
        hits, missing, begin = [*hits, *more], missing + lost, end
    return hits, missing


def has_file(root: bytes, facts: Facts) -> bool:
    """Say whether the file of a picture is there, as a link at least."""
    return os.path.lexists(os.path.join(root, facts.path))


def in_order(reader: Reader, root: bytes, results: Results, ids: Iterable[int]) -> Results:
    """Return pictures as hits in the order given; one that was not ranked has the score 0."""
    by_id, order = {h.picture: h for h in results}, list(ids)
    rest = [p for p in order if p not in by_id]
    unranked, _ = hits_of(reader, root, rest, [0.0] * len(rest), "partial")
    by_id |= {h.picture: h for h in unranked}
    hits = tuple(by_id[p] for p in order if p in by_id)
    return replace(results, hits=hits, missing=len(order) - len(hits), part=None)


def contact_table(hits: Sequence[Hit], store_folder: StoreFolder | None) -> str:
    """Return a grid of thumbnails as HTML; names of files are escaped."""
    if not hits:
        return "<p>No hits.</p>"
    shown, rest = hits[:MOST_SHOWN], len(hits) - MOST_SHOWN
    cells = "".join(
        _cell(h, t) for h, t in zip(shown, _thumbnails(shown, store_folder), strict=True)
    )
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{cells}</div>{more}'


def _cell(hit: Hit, thumbnail: bytes) -> str:
    import base64
    import html

    from sightline.pictures.thumbnails import media_type

    name = html.escape(hit.name)
    data = base64.b64encode(thumbnail).decode("ascii")
    picture = "(no picture)"
    if data:
        source = f"data:{media_type(thumbnail)};base64,{data}"
        picture = f'<img src="{source}" alt="{name}" style="max-width:100%">'
    caption = f"<figcaption>{hit.label}<br>{name}</figcaption>"
    style = f"margin:0;width:{_THUMBNAIL_PIXELS}px;overflow-wrap:anywhere"
    return f'<figure style="{style}">{picture}{caption}</figure>'


def _thumbnails(hits: Sequence[Hit], store_folder: StoreFolder | None) -> list[bytes]:
    """Return the thumbnail of each hit; none where the picture has left the store since."""
    if store_folder is None:
        return [b""] * len(hits)
    with store_folder.reader() as reader:
        return [_thumbnail(reader, h.picture) for h in hits]


def _thumbnail(reader: Reader, picture: int) -> bytes:
    try:
        return reader.snapshot.thumbnail(picture)
    except SightlineError:
        return b""
