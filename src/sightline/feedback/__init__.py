"""Feedback: what a person wants, learnt from the pictures they judge while they search (paper B).

Every learner keeps `contracts.FeedbackLearner`: `start` with the query, `learn` from all judgements
of a session so far, and rank by `decision_function`. `blend.Blend` wraps a learner and holds it
against the ranking there was before.
"""
