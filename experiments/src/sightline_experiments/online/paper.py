"""The paper's own figures (Wan et al., 2015): table 2 (mAP) and table 3 (seconds).

Its tables name the methods as `methods` does.
"""

from __future__ import annotations

# By title of the dataset, then by method.
MAP = {
    "Caltech-101": {
        "Best-Fea": 0.2664, "Uni-Con": 0.2594, "RankNet": 0.2753, "C-Ascent": 0.3193,
        "RankSVM": 0.3270, "λ-MART": 0.3650, "OPR": 0.3285, "OPAR-I": 0.3070,
        "OPAR-II": 0.3157, "OGDR": 0.3024,
    },
    "Corel": {
        "Best-Fea": 0.1846, "Uni-Con": 0.2990, "RankNet": 0.3133, "C-Ascent": 0.3406,
        "RankSVM": 0.3366, "λ-MART": 0.3683, "OPR": 0.3292, "OPAR-I": 0.3340,
        "OPAR-II": 0.3389, "OGDR": 0.3228,
    },
    "Holidays": {
        "Best-Fea": 0.4892, "Uni-Con": 0.5175, "RankNet": 0.6292, "C-Ascent": 0.6373,
        "RankSVM": 0.6429, "λ-MART": 0.6230, "OPR": 0.6219, "OPAR-I": 0.6329,
        "OPAR-II": 0.6283, "OGDR": 0.6368,
    },
    "ImageCLEF": {
        "Best-Fea": 0.5777, "Uni-Con": 0.6174, "RankNet": 0.6326, "C-Ascent": 0.6803,
        "RankSVM": 0.6585, "λ-MART": 0.6796, "OPR": 0.6555, "OPAR-I": 0.6556,
        "OPAR-II": 0.6632, "OGDR": 0.6626,
    },
}  # fmt: skip
# CPU seconds to learn from three million triplets, on the machine of 2015.
SECONDS = {"RankSVM": 4737.0, "OPR": 1154.0, "OPAR-I": 1370.0, "OPAR-II": 1708.0, "OGDR": 2307.0}
N_LARGE = 3_000_000
# Mean NDCG@50 of the uniform combination in its online experiment, on other pictures.
UNIFORM_NDCG = 0.80
