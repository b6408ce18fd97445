"""Formulas of how far an empirical calibration error may be from the true one, as functions of `delta`.

`delta` is the probability of failure: one minus the confidence level.
"""

from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.closed_form import asymptotic_width, brownian_width, monotone_width
from calibrant.certificates.widths.default import bernstein_width, default_width
from calibrant.certificates.widths.fixed_design import (
    cumulative_width,
    effective_rows,
    fixed_design_width,
    variance_bound,
    weighted_fixed_design_width,
)
from calibrant.keywords import check_package

__all__ = [
    "anytime_width",
    "asymptotic_width",
    "bernstein_width",
    "brownian_width",
    "cumulative_width",
    "default_width",
    "effective_rows",
    "fixed_design_width",
    "monotone_width",
    "variance_bound",
    "weighted_fixed_design_width",
]

check_package(__name__)
