"""Features: the extraction of a vector from one small picture.

`whole` features describe the whole picture, `local` ones its blocks and keypoints, `deep` ones come
from networks trained on ImageNet. `ImportedVectors` are the user's own. Each implements
`contracts.Feature`; `sightline.registry` has their names in commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.features.deep.compact import CompactVector
    from sightline.features.deep.large import (
        DeepLarge,
        DeepLargePeaks,
        DeepLargeStages,
        DeepMedium,
        DeepMediumPeaks,
        DeepMediumStages,
    )
    from sightline.features.deep.maps import DeepGrid
    from sightline.features.deep.stages import DeepPeaks, DeepStages
    from sightline.features.deep.vector import DeepScales, DeepVector
    from sightline.features.imported import ImportedVectors, read_vectors
    from sightline.features.local.codebook import ReducedCodebook
    from sightline.features.local.fisher import Fisher
    from sightline.features.local.gaussians import Gaussians
    from sightline.features.local.keypoints import DenseSift200, DenseSift1000, Sift200, Sift1000
    from sightline.features.local.layout import Classic
    from sightline.features.local.mixture import Mixture
    from sightline.features.local.visterms import Visterms
    from sightline.features.whole.cedd import CEDD
    from sightline.features.whole.color import ColorMoments
    from sightline.features.whole.edges import EdgeDirections
    from sightline.features.whole.ehd import EdgeHistogram
    from sightline.features.whole.gabor import GaborMoments
    from sightline.features.whole.gist import Gist
    from sightline.features.whole.lbp import Patterns
else:
    __getattr__ = lazy(
        __name__,
        {
            "deep.compact": ("CompactVector",),
            "deep.large": (
                "DeepLarge",
                "DeepLargePeaks",
                "DeepLargeStages",
                "DeepMedium",
                "DeepMediumPeaks",
                "DeepMediumStages",
            ),
            "deep.maps": ("DeepGrid",),
            "deep.stages": ("DeepPeaks", "DeepStages"),
            "deep.vector": ("DeepScales", "DeepVector"),
            "imported": ("ImportedVectors", "read_vectors"),
            "local.codebook": ("ReducedCodebook",),
            "local.fisher": ("Fisher",),
            "local.gaussians": ("Gaussians",),
            "local.keypoints": ("DenseSift1000", "DenseSift200", "Sift1000", "Sift200"),
            "local.layout": ("Classic",),
            "local.mixture": ("Mixture",),
            "local.visterms": ("Visterms",),
            "whole.cedd": ("CEDD",),
            "whole.color": ("ColorMoments",),
            "whole.edges": ("EdgeDirections",),
            "whole.ehd": ("EdgeHistogram",),
            "whole.gabor": ("GaborMoments",),
            "whole.gist": ("Gist",),
            "whole.lbp": ("Patterns",),
        },
    )

__all__ = [
    "CEDD",
    "Classic",
    "ColorMoments",
    "CompactVector",
    "DeepGrid",
    "DeepLarge",
    "DeepLargePeaks",
    "DeepLargeStages",
    "DeepMedium",
    "DeepMediumPeaks",
    "DeepMediumStages",
    "DeepPeaks",
    "DeepScales",
    "DeepStages",
    "DeepVector",
    "DenseSift1000",
    "DenseSift200",
    "EdgeDirections",
    "EdgeHistogram",
    "Fisher",
    "GaborMoments",
    "Gaussians",
    "Gist",
    "ImportedVectors",
    "Mixture",
    "Patterns",
    "ReducedCodebook",
    "Sift1000",
    "Sift200",
    "Visterms",
    "read_vectors",
]
