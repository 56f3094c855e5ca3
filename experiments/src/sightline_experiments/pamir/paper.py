"""The paper's own figures, as far as its text still has them.

Grangier and Bengio, "A discriminative kernel-based model to rank images from text queries", 2008.
The tables' cells are lost from the text at hand; what its sentences state is here, as fractions.
"""

from __future__ import annotations

# (method, group of queries, measure); section V-C and the abstract.
FIGURES = {
    ("PAMIR", "all", "AvgP"): 0.263,
    ("PAMIR", "all", "P10"): 0.100,
    ("SVM", "all", "AvgP"): 0.220,
    ("SVM", "all", "P10"): 0.093,
}
# By how much PAMIR's AvgP is above SVM's, relative.
GAINS = {"easy": 0.032, "difficult": 0.29, "one-word": 0.040, "multi-word": 0.223}
CEILING_P10 = 0.202
QUERY_SECONDS = 0.34e-3

TRAIN_PICTURES, VALIDATION_PICTURES, TEST_PICTURES = 4000, 500, 500
TRAIN_RELEVANT = 5.33
TEST_QUERIES, VOCABULARY = 2241, 179
TRIPLETS, STEPS = 1.45e8, 2.53e6
GROUPS = {
    "all": 2241, "easy": 421, "difficult": 1820, "one-word": 179, "multi-word": 2062,
    "not in train": 601,
}  # fmt: skip

# Table VI, and what the text says of PAMIR's features.
SETTINGS = {
    "PAMIR": "block 64, 10,000 visterms",
    "SVM": "block 48, 20,000 visterms",
    "PLSA": "block 32, 50,000 visterms, 400 aspects",
    "CMTT": "block 256, 2,000 visterms, rank 50",
    "CMRM": "block 192, 3,000 visterms, alpha .5, beta .1",
}
