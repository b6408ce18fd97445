"""The tables of an audit that has segments or grades, and the same without the rest of the audit."""

from __future__ import annotations

import inspect
import math
from typing import Any

import calibrant
from calibrant.auditing.grades import amount_grades, grade_audit, grading_of
from calibrant.auditing.segment_audit import segment_audit
from calibrant.certificates.kinds import kind_of
from calibrant.certificates.question import Question
from calibrant.sources.given import given_outcomes, given_rows, row_options, segment_request, segment_totals

DEFAULTS = {name: each.default for name, each in inspect.signature(calibrant.audit).parameters.items()}


def segments_of(*rows: Any, **asked: Any) -> Any:
    return calibrant.audit(*rows, **asked).segments


def grades_of(data: Any, prediction: Any = None, grade: Any = None, **asked: Any) -> Any:
    return calibrant.audit(data, prediction, grade=grade, **asked).grades


def segments_alone(data: Any, prediction: Any = None, **asked: Any) -> Any:
    """What an audit says of segments, for tests that ask some hundred times."""
    given = DEFAULTS | asked | {"data": data, "prediction": prediction}
    kind = kind_of(calibrant.audit, given)
    named = {name: given[name] for name in ("tolerance", "direction", "confidence_level", "method")}
    question = Question(**named, most_tolerance=math.inf if kind.base == "amount" else 1.0)
    request = segment_request(*(given[name] for name in ("by", "depth", "direction", "min_rows", "cuts")))
    return segment_audit(segment_totals(kind, request, given), question, given["min_rows"])


def grades_alone(data: Any, prediction: Any = None, grade: Any = None, **asked: Any) -> Any:
    """The same of grades."""
    given = DEFAULTS | asked | {"data": data, "prediction": prediction}
    kind = kind_of(calibrant.audit, given)
    grading, how = grading_of(grade, None, kind.base), (given["confidence_level"], given["direction"])
    options = row_options(kind.base, given) | {"by": grading.columns}
    if kind.base == "amount":
        return amount_grades(given_outcomes(data, prediction, kind, **options), grading, *how)
    with given_rows(data, prediction, kind, **options) as rows:
        return grade_audit(rows, grading, *how)
