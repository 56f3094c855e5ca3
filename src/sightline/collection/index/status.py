"""What a collection has: counts, models in use, and features that pictures have or could get."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sightline import plugins
from sightline.collection.models.text_model import describe_text_model, load_text_model
from sightline.collection.models.word_model import describe_model, load_word_model
from sightline.collection.search.starting_words import suggesting_feature
from sightline.collection.similarity.model import describe_similarity_model, load_similarity_model
from sightline.collection.tagging.model import describe_region_tagger
from sightline.compute.features import is_fitted, load_feature
from sightline.contracts import Json
from sightline.errors import SightlineError
from sightline.store.folder import Reader, StoreFolder
from sightline.store.snapshot import Snapshot
from sightline.vectors import Fingerprint


@dataclass(frozen=True, slots=True)
class Status:
    """Counts of a collection; four describe the models in use, empty without one.

    `starting_words` says whether a network answers nouns that no model has learned.
    """

    pictures: int
    with_words: int
    skipped: int
    version: int
    words: int
    word_model: str = ""
    similarity_model: str = ""
    region_model: str = ""
    text_model: str = ""
    starting_words: bool = False


def status(store_folder: StoreFolder) -> Status:
    """Return how many pictures, words and skipped files there are, and the models in use."""
    with store_folder.reader() as reader:
        snapshot = reader.snapshot
        _, with_words, skipped = reader.catalogue.counts()
        terms, _ = snapshot.vocabulary()
        models = (
            describe_model(store_folder, snapshot.model) if snapshot.model else "",
            describe_similarity_model(store_folder, snapshot.similar) if snapshot.similar else "",
            describe_region_tagger(store_folder, snapshot.regions) if snapshot.regions else "",
            describe_text_model(store_folder, snapshot.text),
        )
        counts = len(snapshot.ids()), with_words, skipped, snapshot.version, len(terms)
        return Status(*counts, *models, starting_words=_suggests(reader))


def _suggests(reader: Reader) -> bool:
    if not reader.store_folder.starting_words or not reader.snapshot.segments:
        return False
    return suggesting_feature(reader)[0] is not None


@dataclass(frozen=True, slots=True)
class FeatureState:
    """One feature: whether it can be computed, and how many pictures have it.

    `length` is 0 for one that is fitted to a collection and has not been; `problem` says why it
    cannot be computed here; `fingerprint` is that of the rows in the store, if there are any.
    """

    name: str
    length: int
    fitted: bool
    problem: str = ""
    fingerprint: str = ""
    pictures: int = 0
    used: bool = False

    def to_dict(self) -> dict[str, Json]:
        """Return the feature as JSON."""
        return asdict(self)


def feature_states(store_folder: StoreFolder | None) -> list[FeatureState]:
    """Return all features by name: built-in ones, plugins' and imported ones."""
    rows: dict[str, tuple[str, int, int]] = {}
    used: set[str] = set()
    if store_folder is not None and store_folder.exists():
        with store_folder.reader() as reader:
            rows = _stored(reader.snapshot)
            word_model = load_word_model(store_folder, reader.snapshot.model)
            used = set(word_model.features) if word_model else set()
            similarity_model = load_similarity_model(store_folder, reader.snapshot.similar)
            used |= set(similarity_model.descriptors) if similarity_model else set()
            text_model = load_text_model(store_folder, reader.snapshot.text)
            used |= set(text_model.features) if text_model else set()
    known = plugins.names("features")
    return [
        _state(name, known.get(name), rows.get(name), used)
        for name in sorted(known.keys() | rows.keys())
    ]


def _stored(snapshot: Snapshot) -> dict[str, tuple[str, int, int]]:
    """Return fingerprint, length and number of pictures of each feature in the store."""
    stored: dict[str, tuple[str, int, int]] = {}
    for s in snapshot.segments:
        for f, matrix in s.features.items():
            name = Fingerprint.parse(f).name
            n = int(s.alive().sum()) + stored.get(name, ("", 0, 0))[2]
            stored[name] = (f, matrix.shape[1], n)
    return stored


def _state(
    name: str, place: str | None, stored: tuple[str, int, int] | None, used: set[str]
) -> FeatureState:
    fingerprint, length, n = stored or ("", 0, 0)
    fitted, problem = False, ""
    if place is not None:
        try:
            fitted = is_fitted(place)
            if not fitted:
                length = load_feature(place).length
        except (SightlineError, ImportError, AttributeError) as e:
            problem = str(e)
    return FeatureState(name, length, fitted, problem, fingerprint, n, fingerprint in used)
