"""
How many rows a tolerance takes
===============================

The certified bound comes closer to the true error with every row. Plan the rows before you
collect them.
"""

# %%
# A calibrated classifier, observed for longer and longer, with a tolerance of 0.02.
import matplotlib.pyplot as plt
import numpy as np

from calibrant import certify, plan

tolerance = 0.02
rng = np.random.default_rng(0)
p = rng.beta(0.6, 1.4, size=50_000)
y = rng.uniform(size=len(p)) < p
brier = np.mean((y - p) ** 2)

# %%
# The empirical error is an estimate and says nothing about its own chance. The bound of a
# ``Certificate`` is above the true error with 95% confidence; the true error here is 0. The
# dashed line is the number of rows at which the tolerance is certified in at least 8 of 10
# samples, if the scores are calibrated.
numbers = np.geomspace(200, len(p), 16).astype(int)
found = [certify(y[:n], p[:n], tolerance=tolerance) for n in numbers]
needed = plan("certify", tolerance=tolerance, brier=brier).n

figure, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
ax.plot(numbers, [c.bound for c in found], color="tab:orange", label="bound, 95% confidence")
ax.plot(numbers, [c.estimate for c in found], color="tab:blue", label="empirical error")
ax.axhline(tolerance, color="0.5", linestyle=":", label="tolerance")
ax.axvline(needed, color="0.5", linestyle="--", label=f"{needed:,} rows planned")
ax.set(xscale="log", xlabel="rows", ylabel="calibration error", ylim=(0, 0.12))
ax.legend()

# %%
# The verdict is "certified" once the bound is below the tolerance. A ``Plan`` has the rows
# of several methods, and of other goals.
print([c.verdict for c in found[::3]])
print(plan("certify", tolerance=tolerance, brier=0.15, method="default, asymptotic, anytime"))
plt.show()
