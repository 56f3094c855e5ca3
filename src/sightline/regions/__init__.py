"""Which region of a picture each of its tags belongs to, and what scene it shows (paper E).

`segment` cuts pictures into regions, `codewords` and `deep` describe them, `inference` finds the
best tags for the regions of a picture, `model` learns. One estimator, `model.RegionModel`.
"""
