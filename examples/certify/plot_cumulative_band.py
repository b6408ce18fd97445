"""
A band for cumulative curves
============================

Cumulated over the scores, the observed positives stay within a narrow band of what the true
probabilities would give.
"""

# %%
# Scores that are too high, sorted. Observed and predicted positives are added up from the
# smallest score.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.certificates import cumulative_band
from calibrant.certificates.widths import cumulative_width, fixed_design_width, variance_bound

rng = np.random.default_rng(0)
p_true = np.sort(rng.beta(0.6, 3, size=3_000))
y = rng.uniform(size=len(p_true)) < p_true
p = p_true**0.8
band = cumulative_band(y, p)
predicted = np.cumsum(p) / len(p)

# %%
# The blue line is the cumulative isotonic curve, which calibrates as well as any
# nondecreasing map can. The band around it (a ``CumulativeBand``) contains the cumulative
# true probability of these rows at all scores, with 95% confidence. The predicted line leaves
# it: predictions are too high.
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.fill_between(
    band.share, band.lower, band.upper, color="tab:blue", alpha=0.25, label="95% band"
)
ax.plot(
    band.share,
    band.cumulative,
    color="tab:blue",
    linewidth=1,
    label="cumulative isotonic curve",
)
truth = np.cumsum(p_true) / len(p)
ax.plot(
    np.arange(1, len(p) + 1) / len(p),
    truth,
    color="black",
    linestyle=":",
    label="cumulative true probability",
)
ax.plot(
    np.arange(1, len(p) + 1) / len(p), predicted, color="tab:orange", label="cumulative scores"
)
ax.set(xlabel="share of rows, by score", ylabel="positives per row")
ax.legend()

# %%
# The width of the band depends on the variance of the labels. It is bounded from the rows
# themselves, or by 1/4 if nothing is known.
table = cal.ScoreTable.from_scores(y, p)
print(f"drawn above {band.width:.4f}, which is {cumulative_width(table):.4f} from the rows;")
print(
    "variance of a label at most "
    f"{variance_bound(len(p), cal.brier_score(y, p), 0.05):.3f} on average;"
)
print(f"for a variance of 1/4 it would be {fixed_design_width(len(p)):.4f}")
plt.show()
