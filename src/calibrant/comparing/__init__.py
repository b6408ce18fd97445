"""Models on the same rows: which is better at what, with intervals that hold together."""

from calibrant.comparing.results import ComparedModel, ComparisonFindings, MeasureDifference

__all__ = ["ComparedModel", "ComparisonFindings", "MeasureDifference"]
