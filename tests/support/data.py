"""Where numbers are that tests compare with.

Our own, made by R, are in ``tests/data``. Data of others, and the texts of the papers, are in a folder beside the
checkout, where there is one: tests that read them are skipped elsewhere.
"""

from pathlib import Path

import pytest

LOCFIT = Path(__file__).parents[1] / "data" / "locfit"
SHARED = Path(__file__).parents[3] / "shared"
NOT_BESIDE = "the data of others are not beside this checkout"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=NOT_BESIDE)
