"""
Recalibrate and certify on the same rows
========================================

A monotone map fitted to the rows can be certified on those rows, with a bound that allows for
the fit.
"""

# %%
# Scores that are too high. After isotonic calibration the error on the same rows is 0, which
# is too good to be true.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.auditing import cross_fitted
from calibrant.certificates import certify_recalibrated

rng = np.random.default_rng(0)
numbers = [500, 1_500, 5_000, 15_000, 50_000]
bounds = {"population": [], "cases": []}
before, after = [], []
new = rng.uniform(size=100_000)
for n in numbers:
    p = rng.uniform(size=n)
    y = rng.uniform(size=n) < p**2
    calibrator = cal.IsotonicCalibrator().fit(p, y)
    fitted = calibrator.predict(p)
    before.append(cal.cutoff_calibration_error(y, p))
    after.append(
        cal.cutoff_calibration_error(
            rng.uniform(size=len(new)) < new**2, calibrator.predict(new)
        )
    )
    for about, found in bounds.items():
        found.append(certify_recalibrated(y, p, fitted, about=about).bound)

# %%
# The bound of the ``RecalibratedCertificate`` lies above the error that the recalibrated
# scores have on 100,000 new rows. No rows were held out. A bound about these very cases says
# less and is lower.
figure, ax = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
ax.plot(numbers, before, "o-", color="0.5", label="error before")
ax.plot(
    numbers, bounds["population"], "o-", color="tab:orange", label="bound after, population"
)
ax.plot(numbers, bounds["cases"], "o--", color="tab:orange", label="bound after, these cases")
ax.plot(numbers, after, "o-", color="tab:blue", label="error after, on new rows")
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="calibration error")
ax.legend(fontsize=8)

# %%
# The other way is cross-fitting, as an audit does: each row is recalibrated by a map that was
# fitted without it. A ``Recalibration`` has both sides.
found = cross_fitted(cal.ScoreTable.from_scores(y, p))
print(
    f"Brier score {found.brier_before:.4f} before, "
    f"{found.brier_after:.4f} after; log loss falls by {found.log_loss_gain:.4f}, "
    f"at worst by {found.log_loss_gain_lower:.4f} (95% confidence)"
)
plt.show()
