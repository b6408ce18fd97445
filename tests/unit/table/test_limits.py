"""Limits as written: never stronger than what was found, and on the right side of what they are compared with."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.auditing.wording import error_limits
from calibrant.certificates import certify
from calibrant.table import numbers
from calibrant.table.numbers import claim_lower, claim_upper, number, share, signed, write_interval
from calibrant.table.statements import verdict_on

LIMITS = st.floats(-1e6, 1e6, allow_subnormal=False)
SHARES = st.floats(0.0, 1.0, allow_subnormal=False)


def read(text: str) -> tuple[Decimal, Decimal]:
    """Return a number as written, and what one unit of its last digit is worth."""
    digits = text.replace(",", "").replace("\N{MINUS SIGN}", "-")
    value = Decimal(digits.rstrip("%")) / (100 if digits.endswith("%") else 1)
    return value, Decimal(1).scaleb(value.as_tuple().exponent)


@pytest.mark.parametrize(
    ("value", "upper", "lower"),
    [
        (0.05, "0.0500", "0.0500"),  # though the nearest float is above 0.05
        (0.29, "0.2900", "0.2900"),  # 0.29 * 10**4 is 2899.9999999999995 in floats
        (0.0500000001, "0.0501", "0.0500"),
        (0.00099991, "0.001", "0.00099"),
        (0.99999, "1.0000", "0.9999"),
        (1.23e-7, "1.3e-07", "1.2e-07"),
        (-0.00004, "-4e-05", "-4e-05"),
        (-0.12345, "-0.1234", "-0.1235"),
        (12.34561, "12.346", "12.345"),
        (math.inf, "no limit", "no limit"),
    ],
)
def test_limits_are_rounded_outwards(value, upper, lower):
    assert numbers.write_upper(value) == upper
    assert numbers.write_lower(value) == lower


@pytest.mark.parametrize("write", [number, signed, share])
@given(values=st.data())
def test_no_limit_is_stronger_than_found(write, values):
    value = values.draw(SHARES if write is share else LIMITS)
    upper, unit = read(numbers.write_upper(value, write=write))
    assert 0 <= upper - Decimal(repr(value)) < unit or upper == Decimal(repr(value))
    lower, unit = read(numbers.write_lower(value, write=write))
    assert 0 <= Decimal(repr(value)) - lower < unit or lower == Decimal(repr(value))


@given(LIMITS)
def test_claims_have_four_digits(value):
    for text, sign in ((claim_upper(value), 1), (claim_lower(value), -1)):
        off = sign * (Decimal(text) - Decimal(repr(value)))
        assert 0 <= off <= abs(Decimal(repr(value))) / 1000
        assert len(Decimal(text).normalize().as_tuple().digits) <= 4


@given(st.floats(1e-6, 0.5), st.floats(0.0, 1e-3), st.floats(0.0, 1e-3), st.floats(1e-4, 0.5))
@example(0.45703125, 0.0, 0.0, 0.457)
def test_verdict_bounds_and_tolerance_agree_as_written(estimate, below, above, tolerance):
    tolerance = float(f"{tolerance:.3g}")
    lower, bound = max(0.0, estimate - below), estimate + above
    written = write_interval(estimate, lower, bound, tolerance)
    as_written = [float(read(text)[0]) for text in (written.upper, written.lower)]
    assert Decimal(numbers.given(tolerance)) == Decimal(repr(tolerance))
    assert verdict_on(bound, lower, 1.0, tolerance) == verdict_on(*as_written, 1.0, tolerance)
    value = read(written.value)[0]
    assert read(written.lower)[0] <= value <= read(written.upper)[0]


def sample(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p, p


@given(st.integers(0, 2**32))
def test_a_certificate_claims_no_more_than_it_proved(seed):
    found = certify(*sample(seed, 300))
    for text in (found.claim.split("at most ")[1].split()[0], re.search(r", bound=([0-9.]+)", repr(found))[1]):
        assert found.bound <= float(text) < found.bound + 1e-3


@pytest.mark.slow
def test_an_audit_prints_no_more_than_it_proved():
    audit = cal.audit(*sample(0, 400), tolerance=0.05)
    written = str(audit)
    assert float(re.search(r"at most ([0-9.]+) ", written)[1]) >= audit.certificate.bound
    assert error_limits(audit.certificate).upper in written
    auc = audit.performance.roc_auc
    lower, upper = re.search(r"AUC [0-9.]+ \(([0-9.]+) to ([0-9.]+)\)", written).groups()
    assert float(lower) <= auc.lower
    assert auc.upper <= float(upper)


@pytest.mark.slow
def test_a_bound_just_above_the_tolerance_is_not_written_as_the_tolerance():
    rows = sample(0, 2_000)
    tolerance = math.floor(certify(*rows).bound * 1e6) / 1e6  # undecided by less than is usually written
    audit = cal.audit(*rows, tolerance=tolerance)
    written = " ".join(str(audit).split())
    assert audit.certificate.verdict == "undecided"
    assert f"within {tolerance!r};" in written
    assert tolerance < float(re.search(r"at most ([0-9.]+)", written)[1]) < tolerance + 2e-4
