"""Rankers: learners that put pictures in order for a query of words."""
