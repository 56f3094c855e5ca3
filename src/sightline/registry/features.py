"""The features that `index` computes.

A new feature needs an entry here, a test and a row in the table of the guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FeatureKind = Literal["deep", "local", "whole", "regions", "plugin"]

# Session preferences of features that have no place of their own in the order.
_OTHER_DEEP, _IMPORTED, _OTHER = 4, 5, 19


@dataclass(frozen=True, slots=True)
class FeatureEntry:
    """The entry of a feature.

    Attributes
    ----------
    class_path : str
        Import path of the class, "module:class".
    about : str
        A short description.
    kind : {"deep", "local", "whole", "regions", "plugin"}
        "deep", by a network; "local", of local patches; "whole", of the whole picture; "regions",
        of segments; "plugin", of another package.
    length : int
        The number of values; 0 if that depends on what it is fitted to.
    group : str
        Model selection tries the features of one group together; "" if it is a group by itself.
    session_preference : int
        Sessions learn by the feature with the smallest value.
    vector : bool
        Whether it is one vector for a picture, by which pictures can be ranked and compared.
    earlier : str
        Import path of what returns the feature as an earlier version defined it; "" if it is as it
        was.
    """

    class_path: str
    about: str
    kind: FeatureKind
    length: int = 0
    group: str = ""
    session_preference: int = _OTHER
    vector: bool = True
    earlier: str = ""


def _deep(
    path: str,
    about: str,
    length: int,
    session_preference: int = _OTHER_DEEP,
    earlier: str = "",
) -> FeatureEntry:
    package = "sightline.features.deep"
    earlier = f"{package}.earlier:{earlier}" if earlier else ""
    return FeatureEntry(
        f"{package}.{path}", about, "deep", length, "deep", session_preference, earlier=earlier
    )


FEATURES: dict[str, FeatureEntry] = {
    "deep": _deep("vector:DeepVector", "last layer of a small network", 1280, 2, "deep"),
    "deep-scales": _deep("vector:DeepScales", "last layer, averaged over three sizes", 1280, 3),
    "deep-stages": _deep(
        "stages:DeepStages", "mean activations of middle layers", 2976, earlier="deep_stages"
    ),
    "deep-peaks": _deep(
        "stages:DeepPeaks", "strongest activations of middle layers", 1824, earlier="deep_peaks"
    ),
    "deep-grid": _deep("maps:DeepGrid", "last layer in 2×2 cells", 5120),
    "deep-medium": _deep("large:DeepMedium", "last layer of a larger network", 1280, 1),
    "deep-medium-stages": _deep(
        "large:DeepMediumStages", "mean activations of middle layers, larger network", 2976
    ),
    "deep-medium-peaks": _deep(
        "large:DeepMediumPeaks", "strongest activations of middle layers, larger network", 1824
    ),
    "deep-large": _deep("large:DeepLarge", "last layer of the largest network", 1280, 0),
    "deep-large-stages": _deep(
        "large:DeepLargeStages", "mean activations of middle layers, largest network", 3216
    ),
    "deep-large-peaks": _deep(
        "large:DeepLargePeaks", "strongest activations of middle layers, largest network", 1968
    ),
    "compact": FeatureEntry(
        "sightline.features.deep.compact:CompactVector",
        "deep, deep-stages and deep-peaks in few numbers",
        "deep",
        session_preference=_OTHER_DEEP,
    ),
    "classic": FeatureEntry(
        "sightline.features.local.layout:Classic",
        "colours, textures and edges, and where they are",
        "local",
        2803,
        group="classic",
        session_preference=11,
    ),
    "visterms": FeatureEntry(
        "sightline.features.local.visterms:Visterms",
        "counts of visual words of blocks (paper A)",
        "local",
        group="classic",
    ),
    "fisher": FeatureEntry(
        "sightline.features.local.fisher:Fisher",
        "Fisher vectors of local gradients and colours",
        "local",
        session_preference=10,
    ),
    "gaussians": FeatureEntry(
        "sightline.features.local.gaussians:Gaussians",
        "mean and covariance of blocks",
        "local",
    ),
    "sift-200": FeatureEntry(
        "sightline.features.local.keypoints:Sift200",
        "200 visual words of SIFT keypoints",
        "local",
        group="whole",
    ),
    "sift-1000": FeatureEntry(
        "sightline.features.local.keypoints:Sift1000",
        "1,000 visual words of SIFT keypoints",
        "local",
        group="whole",
    ),
    "dense-sift-200": FeatureEntry(
        "sightline.features.local.keypoints:DenseSift200",
        "200 visual words of gradients on a grid",
        "local",
        group="whole",
    ),
    "dense-sift-1000": FeatureEntry(
        "sightline.features.local.keypoints:DenseSift1000",
        "1,000 visual words of gradients on a grid",
        "local",
        group="whole",
    ),
    "color": FeatureEntry(
        "sightline.features.whole.color:ColorMoments",
        "colour moments in 3×3 cells",
        "whole",
        81,
        group="whole",
        session_preference=18,
    ),
    "edges": FeatureEntry(
        "sightline.features.whole.edges:EdgeDirections",
        "histogram of edge directions",
        "whole",
        37,
        group="whole",
        session_preference=17,
    ),
    "gabor": FeatureEntry(
        "sightline.features.whole.gabor:GaborMoments",
        "moments of Gabor filters",
        "whole",
        120,
        group="whole",
        session_preference=15,
    ),
    "lbp": FeatureEntry(
        "sightline.features.whole.lbp:Patterns",
        "histogram of local binary patterns",
        "whole",
        59,
        group="whole",
        session_preference=16,
    ),
    "gist": FeatureEntry(
        "sightline.features.whole.gist:Gist",
        "GIST, the spatial envelope of a scene",
        "whole",
        512,
        group="whole",
        session_preference=12,
    ),
    "ehd": FeatureEntry(
        "sightline.features.whole.ehd:EdgeHistogram",
        "MPEG-7 edge histogram",
        "whole",
        80,
        session_preference=14,
    ),
    "cedd": FeatureEntry(
        "sightline.features.whole.cedd:CEDD",
        "colour and edge directivity",
        "whole",
        144,
        session_preference=13,
    ),
    "regions": FeatureEntry(
        "sightline.regions.feature:RegionWords",
        "regions by visual words, for tag and scenes",
        "regions",
        vector=False,
    ),
    "regions-deep": FeatureEntry(
        "sightline.regions.feature:DeepRegions",
        "regions by a network, for tag and scenes",
        "regions",
        vector=False,
    ),
}
"""The features by name."""

FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "deep-all": ("deep", "deep-stages", "deep-peaks"),
    "classic-all": ("classic", "visterms"),
    "whole-all": (
        "color", "edges", "gabor", "lbp", "gist",
        "sift-200", "sift-1000", "dense-sift-200", "dense-sift-1000",
    ),
    "best": (
        "deep", "deep-stages", "deep-peaks", "deep-medium", "deep-medium-stages",
        "deep-medium-peaks", "deep-large", "deep-large-stages", "deep-large-peaks", "fisher",
    ),
}  # fmt: skip
"""Names of sets of features."""

NO_VECTORS = frozenset(name for name, entry in FEATURES.items() if not entry.vector)
"""The features that are not vectors: pictures are neither ranked nor compared by them."""


def definitions(name: str, class_path: str) -> tuple[str, ...]:
    """Return the import paths of a feature's definitions, the current one first.

    >>> definitions("deep", "sightline.features.deep.vector:DeepVector")[1]
    'sightline.features.deep.earlier:deep'
    >>> definitions("mine", "my_package:Mine")
    ('my_package:Mine',)
    """
    entry = FEATURES.get(name)
    return (class_path, entry.earlier) if entry and entry.earlier else (class_path,)


def feature_group(name: str) -> str:
    """Return the features that model selection tries together with this one, as a name.

    >>> feature_group("deep-peaks"), feature_group("gist"), feature_group("fisher")
    ('deep', 'whole', 'fisher')
    """
    entry = FEATURES.get(name)
    if entry is not None:
        return entry.group or name
    return "deep" if name.split("-")[0] == "deep" else name


def session_preference(name: str) -> tuple[int, str]:
    """Return a sort key: sessions learn by the feature whose key is smallest.

    Deep features come first, then imported vectors and plugins' features, then the others.

    >>> sorted(["gist", "mine", "deep-grid", "deep"], key=session_preference)
    ['deep', 'deep-grid', 'mine', 'gist']
    """
    entry = FEATURES.get(name)
    if entry is not None:
        return entry.session_preference, name
    return (_OTHER_DEEP if name.startswith("deep") else _IMPORTED), name
