"""Which region of a picture each of its tags belongs to, and what scene it shows (paper E).

`segment` cuts pictures into regions, `codewords` and `deep` extract their features, `inference`
finds the best tags for the regions of a picture, `model` fits the weights. `RegionModel` is the
paper's estimator and `ScoredRegionModel` the product's. `KernelRows` is a library part that no
command uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.regions.codewords import Codewords
    from sightline.regions.descriptors import choose_textons, describe_regions
    from sightline.regions.feature import DeepRegions, RegionWords
    from sightline.regions.inference import choose_tags, place_tags
    from sightline.regions.kernel_rows import KernelRows
    from sightline.regions.model import RegionModel, RegionPrediction
    from sightline.regions.outlines import Box, Mask
    from sightline.regions.scored import ScoredRegionModel
    from sightline.regions.segment import Segmenter
    from sightline.regions.weights import RegionWeights
else:
    __getattr__ = lazy(
        __name__,
        {
            "codewords": ("Codewords",),
            "descriptors": ("choose_textons", "describe_regions"),
            "feature": ("DeepRegions", "RegionWords"),
            "inference": ("choose_tags", "place_tags"),
            "kernel_rows": ("KernelRows",),
            "model": ("RegionModel", "RegionPrediction"),
            "outlines": ("Box", "Mask"),
            "scored": ("ScoredRegionModel",),
            "segment": ("Segmenter",),
            "weights": ("RegionWeights",),
        },
    )

__all__ = [
    "Box",
    "Codewords",
    "DeepRegions",
    "KernelRows",
    "Mask",
    "RegionModel",
    "RegionPrediction",
    "RegionWeights",
    "RegionWords",
    "ScoredRegionModel",
    "Segmenter",
    "choose_tags",
    "choose_textons",
    "describe_regions",
    "place_tags",
]
