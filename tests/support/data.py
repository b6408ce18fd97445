"""Where numbers are that tests compare with.

Our own, made by R, are in ``tests/data``. Data of others, and the texts of the papers, are in a folder beside the
checkout, where there is one: tests that read them are skipped elsewhere.
"""

from pathlib import Path

LOCFIT = Path(__file__).parents[1] / "data" / "locfit"
SHARED = Path(__file__).parents[3] / "shared"
