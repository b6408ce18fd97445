"""What the two papers define and prove, for those who study them: their worlds, bounds, tests and classifier.

Nothing else of calibrant needs it but the reproductions.
"""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
