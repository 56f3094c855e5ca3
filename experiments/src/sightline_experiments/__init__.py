"""The experiments of five papers, one package each, all reporting their figures in one form."""
