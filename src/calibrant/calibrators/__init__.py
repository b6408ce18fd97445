"""Maps from scores to better probabilities: scikit-learn estimators on one column of scores."""

from calibrant.calibrators.isotonic import IsotonicCalibrator

__all__ = ["IsotonicCalibrator"]
