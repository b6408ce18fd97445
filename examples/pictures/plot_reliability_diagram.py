"""
A reliability diagram, step by step
===================================

What each layer of the diagram shows, from points to the distribution of the scores.
"""

# %%
# Naive Bayes says whether a handwritten digit is five or more; scores are those of
# cross-validation.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import calibrant as cal
from calibrant.curves import binned_curve, isotonic_curve, score_histogram
from calibrant.plots import DistributionDisplay, ReliabilityDisplay

X, digit = load_digits(return_X_y=True)
y = digit >= 5
p = cross_val_predict(GaussianNB(var_smoothing=1e-3), X, y, method="predict_proba")[:, 1]

# %%
# Predicted probability is on the x-axis and observed rate on the y-axis. On the diagonal,
# predictions are right. Points are bins of equally many rows, with 95% intervals; the line is
# the isotonic curve, which has no bins. Below lies the distribution of the scores. On the
# right, points are below the diagonal: predictions are too high. It is made of predictions,
# or by ``from_estimator`` of a classifier.
display = cal.ReliabilityDisplay.from_predictions(y, p, name="Naive Bayes on digits")
print(display.how_to_read)

# %%
# The layers are results of their own, each a ``Curve``, and you choose which to draw. Here
# they are: first bins, then the isotonic curve, then the interval of scores that attains the
# cutoff calibration error.
layers = {
    "bins": {"points": binned_curve(y, p)},
    "isotonic curve": {"line": isotonic_curve(y, p)},
    "where the error is": {
        "line": isotonic_curve(y, p),
        "worst": cal.cutoff_calibration(y, p),
    },
}
figure, axes = plt.subplots(1, 3, figsize=(11, 4), sharey=True, layout="constrained")
for ax, (title, parts) in zip(axes, layers.items(), strict=True):
    ReliabilityDisplay(**parts).plot(ax)
    ax.set_title(title)

# %%
# The distribution in full: a ``ScoreHistogram`` with positives above zero and negatives below.
# Many scores are near 0 or 1.
display = DistributionDisplay(score_histogram(y, p), name="Naive Bayes on digits").plot()
plt.show()
