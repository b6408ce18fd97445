"""Whether segments differ beyond what one map for all rows mends, by the test of the repair that advice names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.auditing.segment_wording import off_sentence
from calibrant.segments.values import column_values
from calibrant.sources.protocol import Rows

if TYPE_CHECKING:
    from calibrant.auditing.segment_audit import SegmentAudit

# The repair itself holds out 20,000 of more than 100,000 rows; more to fit on would change its test little.
_ENOUGH = 120_000


def segments_differ(audit: SegmentAudit, rows: Rows) -> bool | None:
    """Whether `SegmentCalibrator` repairs segments; None if nothing is shown to be wrong in them, or rows are too many.

    Of more than 120,000 rows as many are drawn at random; more than a million in files or engines stay there.
    """
    if not (off_sentence(audit) and audit.exact):
        return None
    from calibrant.calibrators import SegmentCalibrator

    held = rows.held()
    n = len(held.label)
    chosen = np.arange(n) if n <= _ENOUGH else np.random.default_rng(0).permutation(n)[:_ENOUGH]
    segments = {name: column_values(values, name)[chosen] for name, values in held.by.items()}
    repair = SegmentCalibrator().fit(held.score[chosen], held.label[chosen], segments)
    return bool(repair.decision_ == "repaired")
