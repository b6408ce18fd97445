"""What scores cost when decisions are made with them."""

from calibrant.decisions.cost import check_costs, decide, expected_cost, threshold
from calibrant.decisions.saving import Decision, regret_bound, saving_bound

__all__ = ["Decision", "check_costs", "decide", "expected_cost", "regret_bound", "saving_bound", "threshold"]
