"""
Classifiers compared
====================

Several classifiers on one reliability diagram, with their calibration errors in the legend.
"""

# %%
# Random forest, naive Bayes and boosting on the same rows of the handwritten digits.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from calibrant.plots import ComparisonDisplay

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, digit >= 5, test_size=0.5, random_state=0
)
models = {
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "random forest": RandomForestClassifier(60, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=40, random_state=0),
}
for model in models.values():
    model.fit(X_train, y_train)

# %%
# The forest averages the votes of its trees and so avoids the extremes: its line is steeper
# than the diagonal. Naive Bayes is too extreme: its line is less steep. Below are the
# cumulative shares of rows: many scores of naive Bayes lie at the very ends, those of the
# forest and of boosting keep away from them.
display = ComparisonDisplay.from_estimator(models, X_test, y_test, name="Digits, five or more")

# %%
# Local curves in place of bins, on axes of your own. What is drawn of each classifier is a
# ``Model``, whose numbers are at hand.
figure, ax = plt.subplots(figsize=(5.6, 5), layout="constrained")
display = ComparisonDisplay.from_estimator(models, X_test, y_test, curve="local", ax=ax)
for name, model in display.models.items():
    error = model.cutoff
    print(
        f"{name:14} error {error.value:.3f}, 95% limit "
        f"under perfect calibration {error.null_q95:.3f}"
    )
plt.show()
