"""Dialogues at a terminal: questions, answers and thumbnails."""
