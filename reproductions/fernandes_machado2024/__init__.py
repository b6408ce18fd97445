"""From Uncertainty to Precision: Enhancing Binary Classifier Performance through Calibration (2024)."""
