"""What a comparison of models returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.auditing.provenance import Provenance
from calibrant.curves import CumulativeResiduals, Curve
from calibrant.metrics import CutoffCalibration
from calibrant.table.results import Result
from calibrant.table.statements import Statement


@dataclass(frozen=True, eq=False)
class ComparedModel(Result):
    """One of the models that were compared.

    Attributes
    ----------
    name : str
        Its name.
    measures : dict of str to float
        Its measures by name: "calibration_error", "brier_score", "log_loss", "roc_auc", and with costs "expected_cost"
        and "net_benefit".
    mean_score : float
        Mean predicted probability.
    cutoff : CutoffCalibration
        Its calibration error with the scores at which it is attained.
    reliability : Curve
        Observed rate in ten bins.
    cumulative_residuals : CumulativeResiduals
        At fewer scores, for drawing.
    """

    name: str
    measures: dict[str, float]
    mean_score: float
    cutoff: CutoffCalibration
    reliability: Curve
    cumulative_residuals: CumulativeResiduals


@dataclass(frozen=True)
class MeasureDifference(Result):
    """A measure of one model less that of another, on the same rows.

    Attributes
    ----------
    measure : str
        Which measure, as in `ComparedModel`.
    first, second : str
        Names of the models.
    value : float
        Measure of the second model less that of the first.
    standard_error : float
        Of `value`; NaN for the calibration error, whose distribution has none that would say how sure it is.
    lower, upper : float
        Limits for the difference in the population. All intervals of a comparison hold together with its confidence.
    better : str or None
        The better model; None if the interval holds 0.
    rows_needed : int or None
        If undecided: about how many rows would decide, were the difference what it seems; fewer where the models differ
        in few rows. None if decided, or if no practicable number would do.
    clusters_needed : int or None
        The same in clusters like these; None without clusters.
    """

    measure: str
    first: str
    second: str
    value: float
    standard_error: float
    lower: float
    upper: float
    better: str | None
    rows_needed: int | None
    clusters_needed: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonFindings(Statement):
    """All numbers of a comparison.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        As in every `Statement`.
    name : str
        What was compared, for headings.
    n, positives : int
        Rows, and positives among them.
    n_clusters : int or None
        Clusters of rows that may depend on each other; None if rows are independent.
    effective_clusters : float or None
        Number of clusters of equal size that would be worth as much.
    costs : tuple of float or None
        Cost of a false positive and of a false negative.
    models : dict of str to ComparedModel
        The models by name, in the order given.
    differences : tuple of MeasureDifference
        Of every pair of models and every measure: the later model less the earlier.
    ranks : dict of str to dict
        Of every measure the rank of every model: one more than the number of models that are better than it beyond
        chance. Models of the same rank are tied: these rows do not show which is better.
    critical_value : float
        Number of standard errors that the intervals of the measures that are means extend to either side, for many
        rows.
    provenance : Provenance
        When and by which call it was made, of which rows, and the fingerprint of its numbers.
    """

    name: str
    n: int
    positives: int
    n_clusters: int | None
    effective_clusters: float | None
    costs: tuple[float, float] | None
    models: dict[str, ComparedModel]
    differences: tuple[MeasureDifference, ...]
    ranks: dict[str, dict[str, int]]
    critical_value: float
    provenance: Provenance

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(self.ranks)

    def difference(self, measure: str, first: str | None = None, second: str | None = None) -> MeasureDifference:
        """Return a difference by its measure and, where there are more than two models, by these.

        The order of the models does not matter: it is that of `differences`. A KeyError says that there is none.
        """
        for found in self.differences:
            pair = {found.first, found.second}
            if found.measure == measure and {first or found.first, second or found.second} <= pair:
                return found
        raise KeyError(f"{measure!r} of {first!r} and {second!r}")

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the differences, one entry per measure and pair."""
        names = ("measure", "first", "second", "value", "standard_error", "lower", "upper")
        return {name: np.array([getattr(one, name) for one in self.differences]) for name in names}

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the findings as plain data, marked with the version that made them.

        With ``curves=False`` the points of the curves are left out.
        """
        found = super().to_dict(curves=curves)
        if not curves:
            for model in found["models"].values():
                model.pop("reliability")
                model.pop("cumulative_residuals")
        return {"calibrant": self.provenance.version, "kind": "comparison"} | found
