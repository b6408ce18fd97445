"""
What chance alone does
======================

Perfectly calibrated scores have a calibration error above 0 on every sample. How far above
depends on the rows.
"""

# %%
# Labels are drawn with exactly the probabilities that the scores state, 300 times for each
# number of rows. The null mean and the 95% limit that ``cutoff_calibration`` reports come
# from the scores alone, without simulation. The mean is asymptotic, a little too large for
# 100 rows; the limit is exceeded in at most 5 of 100 samples, whatever their size.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal

rng = np.random.default_rng(0)
figure, axes = plt.subplots(3, 1, figsize=(7, 5.2), sharex=True, layout="constrained")
for ax, n in zip(axes, (100, 1_000, 10_000), strict=True):
    p = rng.beta(1, 2, size=n)
    labels = rng.uniform(size=(300, n)) < p
    errors = np.array([cal.cutoff_calibration_error(y, p) for y in labels])
    null = cal.cutoff_calibration(labels[0], p)
    ax.hist(errors, bins=np.linspace(0, 0.18, 91), color="tab:blue", alpha=0.6)
    ax.axvline(
        null.null_mean, color="black", linestyle=":", label=f"null mean {null.null_mean:.4f}"
    )
    ax.axvline(null.null_q95, color="tab:red", label=f"95% limit {null.null_q95:.4f}")
    ax.legend(title=f"{n:,} rows", loc="upper right")
    ax.set_ylabel("samples")
    print(
        f"{n:>6} rows: {np.mean(errors > null.null_q95):.1%} of the errors are above the limit"
    )
axes[-1].set_xlabel("cutoff calibration error of perfectly calibrated scores")

# %%
# With a hundred times the rows, errors by chance are a tenth as large. An error of 0.03 is
# nothing out of the ordinary in 100 rows, and strong evidence of miscalibration in 10,000. So
# no error should be read without its limit; ``calibration_test`` turns the comparison into a
# p-value.
y = rng.uniform(size=10_000) < np.clip(p + 0.03, 0, 1)
print(f"p-value {cal.calibration_test(y, p).p_value}")
plt.show()
