"""Region-based tagging: suggested and doubted tags, regions of words, and scenes."""
