"""Maps from scores to better probabilities: scikit-learn estimators on one column of scores."""

from calibrant.calibrators.auto import AutoCalibrator
from calibrant.calibrators.beta import BetaCalibrator
from calibrant.calibrators.classifier import CalibratedClassifier
from calibrant.calibrators.cutoff import CutoffCalibrator
from calibrant.calibrators.histogram import HistogramCalibrator
from calibrant.calibrators.isotonic import IsotonicCalibrator
from calibrant.calibrators.lipschitz import LipschitzIsotonicCalibrator
from calibrant.calibrators.local import LocalCalibrator
from calibrant.calibrators.platt import PlattCalibrator
from calibrant.calibrators.single_index.classifier import SingleIndexClassifier
from calibrant.calibrators.temperature import TemperatureCalibrator
from calibrant.calibrators.venn_abers import VennAbersCalibrator

__all__ = [
    "AutoCalibrator",
    "BetaCalibrator",
    "CalibratedClassifier",
    "CutoffCalibrator",
    "HistogramCalibrator",
    "IsotonicCalibrator",
    "LipschitzIsotonicCalibrator",
    "LocalCalibrator",
    "PlattCalibrator",
    "SingleIndexClassifier",
    "TemperatureCalibrator",
    "VennAbersCalibrator",
]
