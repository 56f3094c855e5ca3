"""Solvers: the loops that learning is made of, shared by every learner above.

`pa_step` is the passive-aggressive step, `triplets` draws (query, relevant picture, other picture),
`rows` and `targets` bring matrices and relevance into the form that compiled loops read.
"""
