"""Solvers: optimisation steps, samplers and training data, shared by all learners.

`pa_step` is the passive-aggressive step, `second_order` the confidence-weighted ones. `triplets`
draws (query, relevant picture, other picture) for queries of words, `picture_triplets` for queries
that are pictures. `rows` and `targets` convert matrices and relevance to the form that compiled
loops read.
"""
