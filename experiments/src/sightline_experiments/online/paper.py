"""The figures that paper D prints (`paper.toml`)."""

from __future__ import annotations

from sightline_experiments.printed import read_paper

_PAPER = read_paper(__package__)

# By title of the data set, then by method.
MAP: dict[str, dict[str, float]] = _PAPER["mAP"]
SECONDS: dict[str, float] = _PAPER["seconds"]
N_LARGE: int = _PAPER["large_triplets"]
UNIFORM_NDCG: float = _PAPER["uniform_ndcg"]
