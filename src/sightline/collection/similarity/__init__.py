"""Similarity search: rank pictures by learned similarity, and find near-duplicates.

Two pictures are compared by phi, all descriptors by all measures (`sightline.similarity.pairs`),
and `model` weights the components of phi. `query` resolves the pictures of a query and `candidates`
ranks others by them. `supervision` says which pictures belong together, `training` learns the
weights from it, and `online` updates them by later judgements. `duplicates` is independent of them.
"""
