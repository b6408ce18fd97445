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
from sklearn.metrics import RocCurveDisplay, recall_score

import calibrant as cal
from calibrant.metrics import roc_auc, roc_auc_interval
from calibrant.plots import ReliabilityDisplay

rng = np.random.default_rng(1)
p = rng.beta(0.9, 1.2, size=3_000)
y = rng.uniform(size=len(p)) < p
scores = {"calibrated": p, "squared": p**2}

# %%
# The two ROC curves coincide; the reliability diagrams do not.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.4), layout="constrained")
for (name, score), style in zip(scores.items(), ("-", ":"), strict=True):
    RocCurveDisplay.from_predictions(
        y, score, name=name, ax=left, curve_kwargs={"linestyle": style, "linewidth": 3}
    )
    ReliabilityDisplay.from_predictions(
        y, score, curve=None, distribution=False, name=name, ax=right
    )
left.set_title("ROC curve")
right.set_title("Reliability diagram")

# %%
# So the area under the curve, here with DeLong's interval (a ``RocAuc``), says nothing about
# calibration. Decisions at a fixed threshold change: at 0.5 the squared scores find fewer of
# the positives.
for name, score in scores.items():
    auc, sensitivity = roc_auc_interval(y, score), recall_score(y, score >= 0.5)
    assert np.isclose(auc.value, roc_auc(y, score))
    print(
        f"{name:10} AUC {auc.value:.3f} ({auc.lower:.3f} to "
        f"{auc.upper:.3f}), sensitivity {sensitivity:.2f},"
        f" calibration error {cal.cutoff_calibration_error(y, score):.3f}"
    )
plt.show()
