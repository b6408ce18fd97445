"""Repair of calibrated probabilities in overlapping segments of the rows."""
