"""Word models: data sets, rankers, model selection, the held-out gate, training and evaluation."""
