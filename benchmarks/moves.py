"""Which call of another package becomes which call of calibrant: what `benchmarks.beside_others` runs and tabulates.

Calls are text, so that the page shows what was run. They see `y` and `p` (labels and scores), `new` (scores to predict
at), `halves` and `half` (1,000 labels, negatives first, and scores of 0.5), `Y` and `P` (tensors of labels and of both
probabilities), `X` (features), `model` (fitted to them), `np`, `cal` and what the package's own imports name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """One old call and its new one; `why` they differ is told exactly where they do.

    `read_old` and `read_new` are appended to the calls to have numbers, and are not shown where they call something.
    With `option` the new call finds what the old one does.
    """

    old: str
    new: str
    why: str = ""
    read_old: str = ""
    read_new: str = ""
    option: str = ""


@dataclass(frozen=True)
class Package:
    """What to import, which distribution has the version, and the moves. Those of R are run by Rscript."""

    name: str
    imports: str
    moves: tuple[Move, ...]
    language: str = "Python"
