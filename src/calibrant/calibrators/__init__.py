"""Maps to better probabilities and means: scikit-learn estimators on one column of scores, or on one for each class.

Names are imported on first use, since scikit-learn takes most of a second to load.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from calibrant.keywords import checked

if TYPE_CHECKING:
    from calibrant.calibrators.auto import AutoCalibrator
    from calibrant.calibrators.classes import MulticlassAutoCalibrator
    from calibrant.calibrators.classifier import CalibratedClassifier
    from calibrant.calibrators.cutoff import CutoffCalibrator
    from calibrant.calibrators.isotonic import IsotonicCalibrator, LipschitzIsotonicCalibrator, VennAbersCalibrator
    from calibrant.calibrators.local import HistogramCalibrator, LocalCalibrator
    from calibrant.calibrators.log_odds import BetaCalibrator, PlattCalibrator, TemperatureCalibrator
    from calibrant.calibrators.means import AutoMeanCalibrator, IsotonicMeanCalibrator, PowerCalibrator, ScaleCalibrator
    from calibrant.calibrators.offset import OffsetCalibrator
    from calibrant.calibrators.segment.calibrator import SegmentCalibrator

# Module -> its calibrators.
_HOME = {
    "auto": ("AutoCalibrator",),
    "classifier": ("CalibratedClassifier",),
    "classes": ("MulticlassAutoCalibrator",),
    "cutoff": ("CutoffCalibrator",),
    "isotonic": ("IsotonicCalibrator", "LipschitzIsotonicCalibrator", "VennAbersCalibrator"),
    "local": ("HistogramCalibrator", "LocalCalibrator"),
    "log_odds": ("BetaCalibrator", "PlattCalibrator", "TemperatureCalibrator"),
    "means": ("AutoMeanCalibrator", "IsotonicMeanCalibrator", "PowerCalibrator", "ScaleCalibrator"),
    "offset": ("OffsetCalibrator",),
    "segment.calibrator": ("SegmentCalibrator",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AutoCalibrator",
    "AutoMeanCalibrator",
    "BetaCalibrator",
    "CalibratedClassifier",
    "CutoffCalibrator",
    "HistogramCalibrator",
    "IsotonicCalibrator",
    "IsotonicMeanCalibrator",
    "LipschitzIsotonicCalibrator",
    "LocalCalibrator",
    "MulticlassAutoCalibrator",
    "OffsetCalibrator",
    "PlattCalibrator",
    "PowerCalibrator",
    "ScaleCalibrator",
    "SegmentCalibrator",
    "TemperatureCalibrator",
    "VennAbersCalibrator",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return checked(getattr(importlib.import_module(f"calibrant.calibrators.{_MODULE_OF[name]}"), name))
    raise AttributeError(f"module 'calibrant.calibrators' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
