"""
What miscalibration costs
=========================

A cost curve shows the mean cost of decisions for every ratio of the costs of the two
mistakes, and what recalibration saves.
"""

# %%
# Naive Bayes on handwritten digits: scores of cross-validation, half of the rows for fitting
# a calibrator, half for measuring costs.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import calibrant as cal
from calibrant.decisions import cost_curve
from calibrant.plots import CostCurveDisplay

X, digit = load_digits(return_X_y=True)
y = digit >= 5
p = cross_val_predict(GaussianNB(var_smoothing=1e-3), X, y, method="predict_proba")[:, 1]
fit, rest = slice(None, None, 2), slice(1, None, 2)
recalibrated = cal.IsotonicCalibrator().fit(p[fit], y[fit]).predict(p[rest])

# %%
# On the x-axis is the cost of a false positive as a share of the two costs, which is also the
# optimal threshold. The nearer the curve is to that of the best threshold, the less is lost.
curve = cost_curve(y[rest], p[rest], recalibrated)
display = CostCurveDisplay(curve, name="Naive Bayes on digits").plot()

# %%
# The ``CostCurve`` holds the numbers: averaged over all cost ratios, the cost is half the
# Brier score.
print(
    f"ratio of mean costs after and before: {curve.overall_ratio:.2f}, 95% confidence "
    f"{curve.overall_ratio_lower:.2f} to {curve.overall_ratio_upper:.2f}"
)
print(f"half the Brier score before: {cal.brier_score(y[rest], p[rest]) / 2:.4f}")
plt.show()
