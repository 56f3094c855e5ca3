"""What a training needs of pictures: features that can be learned from, computed before it begins.

Computing features may take hours, and the index remembers which were requested. So the names are
checked first: they must be known, they must be vectors, and some named ranker must be able to use
one of them. Then the features that pictures lack are listed.
"""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sightline import plugins
from sightline.collection.features import common_features, is_sparse
from sightline.collection.index.options import default_features, quick_feature, split_names
from sightline.collection.index.starting import STARTING_FEATURE
from sightline.collection.index.vectors import remembered_vectors
from sightline.collection.models.dataset import tag_pairs
from sightline.collection.models.recipe import ranker_spec
from sightline.compute.features import feature_class
from sightline.errors import ParameterError, UsageError
from sightline.plugins import expanded
from sightline.registry import NO_VECTORS
from sightline.settings import Settings
from sightline.store.folder import StoreFolder
from sightline.vectors import Fingerprint

if TYPE_CHECKING:
    from sightline.collection.models.dataset import Dataset
    from sightline.collection.models.text_model import TextModel
    from sightline.collection.models.word_model import WordModel

FOR_WORDS, FOR_SIMILARITY = "word models", "the similarity of pictures"
# What similarity is learned from where pictures have no features and none is named.
_SIMILARITY_FEATURES = ["whole-all"]


def check_vectors(names: Iterable[str], purpose: str, instead: Sequence[str]) -> None:
    """Raise for features that hold no vector.

    Parameters
    ----------
    names : iterable of str
        Of features, and of sets of them.
    purpose : str
        What is to be learned.
    instead : sequence of str
        Features to name where nothing else is left.

    Examples
    --------
    >>> check_vectors(["color", "deep-all"], FOR_WORDS, ["classic"])
    >>> try:
    ...     check_vectors(["color", "regions"], FOR_WORDS, ["classic"])
    ... except UsageError as e:
    ...     print(str(e).partition(":")[0])
    The feature 'regions' cannot be used for word models
    """
    names_once = list(dict.fromkeys(names))
    wrong = [n for n in plugins.expanded(names_once) if n in NO_VECTORS]
    if not wrong:
        return
    left = ",".join(n for n in names_once if n not in wrong) or ",".join(instead)
    listed = " and ".join(repr(n) for n in wrong)
    if len(wrong) == 1:
        what, it = f"The feature {listed} cannot be used for {purpose}: it holds", "it"
    else:
        what, it = f"The features {listed} cannot be used for {purpose}: they hold", "them"
    raise UsageError(
        f"{what} the regions of a picture, not one vector for the whole. Leave {it} out: "
        f"--features {left}. To train the region model: sightline train regions"
    )


def check_known(names: Iterable[str], have: Names[str]) -> None:
    """Raise for features that no picture has and nothing can compute."""
    for name in plugins.expanded(names):
        if name not in have:
            plugins.place("features", name)


def check_rankers(
    rankers: Sequence[str], features: Sequence[str], have: Mapping[str, bool]
) -> None:
    """Raise if none of the rankers can learn from the features.

    Parameters
    ----------
    rankers : sequence of str
        Those that the user named; of the default ones some can always learn.
    features : sequence of str
        What they should learn from.
    have : mapping
        Features that pictures have, with whether each is counts.
    """
    counts = [n for n in plugins.expanded(features) if _is_counts(n, have)]
    reasons = []
    for ranker in rankers:
        spec = ranker_spec(ranker)
        if spec.counts and not counts:
            reasons.append(
                f"{ranker} learns from counts of visual words, which none of {', '.join(features)} "
                "has (use --features visterms)"
            )
        elif not spec.available:
            reasons.append(f"{ranker} needs {spec.requires} (pip install 'sightline[baselines]')")
        else:
            return
    if reasons:
        raise UsageError(f"No named ranker can learn from these features: {'; '.join(reasons)}.")


def _is_counts(name: str, have: Mapping[str, bool]) -> bool:
    if name in have:
        return have[name]
    return bool(getattr(feature_class(plugins.place("features", name)), "sparse", False))


@dataclass(frozen=True, slots=True)
class MissingFeatures:
    """Features to compute: those of `names`, besides what every index computes."""

    names: tuple[str, ...] = ()
    imported: frozenset[str] = frozenset()
    purpose: str = ""

    def to_index(self, settings: Settings, *, dry_run: bool) -> list[str]:
        """Return the features to index; empty if none is missing.

        Raises
        ------
        UsageError
            Some are missing, and a dry run computes none.
        """
        if not self.names:
            return []
        if dry_run:
            raise UsageError(
                f"The pictures lack {self.purpose}, and a dry run computes none. Run: "
                f"sightline index --features {','.join(self.names)}"
            )
        names = dict.fromkeys([*split_names(settings.features), *self.names])
        return [n for n in names if n not in self.imported]


def missing_for_words(
    store_folder: StoreFolder,
    rankers: Sequence[str],
    features: Sequence[str],
    remembered: str = "",
) -> MissingFeatures:
    """Return the features that word models need.

    If no features were named at an index (`remembered`), one that was computed for starting words
    or for similar pictures alone does not keep the default ones from being computed.
    """
    default = default_features()
    check_vectors(features, FOR_WORDS, default)
    with store_folder.reader() as reader:
        ids = reader.snapshot.ids()
        common = common_features(reader.snapshot, ids)
        computed = {Fingerprint.parse(f).name: is_sparse(reader.snapshot, f) for f in common}
        imported = frozenset(v.name for v in remembered_vectors(reader.catalogue))
        learnable = len(ids) > 1 and len(reader.snapshot.vocabulary()[0])
    is_counts = {**dict.fromkeys(imported, False), **computed}
    check_known(features, is_counts)
    if not learnable:
        return MissingFeatures()
    check_rankers(rankers, list(features) or list(computed) or default, is_counts)
    requested = set(expanded(features))
    unnamed = set() if remembered or imported else {STARTING_FEATURE, quick_feature()}
    if requested <= is_counts.keys() if requested else computed.keys() - unnamed:
        return MissingFeatures()
    return MissingFeatures(tuple(features or default), imported, "features to learn from")


def missing_for_similarity(store_folder: StoreFolder, features: Sequence[str]) -> MissingFeatures:
    """Return the features that a similarity model needs."""
    check_vectors(features, FOR_SIMILARITY, _SIMILARITY_FEATURES)
    with store_folder.reader() as reader:
        ids = reader.snapshot.ids()
        computed = {Fingerprint.parse(f).name for f in common_features(reader.snapshot, ids)}
        imported = frozenset(v.name for v in remembered_vectors(reader.catalogue))
    check_known(features, computed | imported)
    requested = list(features) or ([] if computed else _SIMILARITY_FEATURES)
    if len(ids) < 2 or set(expanded(requested)) <= computed | imported:
        return MissingFeatures()
    return MissingFeatures(tuple(requested), imported, "descriptors to compare them by")


def missing_for_examples(store_folder: StoreFolder, *, dense: bool) -> MissingFeatures:
    """Return the feature that similar pictures, or with `dense` sessions, need; none if one is."""
    with store_folder.reader() as reader:
        ids, snapshot = reader.snapshot.ids(), reader.snapshot
        usable = [
            f for f in common_features(snapshot, ids) if not (dense and is_sparse(snapshot, f))
        ]
        imported = frozenset(v.name for v in remembered_vectors(reader.catalogue))
    if len(ids) < 2 or usable:
        return MissingFeatures()
    return MissingFeatures((quick_feature(),), imported, "a feature to compare them by")


def missing_for_regions(store_folder: StoreFolder, feature: str) -> MissingFeatures:
    """Return the region feature that a region model needs, unless all tagged pictures have it."""
    from sightline.collection.tagging.dataset import default_regions, kept_ids
    from sightline.regions.segment import require

    if feature and feature not in NO_VECTORS:
        known = ", ".join(sorted(NO_VECTORS))
        raise ParameterError.of("feature", "train_regions", f"one of {known}", feature)
    name = feature or default_regions()
    with store_folder.reader() as reader:
        ids = np.unique(tag_pairs(reader.snapshot)[0])
        stored = {f for have, _ in reader.snapshot.by_features(ids) for f in have}
        prints = [f for f in stored if Fingerprint.parse(f).name == name]
        if len(ids) == max((len(kept_ids(reader.snapshot, f, ids)) for f in prints), default=0):
            return MissingFeatures()
    # Before index remembers to segment pictures, which would fail from then on.
    require()
    return MissingFeatures((name,), purpose="regions")


def needed_features(named: Sequence[str], *in_use: WordModel | TextModel | None) -> list[str]:
    """Return the features to load: the named ones, and those of models in use; none for all."""
    if not named:
        return []
    prints = (f for model in in_use if model is not None for f in model.features)
    return [*named, *(Fingerprint.parse(f).name for f in prints)]


def fingerprints(dataset: Dataset, names: Sequence[str]) -> list[str] | None:
    """Return the fingerprints of named features."""
    if not names:
        return None
    prints = {Fingerprint.parse(f).name: f for f in dataset.views}
    names = plugins.expanded(names)
    missing = [n for n in names if n not in prints]
    if missing:
        raise UsageError(
            f"The pictures have no feature {missing[0]!r} (they have: {', '.join(prints)}). "
            f"Run: sightline index --features {','.join(dict.fromkeys([*prints, *names]))}"
        )
    return [prints[n] for n in names]
