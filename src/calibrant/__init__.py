"""calibrant: can the scores of a binary classifier be read as probabilities?

Names are imported on first use, so that `import calibrant` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from calibrant.auditing.audit import Audit, audit
    from calibrant.errors import ArgumentError, CalibrantError, DataError, SourceError
    from calibrant.table.score_table import ScoreTable

_HOME = {
    "audit": "calibrant.auditing.audit",
    "Audit": "calibrant.auditing.audit",
    "ScoreTable": "calibrant.table.score_table",
    "CalibrantError": "calibrant.errors",
    "DataError": "calibrant.errors",
    "ArgumentError": "calibrant.errors",
    "SourceError": "calibrant.errors",
}
_ROOMS = ("calibrators", "certificates", "curves", "decisions", "export", "metrics", "plots", "references", "simulate")

__all__ = [
    "ArgumentError",
    "Audit",
    "CalibrantError",
    "DataError",
    "ScoreTable",
    "SourceError",
    "audit",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"calibrant.{name}")
    raise AttributeError(f"module 'calibrant' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_ROOMS})
