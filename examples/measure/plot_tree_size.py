"""
Deeper trees spread their scores
================================

A tree may rank well while its scores spread much more than the true probabilities do.
"""

# %%
# Two features determine the probability of a positive (``TwoFeatureLogit``). Trees of growing
# size are fitted to 4,000 rows, and assessed on 4,000 others. The data are those of Fernandes
# Machado et al. (2024).
import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

import calibrant as cal
from calibrant.metrics import roc_auc
from calibrant.papers import score_divergence, true_mse, two_feature_logit

train, test = (
    two_feature_logit(4_000, random_state=1),
    two_feature_logit(4_000, random_state=2),
)
leaves = [4, 8, 16, 32, 64, 128, 256, 512, 1_000]
trees = [
    DecisionTreeClassifier(max_leaf_nodes=k, random_state=0).fit(train.x, train.y_true)
    for k in leaves
]
scores = [tree.predict_proba(test.x)[:, 1] for tree in trees]

# %%
# Four numbers for each tree. ``score_divergence`` compares the histogram of the scores with
# that of the true probabilities: it needs their distribution, but no labels.
measures = {
    "AUC": [roc_auc(test.y_true, p) for p in scores],
    "cutoff calibration error": [cal.cutoff_calibration_error(test.y_true, p) for p in scores],
    "divergence from the true distribution (bits)": [
        score_divergence(p, test.p_true) for p in scores
    ],
    "mean squared distance from the truth": [true_mse(test.p_true, p) for p in scores],
}
figure, axes = plt.subplots(2, 2, figsize=(8.6, 5.6), sharex=True, layout="constrained")
for ax, (name, values) in zip(axes.flat, measures.items(), strict=True):
    ax.plot(leaves, values, "o-", markersize=4)
    best = np.argmax(values) if name == "AUC" else np.argmin(values)
    ax.plot(
        leaves[best], values[best], "o", markersize=9, markerfacecolor="none", color="tab:red"
    )
    ax.set_title(name, fontsize=10)
    ax.set_xscale("log", base=2)
figure.supxlabel("leaves of the tree", fontsize=10)

# %%
# Circles mark the best tree by each measure. Small trees give few distinct scores, large ones
# scores near 0 and 1 that the truth does not have; both diverge from the true distribution.
# The tree closest to the truth is close to the best by calibration and AUC, while the largest
# trees are miscalibrated.
plt.show()
