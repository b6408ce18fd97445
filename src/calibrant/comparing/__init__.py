"""Models on the same rows: which is better at what, with intervals that hold together."""

from calibrant.comparing.results import ComparedModel, MeasureDifference
from calibrant.keywords import check_package

__all__ = ["ComparedModel", "MeasureDifference"]

check_package(__name__)
