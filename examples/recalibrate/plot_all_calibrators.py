"""
All calibrators on one sample
=============================

Each calibrator maps scores to probabilities; they differ in which shapes the map can take.
"""

# %%
# Scores that are too extreme, 800 rows to fit, and the true map in black.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LocalCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.papers import distorted_probabilities, true_mse

rows, new = (
    distorted_probabilities(n, alpha=1.5, gamma=2.5, random_state=n) for n in (800, 4_000)
)
calibrators = {
    "one to three parameters": [
        TemperatureCalibrator(),
        PlattCalibrator(),
        BetaCalibrator(),
    ],
    "steps": [HistogramCalibrator(), IsotonicCalibrator(), VennAbersCalibrator()],
    "smooth, or several": [
        LocalCalibrator(),
        AutoCalibrator(),
    ],
}

# %%
# Steps follow the rows closely, parametric maps hardly at all. The closer a line is to the
# black one, the better.
order = np.argsort(new.y_proba)
score, truth = new.y_proba[order], new.p_true[order]
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for ax, (kind, members) in zip(axes, calibrators.items(), strict=True):
    ax.plot([0, 1], [0, 1], "--", color="0.7")
    ax.plot(score, truth, color="black", linewidth=2.5, alpha=0.6, label="truth")
    for calibrator in members:
        after = calibrator.fit(rows.y_proba, rows.y_true).predict(score)
        name = type(calibrator).__name__.removesuffix("Calibrator")
        ax.plot(score, after, linewidth=1.2, label=name)
        print(f"{name:18} mean squared distance from the truth {true_mse(truth, after):.5f}")
    ax.set(title=kind, xlabel="score")
    ax.legend(fontsize=8, loc="lower right")
axes[0].set_ylabel("recalibrated probability")

# %%
# Each calibrator says in words what it found.
print(calibrators["one to three parameters"][2].interpret())
plt.show()
