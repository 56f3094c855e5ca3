"""The tables of what can be named in commands: rankers, features and export formats.

The help of commands, the service and the page list what these tables list. They import neither
numpy nor any estimator, so that `--help` stays fast. `sightline.plugins` adds the entries of other
packages.
"""

from sightline.registry.export_formats import EXPORT_FORMATS, ExportFormatEntry
from sightline.registry.features import (
    FEATURE_SETS,
    FEATURES,
    NO_VECTORS,
    FeatureEntry,
    definitions,
    feature_group,
    session_preference,
)
from sightline.registry.rankers import BY_DEFAULT, IF_NAMED, RANKERS, RankerEntry

__all__ = [
    "BY_DEFAULT", "EXPORT_FORMATS", "FEATURES", "FEATURE_SETS", "IF_NAMED", "NO_VECTORS", "RANKERS",
    "ExportFormatEntry", "FeatureEntry", "RankerEntry", "definitions", "feature_group",
    "session_preference",
]  # fmt: skip
