"""Annotators: how well each word fits a picture, learnt from pictures that carry words."""
