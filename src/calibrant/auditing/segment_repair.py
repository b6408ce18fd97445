"""Whether segments differ beyond what one map for all rows mends, by the test of the repair that advice names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.auditing.segment_rows import columns_of, two_columns
from calibrant.auditing.segment_wording import off_sentence
from calibrant.segments.values import column_values
from calibrant.sources.segment_source import rows_with_columns
from calibrant.table.validation import clean_rows

if TYPE_CHECKING:
    from calibrant.auditing.segment_audit import SegmentAudit

__all__ = ["segments_differ"]

# The repair itself holds out 20,000 of more than 100,000 rows; more to fit on would change its test little.
_ENOUGH = 120_000


def segments_differ(
    audit: SegmentAudit,
    y_true: Any,
    y_proba: npt.ArrayLike | None,
    by: Any,
    *,
    label: str | None,
    score: str | None,
    pos_label: Any,
    missing: str,
) -> bool | None:
    """Whether `SegmentCalibrator` repairs segments; None if nothing is shown to be wrong in them, or rows are too many.

    Of more than 120,000 rows as many are drawn at random; more than a million in files or engines stay there.
    """
    if not (off_sentence(audit) and audit.exact):
        return None
    from calibrant.calibrators import SegmentCalibrator

    columns = columns_of(by)
    if not isinstance(columns, dict):
        assert label is not None
        assert score is not None
        named: dict[str, Any] = {"label": label, "score": score, "pos_label": pos_label, "missing": missing}
        y_true, y_proba, columns, _ = rows_with_columns(y_true, columns, **named)
        pos_label = None
    elif label is not None and score is not None:
        y_true, y_proba = two_columns(y_true, label, score)
    assert y_proba is not None
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    n = len(rows.label)
    chosen = np.arange(n) if n <= _ENOUGH else np.random.default_rng(0).permutation(n)[:_ENOUGH]
    held = {name: column_values(values, name)[chosen] for name, values in columns.items()}
    repair = SegmentCalibrator().fit(rows.score[chosen], rows.label[chosen], held)
    return bool(repair.decision_ == "repaired")
