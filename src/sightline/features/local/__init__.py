"""Local features: descriptors of small square blocks of a picture, and counts of visual words.

`lbp` gives texture, `color` gives colour, `blocks` both for every block; `codebook` groups blocks
into visual terms, and `visterms` counts them. `sift` finds keypoints, and `keypoints` counts words
of them. `layout` describes the whole picture without fitting.
"""
