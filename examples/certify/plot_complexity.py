"""
What choosing a classifier costs
================================

A bound that also holds for a classifier trained on the same rows pays for the richness of its
class: its Rademacher complexity.
"""

# %%
# Rademacher complexity measures how well a class of functions can follow random signs. For
# the intervals of one fixed score it is small. For classes from which a score is learnt it
# grows with the number of features.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.papers import (
    rademacher_finite,
    rademacher_linear,
    rademacher_of_intervals,
    uniform_convergence_width,
)

numbers = np.geomspace(100, 1_000_000, 20).astype(int).tolist()
classes = {
    "one fixed score": rademacher_of_intervals,
    "trees with 10 values, VC dimension 20": lambda n: rademacher_finite(
        n, vc_dim=20, n_values=10
    ),
    "linear score of 5 features": lambda n: rademacher_linear(n, 5),
    "linear score of 50 features": lambda n: rademacher_linear(n, 50),
}
figure, ax = plt.subplots(figsize=(6.8, 4.3), layout="constrained")
for name, complexity in classes.items():
    ax.plot(
        numbers,
        [min(1, uniform_convergence_width(n, 0.05, complexity(n))) for n in numbers],
        label=name,
    )
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="width of the bound (Theorem 2)")
ax.legend()

# %%
# A width of 1 says nothing. To certify a trained classifier, hold rows out: for these it is
# one fixed score, and narrow bounds apply.
print(f"1,000 rows, one fixed score: {rademacher_of_intervals(1_000):.4f}")
plt.show()
