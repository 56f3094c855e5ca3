"""Relevance feedback sessions: a person judges hits, and the next ranking uses every judgement.

The state of a session is its events alone: its start, its judgements and what was undone. The model
and the ranking are computed from these events (`log` reads them, `model` learns from them), so they
are the same in another process and after a crash.
"""
