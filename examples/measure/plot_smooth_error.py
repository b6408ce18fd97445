"""
A bandwidth that chooses itself
===============================

The smooth calibration error (smECE) smooths residuals by a kernel. Its bandwidth is the one
that equals the error.
"""

# %%
# Two scores for the same labels: calibrated and too extreme.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.metrics import smooth_calibration_error
from calibrant.papers import distorted_probabilities

rows = distorted_probabilities(2_000, gamma=2.0)
scores = {"calibrated": rows.p_true, "too extreme": rows.y_proba}

# %%
# The error falls as the bandwidth grows, because residuals of opposite sign cancel within a
# wider kernel. Where the curve crosses the dashed line, error and bandwidth are equal; that
# point is the smooth calibration error.
bandwidths = np.geomspace(1e-3, 1, 40)
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, score in scores.items():
    errors = [smooth_calibration_error(rows.y_true, score, bandwidth=b) for b in bandwidths]
    chosen = smooth_calibration_error(rows.y_true, score)
    (line,) = ax.plot(bandwidths, errors, label=f"{name}: {chosen:.4f}")
    ax.plot(chosen, chosen, "o", color=line.get_color())
ax.plot(bandwidths, bandwidths, "--", color="0.6", label="error = bandwidth")
ax.set(xscale="log", xlabel="bandwidth", ylabel="smoothed calibration error", ylim=(0, 0.2))
ax.legend()

# %%
# No one has to choose a bandwidth, and few rows lead to a wide kernel by themselves.
# Calibrated scores still show a value above 0, since rows are few.
plt.show()
