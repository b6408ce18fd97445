"""What is asked of rows, whatever they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.decisions.cost import cost_pair
from calibrant.decisions.selections import target_pair
from calibrant.errors import ArgumentError
from calibrant.table import parameters
from calibrant.table.pooling import NumberArray

_CLUSTER_METHODS = ("default", "asymptotic")


@dataclass(frozen=True, kw_only=True)
class Question:
    """Parameters of `calibrant.audit`, `calibrant.compare` and `calibrant.certificates.certify`, as given, checked."""

    tolerance: float | None = None
    most_tolerance: float = 1.0
    confidence_level: float = 0.95
    method: parameters.BoundMethod | None = None
    direction: parameters.Direction = "either"
    costs: Mapping[str, float] | Sequence[float] | NumberArray | None = None
    target_error: float | Sequence[float] | None = None
    cluster_cap: int | None = None
    unseen_clusters: bool = False
    n_folds: int = 5
    n_simulations: int = 999
    random_state: int | np.random.Generator = 0

    def __post_init__(self) -> None:
        """Raise an `ArgumentError` where parameters are out of range."""
        parameters.failure_probability(self.confidence_level)
        parameters.check_method(self.bound_method)
        parameters.check_choice("direction", self.direction, tuple(parameters.SIDES))
        if self.tolerance is not None:
            remedy = "a tolerance is an average gap in probability, such as 0.02"
            if self.most_tolerance == math.inf:
                remedy = "choose a share of the total, such as 0.02"
            parameters.check_between("tolerance", self.tolerance, 0.0, self.most_tolerance, remedy=remedy)
        if self.costs is not None:
            cost_pair(self.costs)
        if self.target_error is not None:
            target_pair(self.target_error)
        parameters.check_flag("unseen_clusters", self.unseen_clusters)
        parameters.check_count("n_folds", self.n_folds, 2, "five folds are customary")
        parameters.check_count("n_simulations", self.n_simulations, 1, "999 is a good choice")
        parameters.check_random_state(self.random_state)

    @property
    def delta(self) -> float:
        """Probability with which a statement may fail."""
        return parameters.failure_probability(self.confidence_level)

    @property
    def bound_method(self) -> parameters.BoundMethod:
        """Name of the bound asked for."""
        return "default" if self.method is None else self.method

    @property
    def side(self) -> int:
        """1 if only predictions that are too low count, -1 if only those that are too high, 0 if both do."""
        return parameters.SIDES[self.direction]

    @property
    def as_far(self) -> str:
        """Say in a claim which errors count, if not all."""
        return f"as far as predictions are {self.direction}, " if self.side else ""

    @property
    def of_range(self) -> float:
        """Mean of what is looked at of a Brownian motion, as a share of its mean range: all, or its largest rise."""
        return 0.25 * math.pi if self.side else 1.0

    @property
    def prices(self) -> tuple[float, float] | None:
        """Costs of a false positive and of a false negative, if there are any."""
        return None if self.costs is None else cost_pair(self.costs)

    @property
    def threshold(self) -> float | None:
        """Score from which predicting positive is right at these costs, if scores are probabilities."""
        return None if self.prices is None else self.prices[0] / sum(self.prices)

    def need_for(self, *, clusters: bool) -> None:
        """Raise an `ArgumentError` if what is asked for has no bound of clustered rows."""
        if clusters and self.target_error is not None:
            remedy = "leave one of them out; of whether decisions were right, `calibrant.selective` takes clusters"
            raise ArgumentError("independent rows, where there is a `target_error`", "clusters", remedy)
        if clusters:
            need_cluster_method(self.bound_method)


def need_cluster_method(method: str, allowed: tuple[str, ...] = _CLUSTER_METHODS) -> None:
    """Raise an `ArgumentError` if clusters are given to a method that needs independent rows."""
    if method not in allowed:
        listed = " or ".join(repr(name) for name in allowed)
        expected = f"`method` {listed} with `cluster`"
        remedy = "leave out `method`, or keep one row of each cluster and leave out `cluster`"
        raise ArgumentError(expected, f"method {method!r}, which holds only for independent rows", remedy)
