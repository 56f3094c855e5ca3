"""Judging sessions: a person says of hits whether they fit, and every answer counts at once.

A session is nothing but its events: what it began with, what was judged, what was taken back. Its
ranking is made from them by whoever asks (`record` reads them, `rounds` learns from them), so it is
the same in another process and after a crash.
"""
