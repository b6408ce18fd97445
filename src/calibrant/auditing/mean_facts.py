"""What an audit of amounts shows that no other does."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calibrant.auditing.findings import MeanFindings
from calibrant.auditing.wording import Words, error_writer, named_sides, on_average, side_takes
from calibrant.certificates.mean_test import NAMES
from calibrant.table.numbers import amount, number, share, write_interval, write_p_value
from calibrant.table.results import Fact, estimated, joined


def total(audit: MeanFindings, _: Words) -> str:
    """Observed and predicted total, and their ratio with its interval."""
    ratio = round(audit.bias.value, 12)  # of predictions that were scaled to the total it is 1 but for rounding
    written = write_interval(ratio, audit.bias.lower, audit.bias.upper, 1.0)
    known = f"{written.value}, {audit.bias.note}" if math.isnan(audit.bias.lower) else str(written)
    return f"O:E {known}; {amount(audit.observed)} observed, {amount(audit.predicted)} predicted{on_average(audit)}"


def test(audit: MeanFindings, _: Words) -> Fact:
    """P-values, and the dispersion of counts."""
    known = audit.test
    if known is None:
        return Fact("", "", "")
    text = "" if math.isnan(known.p_value) else write_p_value(known.p_value)
    if known.distribution is not None and known.distribution_p_value is not None:
        counts = (
            f"{write_p_value(known.distribution_p_value, known.n_simulations)} as {NAMES[known.distribution]} counts"
        )
        text = joined(text, counts if known.dispersion is None else f"{counts}, dispersion {known.dispersion:.3g}")
    return Fact("", "", text, note=f"{known.claim} {known.note}".strip())


def ranking(audit: MeanFindings, _: Words) -> str:
    """How well predictions tell rows apart."""
    parts = audit.decomposition
    explained = share(parts.discrimination / parts.uncertainty) if parts.uncertainty > 0.0 else "nothing"
    return f"Gini {number(audit.concentration.gini)}, discrimination {explained} of the deviance"


def sides(audit: MeanFindings, _: Words) -> Iterator[Fact]:
    """Yield both sides with their bounds, and what these take."""
    certificate = audit.certificate
    for key, label, side in named_sides(certificate):
        ends = side.estimate, side.lower, side.upper, certificate.tolerance
        yield Fact(key, label, *write_interval(*ends, write=error_writer(certificate)), note=side_takes(key, side))


def measures(audit: MeanFindings, _: Words) -> Iterator[Fact]:
    """Yield what predictions are worth beside their calibration."""
    parts, curve = audit.decomposition, audit.concentration
    yield estimated("bias", "Observed/predicted", audit.bias, "", "1 is ideal")
    for key, label, value, note in (
        ("gini", "Gini index", curve.gini, f"{number(curve.gini_predicted)} if predictions were right"),
        (
            "abc",
            "Area (ABC)",
            curve.area,
            "between Lorenz and concentration curve; above 0, predictions are spread too far",
        ),
        ("deviance", "Deviance", parts.value, _deviance_note(audit)),
        ("miscalibration", "Miscalibration", parts.miscalibration, "the part of it that an isotonic map removes"),
        ("discrimination", "Discrimination", parts.discrimination, "the part of it that ranking removes"),
        ("uncertainty", "Uncertainty", parts.uncertainty, "deviance of one prediction for all"),
    ):
        yield Fact(key, label, number(value), note=note)


def _deviance_note(audit: MeanFindings) -> str:
    """Which deviance it is, and of what it is the mean."""
    name = {"poisson": "Poisson", "squared": "squared error"}[audit.deviance]
    unit = {"exposure": "unit of exposure", "sample_weight": "unit of weight"}.get(audit.weighting, "row")
    return f"{name}, per {unit}"
