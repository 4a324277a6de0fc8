"""One run: from a spec to a trained predictor, with the clock on and the logs beside it."""
