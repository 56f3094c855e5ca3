"""Features of the whole picture, none of them fitted, as in papers B and D.

`color`, `edges`, `gabor`, `lbp` and `gist` are the five of paper D that need no codebook; its other
four are bags of words (`features.local.keypoints`). `ehd` and `cedd` are the two of paper B, whose
rows are small whole numbers, with their own distances. `moments` is shared by two of them.
"""
