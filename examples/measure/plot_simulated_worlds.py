"""
Scores with known truth
=======================

Where data are simulated, the true probability of every row is known, and estimates can be
compared with it.
"""

# %%
# Two distortions of true probabilities: ``alpha`` raises them to a power, ``gamma``
# multiplies their log-odds. The black line is the true event rate at each score.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.papers import distorted_probabilities, l1_error, true_mse
from calibrant.plots import ReliabilityDisplay

settings = {
    "too low": (3.0, 1.0),
    "too high": (1 / 3, 1.0),
    "too extreme": (1.0, 3.0),
    "too moderate": (1.0, 1 / 3),
}
figure, axes = plt.subplots(
    2, 2, figsize=(8, 7.4), sharex=True, sharey=True, layout="constrained"
)
for ax, (name, (alpha, gamma)) in zip(axes.flat, settings.items(), strict=True):
    rows = distorted_probabilities(3_000, alpha=alpha, gamma=gamma)
    ReliabilityDisplay.from_predictions(
        rows.y_true, rows.y_proba, curve=None, distribution=False, ax=ax
    )
    order = np.argsort(rows.y_proba)
    ax.plot(rows.y_proba[order], rows.p_true[order], color="black", label="true probability")
    ax.set_title(name)
    ax.label_outer()
    print(
        f"{name:13} error {cal.cutoff_calibration_error(rows.y_true, rows.y_proba):.3f},"
        f" against the truth {cal.cutoff_calibration_error(rows.y_true, rows.p_true):.3f};"
        f" true MSE {true_mse(rows.p_true, rows.y_proba):.4f}, "
        f"l1 {l1_error(rows.p_true, rows.y_proba):.3f}"
    )
axes[0, 0].legend(fontsize=8, loc="lower right")

# %%
# Each sample is a ``DistortedProbabilities``. Estimates follow the truth. ``true_mse`` and
# ``l1_error`` are distances from the true probability of each row; they need the truth and
# can only be computed here. The second error printed is that of the true probabilities,
# perfectly calibrated scores: chance alone.
plt.show()
