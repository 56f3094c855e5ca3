"""Reproductions: one file for each experiment, all reporting their figures in one form."""
