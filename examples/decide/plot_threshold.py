"""
The optimal threshold, and what is lost at it
=============================================

If scores are probabilities, the costs alone say where to put the threshold. If they are not,
calibrant bounds the loss.
"""

# %%
# A missed positive costs four times as much as a false alarm. The scores are too low.
import matplotlib.pyplot as plt
import numpy as np

from calibrant import cutoff_calibration_error
from calibrant.decisions import (
    decide,
    expected_cost,
    max_regret,
)

rng = np.random.default_rng(0)
p_true = rng.beta(1, 2, size=3_000)
y = rng.uniform(size=len(p_true)) < p_true
p = p_true**2
costs = {"false_positive_cost": 1, "false_negative_cost": 4}

# %%
# The optimal threshold for probabilities is a / (a + b) = 0.2. The mean cost of these rows
# has its minimum elsewhere.
thresholds = np.linspace(0, 1, 101)
decision = expected_cost(y, p, **costs)
figure, ax = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
ax.plot(
    thresholds,
    [expected_cost(y, p, **costs, threshold=t).cost for t in thresholds],
    label="mean cost, these scores",
)
ax.plot(
    thresholds,
    [expected_cost(y, p_true, **costs, threshold=t).cost for t in thresholds],
    label="mean cost, true probabilities",
)
ax.axvline(decision.threshold, color="0.4", linestyle="--", label="a / (a + b)")
ax.set(xlabel="threshold", ylabel="cost per case")
ax.legend()

# %%
# A ``Decision`` bounds what any recalibration that keeps the order could save at these costs.
# A ``MaxRegret`` bounds it for all costs at once, and the calibration error bounds it in
# turn, more coarsely.
regret = max_regret(y, p)
print(f"predicted positive: {decide(p, **costs).mean():.0%} of cases")
print(
    f"saving at these costs: {decision.saving:.3f}, at "
    f"most {decision.saving_bound:.3f} (95% confidence)"
)
print(
    "largest loss at costs that add up to 5: "
    f"{5 * regret.value:.3f}, at most {5 * regret.bound:.3f}"
)
print(
    f"by the calibration error, at most {5 * cutoff_calibration_error(y, p):.3f} on these rows"
)

# %%
# And the costs that the scores forecast are wrong.
print(f"forecast {decision.cost_forecast:.3f}, actual cost {decision.cost:.3f}")
plt.show()
