"""Talking with a person at a terminal: questions, answers, and pictures where it shows them."""
