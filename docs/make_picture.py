"""Draw docs/audit.png and docs/audit_dark.png: naive Bayes is sure of itself where it should not be.

Run from anywhere: ``python docs/make_picture.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from calibrant.curves import binned_curve
from calibrant.plots import drawing_style
from calibrant.plots.style import DARK, LIGHT, Palette


def draw(palette: Palette, path: Path) -> None:
    """Draw one panel that can be read on a telephone: 390 pixels for 4 inches."""
    with drawing_style(palette):
        plt.rcParams |= {"font.size": 12, "xtick.labelsize": 12, "ytick.labelsize": 12}
        figure, ax = plt.subplots(figsize=(4, 3.7), layout="constrained", facecolor=palette.ground)
        ax.plot([0, 1], [0, 1], color=palette.muted, linestyle="--", linewidth=1.5)
        ax.text(0.3, 0.34, "as predicted", color=palette.muted, rotation=45, rotation_mode="anchor")
        ax.plot(curve.score, curve.rate, color=palette.blue, marker="o", markersize=7, linewidth=2)
        worst = np.argmax(np.abs(curve.score - curve.rate))
        where, observed = curve.score[worst], curve.rate[worst]
        ax.plot([where, where], [observed, where], color=palette.orange, linewidth=3)
        said = f"predicted {where:.0%},\nobserved {observed:.0%}"
        ax.text(1, observed - 0.3, said, color=palette.orange, weight="bold", ha="right", va="top")
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        ax.set(xlabel="predicted probability", ylabel="observed rate", aspect="equal")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter("{x:.0%}")
        figure.savefig(path, dpi=200)
        plt.close(figure)


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
curve = binned_curve(label, scores, n_bins=8)
here = Path(__file__).parent
draw(LIGHT, here / "audit.png")
draw(DARK, here / "audit_dark.png")
