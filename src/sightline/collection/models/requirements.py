"""Checks that the named rankers can learn from the named features, before any is computed.

Computing features may take hours, and the index remembers which were asked for. So the names are
checked first: they must be known, they must be vectors, and some named ranker must be able to use
one of them.
"""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence

from sightline import plugins
from sightline.collection.models.recipe import ranker_spec
from sightline.compute.describing import feature_class
from sightline.errors import UsageError
from sightline.registry import NO_VECTORS

FOR_WORDS, FOR_SIMILARITY = "word models", "the similarity of pictures"


def check_vectors(names: Iterable[str], purpose: str, instead: Sequence[str]) -> None:
    """Raise for features that hold no vector.

    Parameters
    ----------
    names : iterable of str
        Of features, and of sets of them.
    purpose : str
        What is to be learnt.
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
        f"--features {left}. To learn from regions where words lie: sightline train --regions"
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
        Those that were named; where none was, some can always learn.
    features : sequence of str
        What they are to learn from.
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
        raise UsageError(f"No ranker can learn here: {'; '.join(reasons)}.")


def _is_counts(name: str, have: Mapping[str, bool]) -> bool:
    if name in have:
        return have[name]
    return bool(getattr(feature_class(plugins.place("features", name)), "sparse", False))
