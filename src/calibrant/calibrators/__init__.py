"""Maps to better probabilities and means: scikit-learn estimators on one column of scores, or on one for each class.

Names are imported on first use, since scikit-learn takes most of a second to load; the stub beside lists them.
"""

from calibrant.upward import on_first_use

__all__, __getattr__, __dir__ = on_first_use(__name__, __file__)
