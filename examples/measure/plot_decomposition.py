"""
Three parts of the Brier score
==============================

The Brier score is miscalibration minus discrimination plus uncertainty. Two classifiers with
equal scores may differ in what is wrong with them.
"""

# %%
# Five classifiers say whether a handwritten digit is five or more; scores are those of
# cross-validation.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from calibrant.metrics import brier_decomposition, log_loss_decomposition

X, digit = load_digits(return_X_y=True)
y = digit >= 5
classifiers = {
    "random forest": RandomForestClassifier(60, random_state=0),
    "10 neighbours": KNeighborsClassifier(10),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
}
scores = {
    name: cross_val_predict(c, X, y, cv=3, method="predict_proba")[:, 1]
    for name, c in classifiers.items()
}
parts = {name: brier_decomposition(y, p) for name, p in scores.items()}

# %%
# Farther right means better discrimination: the scores tell positives from negatives. Higher
# means more miscalibration, which recalibration would remove. Along a dashed line the Brier
# score is the same.
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for name, part in parts.items():
    ax.plot(part.discrimination, part.miscalibration, "o", color="tab:blue")
    side = "right" if part.discrimination > 0.2 else "left"
    ax.text(part.discrimination, part.miscalibration, f"   {name}   ", ha=side, va="center")
uncertainty = part.uncertainty
for brier in (0.05, 0.1, 0.15, 0.2):
    start = uncertainty - brier
    ax.axline((start, 0), slope=1, color="0.7", linestyle="--", zorder=0)
    ax.text(start + 0.03, 0.0303, f"Brier {brier}", color="0.4", fontsize=8, ha="center")
ax.set(
    xlabel="discrimination", ylabel="miscalibration", xlim=(0.05, uncertainty), ylim=(0, 0.03)
)

# %%
# The same parts exist for the log loss. Each result is a ``ScoreDecomposition``; ``skill`` is
# the share of the uncertainty that the scores resolve. A log loss of ``inf`` means that an
# event happened to which the classifier gave a probability of 0.
for name, p in scores.items():
    loss = log_loss_decomposition(y, p)
    print(
        f"{name:14} Brier {parts[name].value:.3f}, skill "
        f"{parts[name].skill:.0%}; log loss {loss.value:.3f}"
    )
plt.show()
