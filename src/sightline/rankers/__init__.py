"""Rankers: learners that rank pictures for a query of words.

`PAMIR` (paper A) and its variants `WARP`, `KernelPAMIR` and `ThresholdPAMIR` learn from pictures
and their words. `LSCMR` (paper C) and its baselines `SSI`, `CCA`, `SemanticMatching` and
`ConceptMatching` map two kinds of things into one space; `Caption...` are the same between captions
and pictures. `LogProduct` re-ranks by the word scores of an annotator, and `CutOff` predicts where
a list of results should end. `ThresholdPAMIR` is a library part that no command uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.rankers.captions import CaptionCCA, CaptionLSCMR, Captions, CaptionSSI
    from sightline.rankers.cca import CCA
    from sightline.rankers.concepts import CaptionConcepts, ConceptMatching
    from sightline.rankers.cutoff import CutOff
    from sightline.rankers.kernel_pamir import KernelPAMIR
    from sightline.rankers.log_product import LogProduct
    from sightline.rankers.low_rank import LowRank, TwoSided
    from sightline.rankers.lscmr import LSCMR
    from sightline.rankers.pamir import PAMIR
    from sightline.rankers.posteriors import Posteriors
    from sightline.rankers.semantic_matching import SemanticMatching
    from sightline.rankers.ssi import SSI
    from sightline.rankers.threshold import ThresholdPAMIR
    from sightline.rankers.warp import WARP
    from sightline.rankers.word_weights import WordWeights
else:
    __getattr__ = lazy(
        __name__,
        {
            "captions": ("CaptionCCA", "CaptionLSCMR", "CaptionSSI", "Captions"),
            "cca": ("CCA",),
            "concepts": ("CaptionConcepts", "ConceptMatching"),
            "cutoff": ("CutOff",),
            "kernel_pamir": ("KernelPAMIR",),
            "log_product": ("LogProduct",),
            "low_rank": ("LowRank", "TwoSided"),
            "lscmr": ("LSCMR",),
            "pamir": ("PAMIR",),
            "posteriors": ("Posteriors",),
            "semantic_matching": ("SemanticMatching",),
            "ssi": ("SSI",),
            "threshold": ("ThresholdPAMIR",),
            "warp": ("WARP",),
            "word_weights": ("WordWeights",),
        },
    )

__all__ = [
    "CCA",
    "CaptionCCA",
    "CaptionConcepts",
    "CaptionLSCMR",
    "CaptionSSI",
    "Captions",
    "ConceptMatching",
    "CutOff",
    "KernelPAMIR",
    "LSCMR",
    "LogProduct",
    "LowRank",
    "PAMIR",
    "Posteriors",
    "SSI",
    "SemanticMatching",
    "ThresholdPAMIR",
    "TwoSided",
    "WARP",
    "WordWeights",
]
