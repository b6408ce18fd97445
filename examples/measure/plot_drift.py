"""
Drift, seen in the large
========================

When the base rate changes and the classifier does not, predictions are off on average:
calibration in the large.
"""

# %%
# A classifier is calibrated until June. From July on events become more frequent, by the same
# factor of the odds for every row.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from calibrant.metrics import calibration_in_the_large, observed_expected_ratio

rng = np.random.default_rng(0)
months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
shifts = np.repeat([0.0, 0.1, 0.2, 0.35], [6, 2, 2, 2])
found = []
for shift in shifts:
    p = rng.beta(1.5, 8, size=3_000)
    y = rng.uniform(size=len(p)) < expit(logit(p) + shift)
    found.append((calibration_in_the_large(y, p), observed_expected_ratio(y, p)))

# %%
# Observed rate minus mean predicted, in percentage points, and O:E, the observed number of
# positives over the expected number. Both come as an ``Estimate`` with a 95% interval.
figure, axes = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
for ax, estimates, reference, scale in zip(
    axes, zip(*found, strict=True), (0, 1), (100, 1), strict=True
):
    value, lower, upper = scale * np.array([[e.value, e.lower, e.upper] for e in estimates]).T
    ax.errorbar(months, value, yerr=[value - lower, upper - value], fmt="o", capsize=3)
    ax.axhline(reference, color="0.5", linestyle="--")
axes[0].set(
    ylabel="observed minus predicted\n(percentage points)", title="Calibration in the large"
)
axes[1].set(ylabel="observed / expected", title="O:E")

# %%
# In the second half of the year the intervals move away from the dashed lines: more events
# happen than predicted. Each interval holds with 95% confidence by itself, so in a year of
# perfect calibration one month in twenty is expected to miss the line.
plt.show()
