"""Similarity: kernels and distances of pictures over one or several features.

`MeanKernel` is the kernel of `KernelPAMIR` and `KernelRidge`, `Phi` the similarities of two
pictures that combiners learn from (paper D), `Whitening` and `FeatureScaling` scale features.
Library parts that no command uses: the kernels of bags of descriptors `MatchKernel` and
`LikelihoodKernel` with `Bags` and `GaussianBags`, `additive_map`, and similarity in the context
of other pictures, `Context`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.similarity.bags import Bags
    from sightline.similarity.context import Context, PairsInContext
    from sightline.similarity.distances import MEASURES, PairMeasure
    from sightline.similarity.feature_maps import additive_map
    from sightline.similarity.formulas import KERNELS, Kernel
    from sightline.similarity.grams import GramCache, PictureKernel, gram_of
    from sightline.similarity.kernels import MeanKernel, bandwidth, gram
    from sightline.similarity.likelihood import GaussianBags, LikelihoodKernel, gaussian_rows
    from sightline.similarity.match import MatchKernel
    from sightline.similarity.pairs import PairsOf, Phi
    from sightline.similarity.scaling import FeatureScaling
    from sightline.similarity.whitening import Whitening
else:
    __getattr__ = lazy(
        __name__,
        {
            "bags": ("Bags",),
            "context": ("Context", "PairsInContext"),
            "distances": ("MEASURES", "PairMeasure"),
            "feature_maps": ("additive_map",),
            "formulas": ("KERNELS", "Kernel"),
            "scaling": ("FeatureScaling",),
            "grams": ("GramCache", "PictureKernel", "gram_of"),
            "kernels": ("MeanKernel", "bandwidth", "gram"),
            "likelihood": ("GaussianBags", "LikelihoodKernel", "gaussian_rows"),
            "match": ("MatchKernel",),
            "pairs": ("PairsOf", "Phi"),
            "whitening": ("Whitening",),
        },
    )

__all__ = [
    "Bags",
    "Context",
    "FeatureScaling",
    "GaussianBags",
    "GramCache",
    "KERNELS",
    "Kernel",
    "LikelihoodKernel",
    "MEASURES",
    "MatchKernel",
    "MeanKernel",
    "PairMeasure",
    "PairsInContext",
    "PairsOf",
    "Phi",
    "PictureKernel",
    "Whitening",
    "additive_map",
    "bandwidth",
    "gaussian_rows",
    "gram",
    "gram_of",
]
