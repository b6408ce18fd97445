"""Monitor calibration while outcomes come in, with guarantees that hold however often one looks."""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
