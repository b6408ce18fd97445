"""
Tests of calibration, and what they detect
==========================================

Every test has faults to which it is blind. Power is the share of samples in which a test
rejects.
"""

# %%
# Two tests of the hypothesis that scores are probabilities, at level 0.05. The first is of all
# intervals of scores, the second of intercept and slope on the scale of log-odds.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from calibrant import calibration_test
from calibrant.metrics import calibration_slope

tests = {
    "calibration test": lambda y, p: calibration_test(y, p, method="asymptotic"),
    "intercept and slope": calibration_slope,
}
rng = np.random.default_rng(0)
p = rng.beta(2, 2, size=1_000)
faults = {
    "all scores too high": lambda size: expit(logit(p) - size),
    "scores too extreme": lambda size: expit(logit(p) * (1 - size)),
    "scores off in a narrow band": lambda size: np.where(
        abs(p - 0.5) < 0.08, p - 0.7 * size, p
    ),
}

# %%
# For each size of each fault, labels are drawn 60 times with the true probabilities.
sizes = np.linspace(0, 0.4, 5)
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), sharey=True, layout="constrained")
for ax, (fault, truth) in zip(axes, faults.items(), strict=True):
    samples = [[rng.uniform(size=len(p)) < truth(size) for _ in range(60)] for size in sizes]
    for name, test in tests.items():
        power = [np.mean([test(y, p).p_value < 0.05 for y in drawn]) for drawn in samples]
        ax.plot(sizes, power, "o-", markersize=3, label=name)
    ax.axhline(0.05, color="0.6", linestyle=":")
    ax.set(title=fault, xlabel="size of the fault")
axes[0].set_ylabel("share of samples rejected")
axes[2].legend(fontsize=8, loc="center right")

# %%
# At size 0 scores are calibrated and every test rejects about 5 in 100 samples, the dotted
# line. The test of intercept and slope is strong against scores that are too high or too
# extreme, and nearly blind to a narrow band in which they are off. The calibration test, based
# on the cutoff calibration error, has power against all three.
plt.show()
