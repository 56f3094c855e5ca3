"""Annotation: all learned words, ranked for one picture.

The score of a word is the probability p that the picture fits it, as in a search for that word. Its
lift is p / b, where b is its base rate, the share of pictures with words that have it. Words are
ranked by p log(p / b), what they add to what is known of any picture: a frequent word that is no
more likely here than elsewhere comes late, and so does a rare one that is only a little likely. The
word `fits` if a search for it would return the picture. The picture need not be in the collection.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline._typing import Doubles
from sightline.collection.extraction import Extractor
from sightline.collection.models.dataset import View
from sightline.collection.models.online import load_updated_model
from sightline.collection.models.text_model import TextModel
from sightline.collection.models.word_model import WordModel
from sightline.collection.similarity.descriptors import (
    DescribedPictures,
    lengths_of,
    stored,
)
from sightline.collection.similarity.query import QueryPicture, find
from sightline.contracts import Compute, Json
from sightline.errors import CollectionError, NoModel
from sightline.records import shown
from sightline.settings import Settings
from sightline.store.folder import Reader
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint

if TYPE_CHECKING:
    from sightline.collection.pictures import PictureLike


@dataclass(frozen=True, slots=True)
class WordScore:
    """A word of a picture.

    Attributes
    ----------
    score : float
        Its probability.
    fits : bool
        Whether that is above its cut-off.
    tagged : bool
        Whether the picture has it as a tag.
    lift : float
        How many times as likely it is as on any picture with words.
    proven : bool
        Whether enough held-out pictures measure it; otherwise people are shown no probability.
    """

    word: str
    score: float
    fits: bool
    tagged: bool
    lift: float = 1.0
    proven: bool = True

    def to_dict(self) -> dict[str, Json]:
        """Return the word as JSON; `carried` is the earlier name of `tagged`."""
        return {
            "word": self.word, "score": self.score, "fits": self.fits, "tagged": self.tagged,
            "carried": self.tagged, "lift": self.lift, "proven": self.proven,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Annotation:
    """The words of a picture, most informative first, and its id if it is in the collection."""

    picture: int | None
    words: tuple[WordScore, ...]
    version: int


def require_model(reader: Reader) -> WordModel:
    """Return the word model in use; raise if there is none."""
    model = load_updated_model(reader)
    if model is None:
        raise NoModel("There is no word model yet. Run: sightline train")
    return model


def describe(
    reader: Reader,
    root: bytes,
    picture: PictureLike,
    k: int,
    settings: Settings,
    compute: Compute | None = None,
) -> Annotation:
    """Rank the learned words for a picture; see `Collection.describe`."""
    model = require_model(reader)
    query_picture = find(reader, root, picture)
    views = views_of(reader, model, query_picture, settings, compute)
    ids = np.array([query_picture.picture or 0], np.int64)
    rows = model.numbers(views, np.arange(len(model.terms)), ids)[0]
    likely = model.combination.word_probabilities(rows, np.arange(len(rows)))
    lift = likely / base_rates(reader.snapshot, model)
    best = np.argsort(-informativeness(likely, lift), kind="stable")[:k]
    tags = np.array(sorted(_tags_of(reader, query_picture)), np.int64)
    tagged = set(model.aliases.names_of(tags).tolist())
    spelled, unproven = dict(reader.catalogue.terms()), set(model.unproven.tolist())
    words = [
        WordScore(
            spelled.get(int(model.terms[w]), "?"),
            round(float(likely[w]), 6),
            _fits(reader, model, int(w), float(rows[w])),
            int(model.terms[w]) in tagged,
            round(float(lift[w]), 3),
            int(model.terms[w]) not in unproven,
        )
        for w in best
    ]
    return Annotation(query_picture.picture, tuple(words), reader.snapshot.version)


def base_rates(snapshot: Snapshot, model: WordModel) -> Doubles:
    """Return the share of pictures with words that have each learned word, at least one of them.

    A word is on the pictures that it was learned from, and at least on those of each of its forms.
    Counts of forms cannot be added, since words that always occur together are one column.
    """
    n_pictures, forms = snapshot.n_pictures(model.terms), model.aliases
    at = np.searchsorted(model.terms, forms.names)
    np.maximum.at(n_pictures, at, snapshot.n_pictures(forms.terms))
    n_tagged = max(len(snapshot.with_words()), 1)
    return np.clip(np.maximum(n_pictures, model.counts), 1, n_tagged) / n_tagged


def informativeness(likely: Doubles, lift: Doubles) -> Doubles:
    """Return p log(p / b) of each word, by which words are ranked.

    A word of probability .9 and base rate .05 comes before one of .95 and .6, and that before one
    of .02 and .001.

    >>> p, b = np.array([0.95, 0.9, 0.02]), np.array([0.6, 0.05, 0.001])
    >>> informativeness(p, p / b).round(2).tolist()
    [0.44, 2.6, 0.06]
    """
    return likely * np.log(np.maximum(lift, 1e-12))


def _fits(reader: Reader, model: WordModel, word: int, row: float) -> bool:
    """Return whether a search for the word would return a picture with this score."""
    terms = model.terms[word : word + 1]
    query = model.query(terms, [1.0])
    forms = np.concatenate(query.groups)
    tagged = reader.snapshot.tagged_with(forms.tolist(), every=False)
    best = reader.snapshot.top(query, 1, None, model.more, tagged).scores
    if not len(best):
        return True
    return bool(row * float(query.weights[0]) >= model.least(query, float(best[0])))


def _tags_of(reader: Reader, picture: QueryPicture) -> set[int]:
    if picture.picture is None:
        return set()
    ids = np.array([picture.picture], np.int64)
    segments = reader.snapshot.segments
    rows = (s.words(row).tolist() for s in segments for row in s.rows_of(ids).tolist())
    return {term for terms in rows for term in terms}


def views_of(
    reader: Reader,
    model: WordModel | TextModel,
    named: QueryPicture,
    s: Settings,
    compute: Compute | None,
) -> dict[str, View]:
    """Return the picture's rows of every feature of the model; missing ones are computed."""
    features = model.features
    lengths = lengths_of(reader.snapshot, features)
    described: DescribedPictures | None = None
    if named.picture is not None:
        described = stored(reader.snapshot, np.array([named.picture], np.int64), features, lengths)
    if described is None or not described.have.all():
        described = _computed(reader, features, lengths, named.file, s, compute)
    lacking = [f for f, has in zip(features, described.have[0], strict=True) if not has]
    if lacking:
        name = Fingerprint.parse(lacking[0]).name
        raise CollectionError(
            f"{shown(named.file)} has no feature {name!r}, which the model needs, and it "
            "cannot be computed here. Run: sightline index"
        )
    return dict(zip(features, described.views, strict=True))


def _computed(
    reader: Reader,
    features: tuple[str, ...],
    lengths: tuple[int, ...],
    file: bytes,
    s: Settings,
    compute: Compute | None,
) -> DescribedPictures:
    if not os.path.exists(file):
        raise CollectionError(f"The file {shown(file)} is not there. Is its disk mounted?")
    with Extractor(s, compute) as extractor:
        return extractor.describe(reader, [file], features, lengths)
