"""
Discrimination is not calibration
=================================

The ROC curve sees only the order of the scores. Squaring all probabilities leaves it as it
is, and ruins them.
"""

# %%
# Calibrated scores, and their squares.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.metrics import confusion_metrics, roc_auc, roc_auc_interval, roc_curve
from calibrant.plots import ReliabilityDisplay

rng = np.random.default_rng(1)
p = rng.beta(0.9, 1.2, size=3_000)
y = rng.uniform(size=len(p)) < p
scores = {"calibrated": p, "squared": p**2}

# %%
# The two ROC curves (each a ``RocCurve``) coincide; the reliability diagrams do not.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.4), layout="constrained")
for (name, score), style in zip(scores.items(), ("-", ":"), strict=True):
    curve = roc_curve(y, score)
    left.plot(
        curve.false_positive_rate, curve.true_positive_rate, style, linewidth=3, label=name
    )
    ReliabilityDisplay.from_predictions(
        y, score, curve=None, distribution=False, name=name, ax=right
    )
left.set(
    xlabel="false positive rate",
    ylabel="true positive rate",
    title="ROC curve",
    aspect="equal",
)
left.legend()
right.set_title("Reliability diagram")

# %%
# So the area under the curve, here with DeLong's interval (a ``RocAuc``), says nothing about
# calibration. Decisions at a fixed threshold (``ConfusionMetrics``) change: at 0.5 the
# squared scores find fewer of the positives.
for name, score in scores.items():
    auc, at_half = roc_auc_interval(y, score), confusion_metrics(y, score, threshold=0.5)
    assert np.isclose(auc.value, roc_auc(y, score))
    print(
        f"{name:10} AUC {auc.value:.3f} ({auc.lower:.3f} to "
        f"{auc.upper:.3f}), sensitivity {at_half.sensitivity:.2f},"
        f" calibration error {cal.cutoff_calibration_error(y, score):.3f}"
    )
plt.show()
