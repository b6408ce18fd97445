"""Models on the same rows: which is better at what, with intervals that hold together."""

from calibrant.comparing.results import ComparedModel, ComparisonFindings, MeasureDifference
from calibrant.keywords import check_package

__all__ = ["ComparedModel", "ComparisonFindings", "MeasureDifference"]

check_package(__name__)
