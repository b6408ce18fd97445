"""Vectors of the processor that the installed NumPy makes use of, each version under names of its own.

``python tests/support/arithmetic.py`` prints them for ``NPY_DISABLE_CPU_FEATURES``; with ``--are-off`` it fails if one
is still in use.
"""

from __future__ import annotations

import sys

from numpy._core import _multiarray_umath


def vectors() -> list[str]:
    """Return the names of what NumPy chose for this processor when it was imported."""
    return [name for name in _multiarray_umath.__cpu_dispatch__ if _multiarray_umath.__cpu_features__[name]]


if __name__ == "__main__":
    if "--are-off" in sys.argv[1:] and vectors():
        sys.exit(f"still in use: {' '.join(vectors())}")
    sys.stdout.write(" ".join(vectors()))
