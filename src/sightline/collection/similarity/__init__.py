"""Pictures like other pictures: found, grouped where nearly equal, and learnt from.

Two pictures are compared by phi, all descriptors by all measures (`sightline.similarity.pairs`),
and phi is combined by weights (`combination`). `asking` finds the pictures somebody names and
`ranking` ranks others by them; `grounds` says which pictures belong together, `training` learns the
weights from that, `judging` goes on with what people say. `duplicates` needs none of it.
"""
