"""
Calibration slope and intercept
===============================

On the scale of log-odds, two common faults of scores are straight lines: too extreme, and too
high.
"""

# %%
# Scores are true probabilities whose log-odds were changed: shifted up, doubled, or both.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

from calibrant.curves import binned_curve
from calibrant.metrics import calibration_slope

rng = np.random.default_rng(0)
p = expit(rng.normal(0, 1.2, size=8_000))
y = rng.uniform(size=len(p)) < p
scores = {
    "calibrated": p,
    "too high": expit(logit(p) + 1),
    "too extreme": expit(2 * logit(p)),
    "too extreme and too high": expit(2 * logit(p) + 1),
}

# %%
# Points are bins of equally many rows. The line is the logistic regression of the labels on
# the log-odds of the scores, whose result is a ``CalibrationSlope``. A slope below 1 means
# too extreme. The printed calibration intercept belongs to the slope fixed at 1, as
# validation reports give it: below 0 means too high.
figure, axes = plt.subplots(
    2, 2, figsize=(7.4, 6.6), sharex=True, sharey=True, layout="constrained"
)
ends = np.array([-6.0, 6.0])
for ax, (name, score) in zip(axes.flat, scores.items(), strict=True):
    bins, line = binned_curve(y, score, n_bins=12), calibration_slope(y, score)
    ax.plot(ends, ends, linestyle="--", color="0.6", label="perfect calibration")
    ax.plot(
        ends,
        line.intercept + line.slope * ends,
        color="tab:orange",
        label=f"fit, slope {line.slope:.2f}",
    )
    ax.plot(logit(bins.score), logit(bins.rate), "o", color="tab:blue", markersize=4)
    ax.set(title=name, xlim=ends, ylim=(-4, 4))
    ax.legend(fontsize=8, loc="upper left")
    low, high = line.slope_interval
    print(
        f"{name:25} slope {line.slope:.2f} ({low:.2f} to "
        f"{high:.2f}), intercept {line.calibration_intercept:+.2f}"
    )
figure.supxlabel("log-odds of the score")
figure.supylabel("log-odds of the observed rate")

# %%
# Platt calibration fits just this line, so faults of this kind it removes. A curve in the
# points would need another map.
plt.show()
