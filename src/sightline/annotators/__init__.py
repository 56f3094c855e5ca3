"""Annotators: scores of how well each word fits a picture, learned from tagged pictures.

`KernelRidge` is what the product trains by default. `Neighbours` (TagProp), `ConceptSVM`, `CMRM`,
`CMTT` and `PLSA` are the baselines of paper A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline._exports import lazy

if TYPE_CHECKING:
    from sightline.annotators.cmrm import CMRM
    from sightline.annotators.cmtt import CMTT
    from sightline.annotators.concept_svm import ConceptSVM
    from sightline.annotators.neighbours import Neighbours
    from sightline.annotators.plsa import PLSA
    from sightline.annotators.ridge import KernelRidge
else:
    __getattr__ = lazy(
        __name__,
        {
            "cmrm": ("CMRM",),
            "cmtt": ("CMTT",),
            "concept_svm": ("ConceptSVM",),
            "neighbours": ("Neighbours",),
            "plsa": ("PLSA",),
            "ridge": ("KernelRidge",),
        },
    )

__all__ = [
    "CMRM",
    "CMTT",
    "ConceptSVM",
    "KernelRidge",
    "Neighbours",
    "PLSA",
]
