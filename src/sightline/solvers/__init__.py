"""Solvers: the loops that learning is made of, shared by every learner above.

`pa_step` is the passive-aggressive step, `second_order` those that know how sure they are.
`triplets` draws (query, relevant picture, other picture) for queries of words, `picture_triplets`
for queries that are pictures. `rows` and `targets` bring matrices and relevance into the form that
compiled loops read.
"""
