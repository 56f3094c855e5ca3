"""Loaders of the published datasets."""
