"""Local features: what small square blocks of a picture look like, and how often each look occurs.

`lbp` gives texture, `color` gives colour, `blocks` both for every block; `codebook` groups blocks
into visual terms, and `visterms` counts them. `sift` finds keypoints, and `keypoints` counts words
of them. `layout` describes the whole picture without fitting.
"""
