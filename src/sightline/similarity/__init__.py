"""Similarity: how alike two pictures are, by kernels over one or several features."""
