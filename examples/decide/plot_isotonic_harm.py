"""
Isotonic recalibration with few rows can do harm
================================================

On the rows of its fit, isotonic recalibration never raises costs. On new rows it may, and
there is a bound on how much.
"""

# %%
# Scores that are calibrated already: recalibration can only do harm. An isotonic map is
# fitted to n rows, twelve times for each n, and its true cost is computed with the known
# probabilities, for all cost ratios.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.decisions import isotonic_harm_bound

rng = np.random.default_rng(0)
p = np.sort(rng.beta(1, 2, size=5_000))
ratios = np.linspace(0.01, 0.99, 99)


def true_cost(scores):
    """Return the mean cost for each ratio of costs, if p are the true probabilities."""
    positive = scores >= ratios[:, None]
    return np.where(positive, ratios[:, None] * (1 - p), (1 - ratios[:, None]) * p).mean(
        axis=1
    )


def harm(n):
    """Return the most, over all cost ratios, by which a fit to n rows raises the cost."""
    fit = rng.choice(p, size=n)
    calibrator = cal.IsotonicCalibrator().fit(fit, rng.uniform(size=n) < fit)
    return np.max(true_cost(calibrator.predict(p)) - true_cost(p))


numbers = np.array([50, 200, 800, 3_200, 12_800])
harms = [[harm(n) for _ in range(12)] for n in numbers]
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.plot(numbers, harms, "o", color="tab:orange", markersize=3)
ax.plot([], [], "o", color="tab:orange", markersize=3, label="cost raised, twelve fits")
ax.plot(
    numbers, [isotonic_harm_bound(n) for n in numbers], color="tab:blue", label="95% bound"
)
ax.set(
    xscale="log", yscale="log", xlabel="rows of the fit", ylabel="per case and unit of cost"
)
ax.legend()

# %%
# The bound holds for every distribution and all cost ratios at once, hence its distance from
# what happens here. It falls with the square root of the rows.
plt.show()
