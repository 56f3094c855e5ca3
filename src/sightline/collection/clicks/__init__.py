"""Clicks on what other programs have shown: taken into the log, and learnt from."""
