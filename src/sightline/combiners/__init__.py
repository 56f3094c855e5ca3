"""Combiners: from many similarities of two pictures, phi(q, p), to the one that ranks.

Every combiner learns by `fit` and scores by `decision_function(phi)`, where phi has a number for
each component along its last axis and the scores have its other axes. They learn from any of

    fit(X, y)                 rows of differences phi(q, p1) - phi(q, p2), and their signs
    fit(triplets, source=s)   `solvers.picture_triplets` of pictures that `similarity.pairs` knows
    fit(X, y, qid)            rows phi(q, p), their relevance and their query

but for the first, which is too little for those that are not linear or that look at whole lists.
"""
