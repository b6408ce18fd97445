"""Recalibrators of several packages, compared on real classifiers and data."""
