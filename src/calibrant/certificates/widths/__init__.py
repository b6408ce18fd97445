"""Formulas of how far an empirical calibration error may be from the true one, as functions of `delta`.

`delta` is the probability of failure: one minus the confidence level.
"""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
