"""
Net benefit before and after recalibration
==========================================

A decision curve asks, for each threshold, whether using the scores is better than treating
all or no one.
"""

# %%
# Scores of a risk that are too extreme, with half of the rows to fit a calibrator.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.decisions import cost_curve, net_benefit
from calibrant.plots import DecisionCurveDisplay

rng = np.random.default_rng(0)
truth = rng.beta(2, 5, size=8_000)
y = rng.uniform(size=len(truth)) < truth
p = 1 / (1 + (1 / truth - 1) ** 3)
fit, rest = slice(4_000), slice(4_000, None)
recalibrated = cal.BetaCalibrator().fit(p[fit], y[fit]).predict(p[rest])

# %%
# Net benefit counts true positives per case, less false positives at the price that the
# threshold implies. At thresholds where the curve lies below that of treat all or treat none,
# decisions by these scores do harm.
display = DecisionCurveDisplay(
    net_benefit(y[rest], p[rest]), name="Scores that are too extreme"
).plot()

# %%
# Recalibrated scores on the same rows. Only rows that the two scores decide differently
# matter, so the difference of costs (of a ``CostCurve``) is known better than each
# ``NetBenefit``; that of net benefits is ``-difference / (1 - threshold)``.
found = cost_curve(y[rest], p[rest], recalibrated, at=np.linspace(0.02, 0.6, 59))
price = 1 - found.cost_parameter
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
lower, upper = -found.difference_upper / price, -found.difference_lower / price
ax.fill_between(found.cost_parameter, lower, upper, alpha=0.25, label="95% interval")
ax.plot(found.cost_parameter, -found.difference / price, label="recalibrated minus original")
ax.axhline(0, color="0.5", linestyle="--")
ax.set(xlabel="threshold", ylabel="difference of net benefit")
ax.legend()
plt.show()
