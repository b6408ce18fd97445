"""
Why bins mislead
================

The expected calibration error (ECE) depends on the number of bins. The cutoff calibration
error has no bins to choose.
"""

# %%
# The same labels come with two scores: their true probabilities, which are perfectly
# calibrated, and scores that are too extreme.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.metrics import binned_calibration
from calibrant.papers import distorted_probabilities

rows = distorted_probabilities(2_000, gamma=1.6)
scores = {"Perfectly calibrated": rows.p_true, "Too extreme": rows.y_proba}

# %%
# Each line is the ECE over the number of bins, once with bins of equally many rows and once
# with bins of equal width. The horizontal line is the cutoff calibration error, with the 95%
# limit under perfect calibration in grey.
numbers = np.unique(np.geomspace(2, 500, 30).astype(int))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, (name, score) in zip(axes, scores.items(), strict=True):
    for strategy, style in (("quantile", "-"), ("uniform", "--")):
        ece = [
            cal.expected_calibration_error(rows.y_true, score, n_bins=n, strategy=strategy)
            for n in numbers
        ]
        ax.plot(numbers, ece, style, color="tab:orange", label=f"ECE, {strategy} bins")
    cutoff = cal.cutoff_calibration(rows.y_true, score)
    ax.axhline(cutoff.value, color="tab:blue", label="cutoff calibration error")
    ax.axhspan(0, cutoff.null_q95, color="0.88", label="95% limit under perfect calibration")
    ax.set(xscale="log", xlabel="number of bins", title=name, ylim=(0, None))
axes[0].set_ylabel("calibration error")
axes[0].legend(loc="upper left", fontsize=8)

# %%
# On the left nothing is wrong with the scores, yet the ECE grows and grows as bins get small:
# in a bin of four rows the observed rate is far from the mean score by chance alone. On the
# right the answer is anything between the first and the last point of the line. The cutoff
# calibration error is one number, and its limit under perfect calibration tells the two cases
# apart: only on the right does it lie above the grey area.

# %%
# For an ECE, ``binned_calibration`` returns a ``BinnedCalibration``, which says what to
# expect of calibrated scores in the same bins.
for n_bins in (10, 100):
    found = binned_calibration(rows.y_true, rows.p_true, n_bins=n_bins)
    print(
        f"{n_bins:3} bins, calibrated scores: {found.value:.4f}, "
        f"expected by chance {found.null_mean:.4f}"
    )
plt.show()
