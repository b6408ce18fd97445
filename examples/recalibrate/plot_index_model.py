"""
A classifier that is calibrated as it learns
============================================

A single-index classifier learns a direction and a nondecreasing link at once: P(y = 1 | x) =
u(w . x).
"""

# %%
# ``Documents`` with word counts, and labels that depend on their topics. The true
# probabilities are known.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import calibrant as cal
from calibrant.papers import SingleIndexClassifier, documents, true_mse

drawn = documents(3_000, n_topics=5, n_words=60, length=60.0, random_state=0)
X, y, p = np.asarray(drawn.counts, dtype=float), drawn.y_true[:, 0], drawn.p_true[:, 0]
train, test = slice(1_500), slice(1_500, None)
index = SingleIndexClassifier().fit(X[train], y[train])
logistic = LogisticRegression(max_iter=1_000).fit(X[train], y[train])

# %%
# The learnt link is a step function of the index w . x. Points are the true probabilities of
# new documents: they are not a function of one index, but the link follows their average.
place = index.index(X[test])
order = np.argsort(place)
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.plot(place, p[test], ".", color="0.6", markersize=3, label="true probability of a document")
ax.plot(
    place[order], index.predict_proba(X[test])[order, 1], color="tab:blue", label="learnt link"
)
ax.set(xlabel="index w . x", ylabel="probability")
ax.legend()

# %%
# On its training rows the classifier has a calibration error of almost 0 by construction;
# what counts are new rows.
for name, model in (("single index", index), ("logistic", logistic)):
    score = model.predict_proba(X[test])[:, 1]
    error = cal.cutoff_calibration_error(y[test], score)
    loss = cal.log_loss(y[test], score)
    print(
        f"{name:13} error {error:.3f}, log loss {loss:.3f}, "
        f"from the truth {true_mse(p[test], score):.4f}"
    )
plt.show()
