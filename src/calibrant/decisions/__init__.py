"""What scores cost when decisions are made with them."""

from calibrant.decisions.class_confusion import ClassConfusion, confusion
from calibrant.decisions.cost import CostForecast, cost_forecast, decide, expected_cost, optimal_threshold
from calibrant.decisions.cost_curve import CostCurve, cost_curve
from calibrant.decisions.max_regret import MaxRegret, max_regret
from calibrant.decisions.net_benefit import NetBenefit, NetBenefitDifference, net_benefit, net_benefit_difference
from calibrant.decisions.planning import selective_plan
from calibrant.decisions.saving import Decision, isotonic_harm_bound, regret_bound, saving_bound
from calibrant.decisions.selections import BinarySelection, MissedPositives, Selections
from calibrant.decisions.selective import RiskCoverageCurve, Selection, SelectiveCutoff
from calibrant.decisions.swap_regret import SwapRegret, swap_regret
from calibrant.keywords import check_package

__all__ = [
    "BinarySelection",
    "ClassConfusion",
    "CostCurve",
    "CostForecast",
    "Decision",
    "MaxRegret",
    "MissedPositives",
    "NetBenefit",
    "NetBenefitDifference",
    "RiskCoverageCurve",
    "Selection",
    "Selections",
    "SelectiveCutoff",
    "SwapRegret",
    "confusion",
    "cost_curve",
    "cost_forecast",
    "decide",
    "expected_cost",
    "isotonic_harm_bound",
    "max_regret",
    "net_benefit",
    "net_benefit_difference",
    "optimal_threshold",
    "regret_bound",
    "saving_bound",
    "selective_plan",
    "swap_regret",
]

check_package(__name__)
