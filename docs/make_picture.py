"""Draw docs/audit.png: naive Bayes is sure of itself where it should not be.

Run from anywhere: ``python docs/make_picture.py``.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import calibrant

digits = load_digits()
label = digits.target >= 5
# Pixels at the border hardly vary; smoothing keeps them from deciding alone.
scores = cross_val_predict(
    GaussianNB(var_smoothing=1e-3),
    digits.data,
    label,
    cv=StratifiedKFold(n_splits=5, shuffle=True, random_state=0),
    method="predict_proba",
)[:, 1]
audit = calibrant.audit(label, scores, tolerance=0.02, name="Naive Bayes on handwritten digits: five or more?")
audit.plot().figure_.savefig(Path(__file__).with_name("audit.png"), dpi=141)
