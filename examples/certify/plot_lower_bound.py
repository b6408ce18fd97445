"""
A lower bound, and an interval
==============================

Scores are refuted by a lower bound above the tolerance. The empirical error is no lower
bound: chance makes it too large.
"""

# %%
# The largest of many averages is too large on average. Here the true error of the scores is 0
# on the left of the picture and grows to the right; for each, ten samples of 1,000 rows are
# drawn.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.certificates import certify
from calibrant.certificates.widths import brownian_width, monotone_width

rng = np.random.default_rng(0)
shifts = np.repeat(np.linspace(0, 0.15, 7), 10)
found, lower = [], []
for shift in shifts:
    p = rng.uniform(0.2, 0.8, size=1_000)
    y = rng.uniform(size=len(p)) < p - shift
    found.append(certify(y, p, confidence_level=0.975))
    lower.append(certify(y, p).lower_bound)

# %%
# Points are empirical errors, at 0 all of them too large. Vertical lines are 95% intervals,
# of two bounds of 97.5% each, which cross the dotted line of the true error.
place = shifts + np.tile(np.linspace(-0.008, 0.008, 10), 7)
figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
ax.vlines(
    place,
    [i.lower_bound for i in found],
    [i.bound for i in found],
    color="tab:blue",
    alpha=0.5,
    label="95% interval",
)
ax.plot(
    place,
    [i.estimate for i in found],
    "o",
    markersize=3,
    color="tab:orange",
    label="empirical error",
)
ax.plot([0, 0.15], [0, 0.15], ":", color="black", label="true error")
ax.set(xlabel="true calibration error", ylabel="calibration error", ylim=(-0.005, None))
ax.legend(loc="upper left")

# %%
# For the lower limit a third of the rows picks an interval of scores, and the others bet on
# it, many times. A single one-sided bound, that of ``certify``, is closer than the limit of
# the two-sided interval. Without others that pick, a bound must allow for all intervals at
# once, which costs more; its asymptotic form costs less.
print(
    "mean distance of the lower bound from the truth: "
    f"{np.mean(shifts[40:] - np.array(lower[40:])):.4f}"
)
print(
    f"width of a band for all intervals: {monotone_width(1_000):.4f}, "
    f"asymptotic {brownian_width(1_000, 0.25):.4f}"
)
plt.show()
