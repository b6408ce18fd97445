"""
Distances between score and smooth curve
========================================

The integrated calibration index (ICI) is the mean distance between the scores and a smooth
curve of observed rates.
"""

# %%
# Scores that are too high, and a local regression of the labels on them.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.curves import local_curve
from calibrant.metrics import integrated_calibration_index
from calibrant.papers import distorted_probabilities

rows = distorted_probabilities(1_500, alpha=0.5)
y, p = rows.y_true, rows.y_proba
index = integrated_calibration_index(y, p)

# %%
# On the left, each grey segment is the distance of one row (every tenth is drawn) from the
# curve to the diagonal. On the right, all distances; ICI is their mean, E50 and E90 are
# quantiles, Emax is the largest.
curve = local_curve(y, p, span=0.75, degree=2, kernel="tricube", at=np.sort(p))
distance = np.abs(curve.rate - curve.score)
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
left.plot([0, 1], [0, 1], "--", color="0.6", label="perfect calibration")
left.plot(curve.score, curve.rate, color="tab:blue", label="local regression")
left.vlines(curve.score[::10], curve.rate[::10], curve.score[::10], color="0.6", linewidth=0.6)
left.set(xlabel="predicted probability", ylabel="observed rate")
left.legend()
right.hist(distance, bins=40, color="0.8")
for name, colour in (
    ("ici", "tab:blue"),
    ("e50", "tab:green"),
    ("e90", "tab:orange"),
    ("emax", "tab:red"),
):
    value = getattr(index, name)
    right.axvline(value, color=colour, label=f"{name} {value:.3f}")
right.set(xlabel="distance between score and curve", ylabel="rows")
right.legend(loc="upper left")

# %%
# The result, an ``IntegratedCalibration``, also says what to expect of calibrated scores: a
# mean distance above 0.
print(f"ICI {index.ici:.4f}; under perfect calibration, on average {index.null_mean:.4f}")
plt.show()
