"""The commands, one file each.

Typer reads their annotations at every start. These files do without `from __future__ import annotations`, which would
have it compile each of them from a string: `calibrant --help` would take 7% longer (medians of 40 runs).
"""
