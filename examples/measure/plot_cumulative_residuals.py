"""
Where the calibration error comes from
======================================

Cumulative residuals show the calibration error as a difference of heights, and the interval
of scores that attains it.
"""

# %%
# Naive Bayes counts correlated pixels as independent evidence. We ask it whether a
# handwritten digit is five or more, and take the scores of cross-validation.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import calibrant as cal
from calibrant.curves import binned_curve, cumulative_residuals
from calibrant.plots import CumulativeResidualsDisplay, ReliabilityDisplay

X, digit = load_digits(return_X_y=True)
y = digit >= 5
p = cross_val_predict(GaussianNB(var_smoothing=1e-3), X, y, method="predict_proba")[:, 1]

# %%
# Sort the rows by score, and add up the residuals, label minus score, from left to right.
# Where scores are too low the line climbs; where they are too high it falls. The difference
# between its highest and lowest point is the cutoff calibration error, and the two points
# bound the interval that attains it.
cutoff = cal.cutoff_calibration(y, p)
residuals = cumulative_residuals(y, p)
display = CumulativeResidualsDisplay(
    residuals, cutoff=cutoff, name="Naive Bayes on digits"
).plot()

# %%
# The line is a ``CumulativeResiduals``. A ``CutoffCalibration`` holds the same statement in
# numbers.
low, high = cutoff.interval
print(f"Scores from {low:.4f} to {high:.4f} are {cutoff.direction}.")
print(
    f"There, mean predicted is {cutoff.mean_predicted:.1%} "
    f"and the observed rate {cutoff.observed_rate:.1%}."
)
print(
    f"The error {cutoff.value:.4f} is the difference "
    f"times the share of rows there, {cutoff.share:.1%}."
)

# %%
# On the reliability diagram the same interval is shaded.
display = ReliabilityDisplay(
    binned_curve(y, p), worst=cutoff, name="Naive Bayes on digits"
).plot()
plt.show()
