"""
What no sample can tell
=======================

Calibration is a statement about averages. Whether the score of each single item is its true
probability, no sample of distinct items can tell.
"""

# %%
# Two worlds with the same scores. In one, each score is the true probability of its item. In
# the other, the outcome of each item is settled beforehand, by a function that nobody knows,
# and the score is far from the truth, 0 or 1.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.papers import l1_cannot_be_certified, l1_from_repeats

shown = l1_cannot_be_certified(np.linspace(0.05, 0.95, 200), n_trials=200)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
worlds = ["scores are true", "outcomes are settled"]
left.bar(worlds, [shown.l1_by_chance, shown.l1_by_function], color="tab:orange")
left.set(title="Mean distance of score and truth", ylim=(0, 1))
right.bar(worlds, [shown.accepted_by_chance, shown.accepted_by_function], color="tab:blue")
right.set(title="Samples accepted by the calibration test", ylim=(0, 1))

# %%
# The test accepts both about equally often, and any other test would: each item is seen once,
# and its outcome looks like chance (Gao, Parameswaran & Peng 2017, Theorem 1). The result is
# an ``L1Impossibility``.
print(
    "Whatever the settled outcomes are, the mean "
    f"distance is at least {shown.lower_bound:.2f}."
)

# %%
# Where items have several labels the distance can be bounded: an item that differs from
# itself is not settled. The result is an ``L1Bound``.
rng = np.random.default_rng(0)
item, p = np.repeat(np.arange(5_000), 2), np.repeat(rng.uniform(size=5_000), 2)
settled = np.repeat(rng.uniform(size=5_000) < p[::2], 2)
for name, y in (
    ("scores are true", rng.uniform(size=len(p)) < p),
    ("outcomes are settled", settled),
):
    found = l1_from_repeats(y, p, item)
    print(f"{name:21} mean distance from {found.lower_bound:.2f} to {found.bound:.2f}")
plt.show()
