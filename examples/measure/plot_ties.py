"""
Tied scores, and why adding noise is wrong
==========================================

A decision tree gives the same score to all rows of a leaf. Breaking such ties by a little
noise inflates the error.
"""

# %%
# A tree with few leaves has few distinct scores.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import calibrant as cal
from calibrant.curves import cumulative_residuals

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y = train_test_split(X, digit >= 5, test_size=0.5, random_state=0)
p = (
    DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    .fit(X_train, y_train)
    .predict_proba(X_test)[:, 1]
)
table = cal.ScoreTable.from_scores(y, p)
print(table)
exact = cal.cutoff_calibration_error(table)

# %%
# Noise of one in a million changes no score in any way that matters. But it puts the tied
# rows in a random order, and the cumulative residuals then wander up and down within each
# tie.
rng = np.random.default_rng(0)


def with_noise(scores):
    """Return the scores with their ties broken at random."""
    return np.clip(scores + rng.uniform(-1e-6, 1e-6, size=len(scores)), 0, 1)


broken = [cal.cutoff_calibration_error(y, with_noise(p)) for _ in range(400)]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for scores, style, label in (
    (with_noise(p), "-", "ties broken by noise"),
    (p, "o-", "ties kept together"),
):
    walk = cumulative_residuals(y, scores)
    colour = "tab:orange" if style == "-" else "tab:blue"
    left.plot(
        [0, *walk.share],
        [0, *walk.value],
        style,
        color=colour,
        markersize=4,
        linewidth=1,
        label=label,
    )
left.set(xlabel="share of rows, by score", ylabel="cumulative residuals")
left.legend(fontsize=8)
right.hist(broken, bins=30, color="tab:orange", label="ties broken by noise, 400 times")
right.axvline(exact, color="tab:blue", label="ties kept together")
right.set(xlabel="cutoff calibration error", ylabel="count")
right.margins(y=0.35)
right.legend(fontsize=8)

# %%
# A broken tie can only make the error larger, and the result is different each time. Rows
# with equal scores cannot be told apart by any threshold, so calibrant never separates them:
# blue is the exact error.
print(f"exact {exact:.4f}; with noise {min(broken):.4f} to {max(broken):.4f}")
plt.show()
