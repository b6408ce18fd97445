"""
Few rows: isotonic or automatic?
================================

With few rows an isotonic map follows chance. ``AutoCalibrator`` weighs several maps by
cross-validation, and may leave scores alone.
"""

# %%
# Two situations, scores that are too extreme and scores that are calibrated already.
# Distances from the true probability, averaged over samples for fitting.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.papers import distorted_probabilities, true_mse

calibrators = {
    "isotonic": cal.IsotonicCalibrator(),
    "Platt": cal.PlattCalibrator(),
    "automatic": cal.AutoCalibrator(),
}
numbers = [50, 200, 800, 3_200]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, gamma in zip(axes, (2.0, 1.0), strict=True):
    new = distorted_probabilities(4_000, gamma=gamma, random_state=99)
    error = {name: [] for name in calibrators}
    for n in numbers:
        samples = [
            distorted_probabilities(n, gamma=gamma, random_state=seed) for seed in range(4)
        ]
        for name, calibrator in calibrators.items():
            after = [calibrator.fit(s.y_proba, s.y_true).predict(new.y_proba) for s in samples]
            error[name].append(np.mean([true_mse(new.p_true, a) for a in after]))
    for name, values in error.items():
        ax.plot(numbers, values, "o-", markersize=4, label=name)
    ax.axhline(
        true_mse(new.p_true, new.y_proba),
        color="0.5",
        linestyle="--",
        label="scores left alone",
    )
    ax.set(xscale="log", xlabel="rows of the fit")
    ax.set_title("too extreme" if gamma > 1 else "calibrated already")
axes[0].set(ylabel="mean squared distance from the truth", ylim=(-5e-4, None))
axes[1].legend()

# %%
# On the right the scores need nothing, and a map can only do harm; the isotonic one does
# most. What was decided, and why:
few = distorted_probabilities(200, random_state=1)
print(cal.AutoCalibrator().fit(few.y_proba, few.y_true).reason_)
plt.show()
