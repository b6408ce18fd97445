"""
Bounds for the expected calibration error
=========================================

The expected calibration error (ECE) of the population can be bounded without bins, if the
event rate never falls.
"""

# %%
# Scores of three kinds: calibrated, a little too extreme, and much too extreme. The truth is
# known.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant import plan
from calibrant.certificates import certify_ece
from calibrant.papers import distorted_probabilities, l1_error

gammas = [1.0, 1.5, 2.0, 3.0]
samples = [distorted_probabilities(20_000, gamma=gamma, random_state=1) for gamma in gammas]

# %%
# Each vertical line goes from the lower to the upper confidence bound of an
# ``ExpectedErrorCertificate``. The true ECE (cross) is inside. For calibrated scores, the
# estimate in 100 bins is far above it.
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for i, rows in enumerate(samples):
    found = certify_ece(rows.y_true, rows.y_proba, tolerance=0.05)
    binned = cal.expected_calibration_error(rows.y_true, rows.y_proba, n_bins=100)
    truth = l1_error(rows.p_true, rows.y_proba)
    first = i == 0
    ax.plot([i, i], [found.lower_bound, found.bound], color="tab:blue", linewidth=5, alpha=0.5)
    ax.plot(i, truth, "x", color="black", label="true ECE" if first else None)
    ax.plot(i, binned, "o", color="tab:orange", label="estimate, 100 bins" if first else None)
    print(f"gamma {gammas[i]}: {found.lower_bound:.4f} to {found.bound:.4f}, {found.verdict}")
ax.axhline(0.05, linestyle=":", color="0.5", label="tolerance")
ax.set_xticks(np.arange(len(gammas)), [f"log-odds\ntimes {gamma:g}" for gamma in gammas])
ax.set(ylabel="expected calibration error", ylim=(0, None))
ax.legend()

# %%
# The bounds take many rows: this is how many to come within 0.02 of the error.
print(plan("ece", tolerance=0.02, brier=0.15))
plt.show()
