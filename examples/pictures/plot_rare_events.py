"""
Rare events
===========

Where events are rare, all scores are near 0. The axes of the pictures then are square-root
scales.
"""

# %%
# About one case in a hundred is positive. The scores are too high by a third.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.curves import cumulative_residuals
from calibrant.plots import CumulativeResidualsDisplay, ReliabilityDisplay

rng = np.random.default_rng(0)
truth = rng.beta(0.6, 60, size=60_000)
y = rng.uniform(size=len(truth)) < truth
p = np.minimum(truth * 4 / 3, 1)

# %%
# On ordinary axes all points would lie in the lower left corner. On square-root scales, small
# scores have more space, and zero still has its place, which it has not on logarithmic ones.
# The diagonal remains straight.
display = ReliabilityDisplay.from_predictions(y, p, name="Rare events")

# %%
# The calibration error is small in absolute terms, since few cases are concerned. Compare it
# with its limit, and look at O:E, observed over expected positives, which is on the scale of
# the base rate.
cutoff = cal.cutoff_calibration(y, p)
print(f"base rate {y.mean():.2%}, O:E {y.mean() / p.mean():.2f}")
print(f"error {cutoff.value:.5f}, 95% limit under perfect calibration {cutoff.null_q95:.5f}")
display = CumulativeResidualsDisplay(
    cumulative_residuals(y, p), cutoff=cutoff, name="Rare events"
).plot()
plt.show()
