"""Worlds with known truth: labels and scores drawn with the probabilities behind them."""
