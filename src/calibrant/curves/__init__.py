"""Curves over the scores: observed rates, the distribution of the scores, and cumulative residuals."""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
