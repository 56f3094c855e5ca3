"""Engines beside the flat scan: filling them, comparing them with the store, choosing one."""
