"""Numbers that describe how good scores are; every one takes labels and scores, or a score table."""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
