"""
A pair of probabilities for every score
=======================================

A Venn-Abers predictor gives two probabilities per score. One of them is calibrated; their
distance shows how few rows there are.
"""

# %%
# Fitted to 100 and to 2,000 rows of the same kind.
import matplotlib.pyplot as plt
import numpy as np

from calibrant import VennAbersCalibrator
from calibrant.papers import distorted_probabilities

grid = np.linspace(0.01, 0.99, 300)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for ax, n in zip(axes, (100, 2_000), strict=True):
    rows = distorted_probabilities(n, gamma=2.5, random_state=1)
    calibrator = VennAbersCalibrator().fit(rows.y_proba, rows.y_true)
    lower, upper = calibrator.predict_interval(grid)
    truth = distorted_probabilities(20_000, gamma=2.5)
    order = np.argsort(truth.y_proba)
    ax.plot([0, 1], [0, 1], "--", color="0.7")
    ax.fill_between(grid, lower, upper, alpha=0.35, label="between the two")
    ax.plot(grid, calibrator.predict(grid), label="merged into one")
    ax.plot(
        truth.y_proba[order],
        truth.p_true[order],
        color="black",
        linewidth=1,
        label="true probability",
    )
    ax.set(title=f"{n:,} rows", xlabel="score")
    print(f"{n:5} rows: the two are {np.mean(upper - lower):.3f} apart on average")
axes[0].set_ylabel("probability")
axes[0].legend(loc="upper left")

# %%
# The first probability comes from an isotonic fit in which the new case counts as a negative,
# the second from one in which it counts as a positive. The area between them is not a
# confidence interval for the probability at a score. For that, see the calibration band.
plt.show()
