"""The names of the methods of paper E, and the figures it prints (`paper.toml`)."""

from __future__ import annotations

from sightline_experiments.printed import read_paper

LATENT = "latent model"
# The same without what was added: see `regions.scored`.
PLAIN = "latent model, plain"
SVM = "SVM"
PSEUDO_LABEL = "pseudo-label + SVM"
PSEUDO_TAGS = "pseudo-annotation + K-means"
K_MEANS = "K-means"
RIDGE = "ridge"
# Not the paper's: what of the latent model's lead is the kernel's that it sees pictures by.
SVM_CHI2 = "SVM, chi2"
PSEUDO_LABEL_CHI2 = "pseudo-label + SVM, chi2"

_PAPER = read_paper(__package__)
F: dict[str, float] = _PAPER["F"]
NMI: dict[str, float] = _PAPER["NMI"]
