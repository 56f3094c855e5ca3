"""Features as earlier versions defined them.

A store keeps describing new pictures by the definition of the rows it has, until its features are
computed anew (`index --refit`), so that its models go on.
"""

from __future__ import annotations

from sightline.features.deep.stages import DeepPeaks, DeepStages
from sightline.features.deep.vector import DeepVector


def deep() -> DeepVector:
    """Return `deep` averaged over mirror images at 224 pixels."""
    return DeepVector(sizes=(224,), flips=True)


def deep_stages() -> DeepStages:
    """Return `deep-stages` averaged over mirror images at 224 pixels."""
    return DeepStages(size=224, flips=True)


def deep_peaks() -> DeepPeaks:
    """Return `deep-peaks` averaged over mirror images at 224 pixels."""
    return DeepPeaks(size=224, flips=True)
