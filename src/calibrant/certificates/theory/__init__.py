"""What the papers prove, for those who study it; `certify` by default uses narrower bounds."""

from calibrant.certificates.theory.l1 import L1Bound, L1Impossibility, l1_cannot_be_certified, l1_from_repeats
from calibrant.certificates.theory.rademacher import rademacher_finite, rademacher_linear, rademacher_of_intervals
from calibrant.certificates.theory.rademacher_ties import (
    SimulatedRademacher,
    rademacher_simulated,
    rademacher_with_ties,
)
from calibrant.certificates.theory.theorem2 import uniform_convergence_width
from calibrant.keywords import check_package

__all__ = [
    "L1Bound",
    "L1Impossibility",
    "SimulatedRademacher",
    "l1_cannot_be_certified",
    "l1_from_repeats",
    "rademacher_finite",
    "rademacher_linear",
    "rademacher_of_intervals",
    "rademacher_simulated",
    "rademacher_with_ties",
    "uniform_convergence_width",
]

check_package(__name__)
