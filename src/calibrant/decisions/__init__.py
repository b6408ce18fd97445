"""What scores cost when decisions are made with them."""

from calibrant.decisions.cost import check_costs, decide, expected_cost, threshold
from calibrant.decisions.cost_curve import CostCurve, cost_curve
from calibrant.decisions.max_regret import MaxRegret, max_regret
from calibrant.decisions.net_benefit import NetBenefit, net_benefit
from calibrant.decisions.saving import Decision, regret_bound, saving_bound

__all__ = [
    "CostCurve",
    "Decision",
    "MaxRegret",
    "NetBenefit",
    "check_costs",
    "cost_curve",
    "decide",
    "expected_cost",
    "max_regret",
    "net_benefit",
    "regret_bound",
    "saving_bound",
    "threshold",
]
