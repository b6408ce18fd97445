"""Test perfect calibration, of any kind: are residuals larger than chance explains? `calibrant.calibration_test`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.class_test import judge_classes
from calibrant.certificates.clusters import cluster_test
from calibrant.certificates.kinds import kind_of
from calibrant.certificates.label_test import table_test
from calibrant.certificates.mean_test import Distribution, mean_test
from calibrant.certificates.question import Question, need_cluster_method
from calibrant.certificates.results import CalibrationTest
from calibrant.kinds import Kind
from calibrant.sources.given import class_scores_of, given_outcomes, given_rows
from calibrant.table.clusters import Clusters, cap_clusters
from calibrant.table.outcome_table import ANY_OUTCOME, Limits
from calibrant.table.parameters import check_choice, check_count, check_random_state


def calibration_test(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    kind: Kind | str | None = None,
    method: Literal["default", "exact", "asymptotic"] = "default",
    distribution: Distribution | None = None,
    n_simulations: int = 999,
    count: npt.ArrayLike | str | None = None,
    chance: npt.ArrayLike | str | None = None,
    cluster: Clusters | str | Sequence[str] | None = None,
    cluster_cap: int | None = 1,
    unseen_clusters: bool = False,
    exposure: npt.ArrayLike | str | None = None,
    weight: npt.ArrayLike | str | None = None,
    limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    pos_label: Any = None,
    classes: Sequence[Any] | None = None,
    missing: Literal["raise", "drop"] = "raise",
    random_state: int | np.random.Generator = 0,
) -> CalibrationTest:
    """Test the hypothesis that a score of s means a probability, or a mean, of s, for every score.

    Parameters
    ----------
    data, prediction, outcome, kind
        As in `certify`. Of several classes the hypothesis is that every label is drawn from its row.
    method : {"default", "exact", "asymptotic"}
        Of events. "exact", the default, counts all outcomes where they are few, and else simulates the labels from the
        scores. "asymptotic" uses the asymptotic distribution, costs nothing, and also works on a table with cells;
        where these can hide a larger error the p-value is too large. With clusters the test of every kind is asymptotic
        in their number.
    distribution : {"poisson", "binomial"}, optional
        Of amounts that are counts, tested beside: Poisson with the predictions, times the exposure, as means; or
        binomial with the exposure as the number of trials, and the predictions as probabilities.
    n_simulations : int
        Simulations of labels or counts, or rotations of clusters. The smallest p-value that simulation can give is
        ``1 / (n_simulations + 1)``. Ten times as many are made if the first give a p-value from .003 to .13; of several
        classes 199 if these give .3 or more.
    count, chance, cluster, cluster_cap, unseen_clusters, pos_label, classes, missing
        As in `certify`. Labels of rows that were looked at with known chances are tested as amounts of 0 and 1.
    exposure, weight, limits, relative_to
        Of amounts, as in `certify`.
    random_state : int or numpy.random.Generator
        Seeds the simulation, together with a digest of the rows. Choose it before seeing p-values: another seed gives
        another one, at .05 with a standard deviation of about .002.

    Returns
    -------
    CalibrationTest
        The p-value with everything needed to quote it.

    Raises
    ------
    ArgumentError, DataError
        If a parameter is out of range, or is none of this kind; if the rows cannot be used, or are too few.

    See Also
    --------
    certify : Bounds how far the scores are off, rather than asking whether they are off at all.

    Notes
    -----
    "exact" rejects a true hypothesis at level a with probability at most a, for every n, ties and a single class
    (docs/theory/7-seeds.md). "asymptotic" takes the range of a Brownian motion, with a term for rare events
    (docs/theory/6-null.md); with clusters their residuals are rotated (3-clusters.md). The test of amounts takes the
    self-normalised range (docs/reference/means.md). The error is that of Gao, Parameswaran & Peng (2017).

    Examples
    --------
    >>> from calibrant import ScoreTable, calibration_test
    >>> round(calibration_test(ScoreTable.from_counts([0.2, 0.8], [500, 500], [130, 400])).p_value, 3)
    0.02
    """
    which = kind_of(calibration_test, locals())
    check_choice("method", method, ("default", "exact", "asymptotic"))
    n_simulations = check_count("n_simulations", n_simulations, 1, "999 is a good choice")
    check_random_state(random_state)
    rows: dict[str, Any] = {
        "outcome": outcome,
        "count": count,
        "chance": chance,
        "cluster": cluster,
        "missing": missing,
    }
    question = Question(unseen_clusters=unseen_clusters, n_simulations=n_simulations, random_state=random_state)
    if which.base == "amount":
        rows |= {"exposure": exposure, "weight": weight, "limits": limits, "relative_to": relative_to}
        table = given_outcomes(data, prediction, which, **rows)
        return mean_test(table, distribution, n_simulations, random_state)
    if which.base == "classes":
        del rows["chance"]
        of_classes = class_scores_of(data, prediction, classes=classes, **rows)
        return judge_classes(of_classes, question, cluster_cap).without(of_classes.left_out)
    with given_rows(data, prediction, which, pos_label=pos_label, **rows) as opened:
        if (drawn := opened.drawn) is not None:
            test = replace(mean_test(drawn, None, n_simulations, random_state), kind=which.base)
        elif cluster is None:
            test = table_test(opened.table(), method, n_simulations, random_state)
        else:
            if method != "default":
                need_cluster_method(method, ("asymptotic",))
            test = cluster_test(cap_clusters(opened.clustered(), cluster_cap), question)
        return test.without(opened.intake.left_out)
