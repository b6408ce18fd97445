"""A classifier on one index of the features, learned under a limit on its calibration error."""
