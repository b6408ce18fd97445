"""calibrant: can the scores of a binary classifier be read as probabilities?

Names are imported on first use, so that `import calibrant` costs next to nothing; the stub beside lists them.
"""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
