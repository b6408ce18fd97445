"""
Local calibration and its span
==============================

The local calibration score averages the labels of the rows nearest to each score. How many
rows that are is the span.
"""

# %%
# Scores that are too extreme, with the true probabilities known.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.curves import local_curve
from calibrant.metrics import local_calibration, local_calibration_score
from calibrant.papers import distorted_probabilities

rows = distorted_probabilities(2_000, gamma=2.5)

# %%
# A small span follows chance, a large one hides the bend. In the middle the curve is near the
# truth. The score of each curve is the weighted mean square of its distance from the
# diagonal.
order = np.argsort(rows.y_proba)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), sharey=True, layout="constrained")
for ax, span in zip(axes, (0.01, 0.1, 0.6), strict=True):
    curve = local_curve(rows.y_true, rows.y_proba, span=span)
    found = local_calibration(rows.y_true, rows.y_proba, span=span)
    ax.plot([0, 1], [0, 1], "--", color="0.6", label="perfect calibration")
    ax.plot(
        rows.y_proba[order], rows.p_true[order], color="black", linewidth=0.8, label="truth"
    )
    ax.plot(curve.score, curve.rate, color="tab:orange", label="local average")
    ax.set(
        title=f"span {span}: score {found.value:.4f}\n(if calibrated {found.null_mean:.4f})",
        xlabel="predicted probability",
    )
axes[0].set_ylabel("observed rate")
axes[0].legend(fontsize=8)

# %%
# Perfectly calibrated scores do not get 0: a narrow window picks up chance, and a wide one
# flattens the curve. ``LocalCalibration`` has this expectation as ``null_mean``, and what
# exceeds it as ``excess``.
print(f"LCS {local_calibration_score(rows.y_true, rows.y_proba):.4f}")
plt.show()
