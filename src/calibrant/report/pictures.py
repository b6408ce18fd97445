"""The pictures of the report, each with a description and an explanation."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import error_place, error_text
from calibrant.decisions import CostCurve, NetBenefit
from calibrant.plots import Display, ForestDisplay, figure_svg
from calibrant.plots.audit import costs_of, cumulative_residuals_of, decisions_of, reliability_of
from calibrant.plots.grades import GradeDisplay
from calibrant.table.numbers import interval_text, number, rows, score_text, share

if TYPE_CHECKING:
    from markupsafe import Markup


class Picture(NamedTuple):
    """A display, drawn when a page asks for it, and its words for those who do not see it.

    The anchor, unique on the page, starts the ids inside the drawing.
    """

    name: str
    display: Display
    description: str
    of_what: str
    anchor: str

    @property
    def svg(self) -> Markup:
        """The drawing."""
        from markupsafe import Markup

        words = {"title": f"{self.name}: {self.of_what}", "description": self.description}
        prefix = f"{self.anchor}-{self.name.lower().replace(' ', '-')}"
        # figure_svg escapes what it is given, and matplotlib the text of the user in the drawing.
        figure, readings = self.display.own_figure(), self.display.readings()
        return Markup(figure_svg(figure, **words, prefix=prefix, readings=readings))


def pictures(audit: Findings, anchor: str) -> dict[str, Picture | None]:
    """Return the pictures of an audit; that of costs is None unless recalibration was assessed for independent rows."""
    picture, costs = partial(Picture, of_what=audit.name, anchor=anchor), costs_of(audit)
    grades = audit.grades
    residuals = cumulative_residuals_of(audit), cumulative_residuals_description(audit)
    return {
        "reliability": picture("Reliability diagram", reliability_of(audit), reliability_description(audit)),
        "cumulative_residuals": picture("Cumulative residuals", *residuals),
        "decisions": picture("Decision curve", decisions_of(audit), decisions_description(audit.decision_curve)),
        "grades": None if grades is None else picture("Rating grades", GradeDisplay(grades), grades.off_sentence()),
        "costs": None if costs is None else picture("Cost curve", costs, costs_description(costs.curve)),
    }


def forests(audit: Findings, anchor: str) -> list[tuple[Picture, list[list[str]]]]:
    """Return forest plots of O:E, slope and AUC, as far as clusters were compared by them, with their tables."""
    parts, of_what = audit.heterogeneity, f"{audit.name}, by cluster"
    every = () if parts is None else (parts.observed_expected, parts.calibration_slope, parts.roc_auc)
    return [
        (Picture(one.measure, ForestDisplay(one), " ".join(one.sentences()), of_what, anchor), one.lines())
        for one in every
        if len(one.cluster)
    ]


def reliability_description(audit: Findings) -> str:
    """What the reliability diagram shows, for readers who do not see it."""
    curve = audit.reliability
    points = "one point" if len(curve.score) == 1 else f"{len(curve.score)} points"
    return (
        f"The observed rate, in {points} for {rows(audit.sample.n)} rows, goes from {share(curve.rate[0])} at a mean "
        f"predicted probability of {number(curve.score[0])} to {share(curve.rate[-1])} at {number(curve.score[-1])}. "
        f"Largest calibration error: {error_place(audit)}."
    )


def cumulative_residuals_description(audit: Findings) -> str:
    """What the picture of the cumulative residuals shows, for readers who do not see it."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"The line stays at zero: {error_place(audit)}."
    course = "falls" if cutoff.direction == "too high" else "rises"
    chance = (
        f" 95% limit under perfect calibration: {number(cutoff.null_q95)}." if math.isfinite(cutoff.null_q95) else ""
    )
    return (
        f"The line {course} by {error_text(audit)}, the calibration error, over scores "
        f"{interval_text(cutoff.interval)}, and ends at {number(cutoff.mean_residual)}.{chance}"
    )


def decisions_description(curve: NetBenefit) -> str:
    """What the decision curve shows, for readers who do not see it."""
    useful = curve.threshold[curve.net_benefit > curve.treat_all.clip(0.0)]
    if not len(useful):
        return "At no threshold shown is the net benefit above that of treat all and treat none."
    return (
        f"Between the thresholds {score_text(float(useful[0]))} and {score_text(float(useful[-1]))} there are "
        f"{len(useful)} of {len(curve.threshold)} thresholds with a net benefit above that of treat all and treat none."
    )


def costs_description(curve: CostCurve) -> str:
    """What the cost curve shows, for readers who do not see it."""
    middle = len(curve.cost_parameter) // 2
    after = "" if curve.cost_after is None else f", {number(float(curve.cost_after[middle]))} after recalibration"
    return (
        f"Where a false positive costs p = {score_text(float(curve.cost_parameter[middle]))} and a false negative "
        f"1 - p, the mean cost per case is {number(float(curve.cost_before[middle]))} with these scores{after}, and "
        f"{number(float(curve.cost_best[middle]))} at the best threshold."
    )
