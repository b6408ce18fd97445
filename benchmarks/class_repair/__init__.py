"""Recalibration of several classes beside other packages: see ``docs/reference/class_repair_benchmark.md``."""
