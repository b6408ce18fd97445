"""Bounds on the expected calibration error (docs/theory/4-expected-calibration-error.md)."""
