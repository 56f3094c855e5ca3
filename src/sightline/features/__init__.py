"""Features: ways to turn one small picture into numbers."""
