"""Slow readable twins of what the product does fast."""
