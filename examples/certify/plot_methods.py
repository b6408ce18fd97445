"""
Bounds beside one another
=========================

Each bound is the empirical error plus a width. What a width assumes, and what it knows about
the rows, makes it wide or narrow.
"""

# %%
# The widths of six bounds by the number of rows, for a classifier with a Brier score of 0.1
# and confidence 95%.
import matplotlib.pyplot as plt
import numpy as np

from calibrant import certify
from calibrant.certificates.widths import (
    anytime_width,
    asymptotic_width,
    bernstein_width,
    default_width,
)
from calibrant.papers import (
    hoeffding_width,
    rademacher_of_intervals,
    uniform_convergence_width,
)

brier = 0.1
widths = {
    "uniform convergence (Gao et al.)": lambda n: uniform_convergence_width(
        n, 0.05, rademacher_of_intervals(n)
    ),
    "Hoeffding": hoeffding_width,
    "anytime": lambda n: anytime_width(n, brier),
    "Bernstein": lambda n: bernstein_width(n, brier),
    "default": lambda n: default_width(n, brier),
    "asymptotic": lambda n: asymptotic_width(n, brier),
}
numbers = np.geomspace(100, 100_000, 25).astype(int)
figure, ax = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
for name, width in widths.items():
    style = {"default": "-", "asymptotic": ":"}.get(name, "--")
    ax.plot(numbers, [min(1, width(int(n))) for n in numbers], style, label=name)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="rows",
    ylabel="width of the bound",
    title="Brier score 0.1, confidence 95%",
)
ax.legend(fontsize=8)

# %%
# All but the dotted one hold for every number of rows. The default is the narrowest of these
# and close to the asymptotic bound; like Bernstein's and the anytime bound it uses the Brier
# score of the rows. The anytime bound may be looked at after every row; uniform convergence
# holds on both sides at once. ``certify`` has three of them by name. Choose before you see the
# rows. Its default counts only squared residuals inside the interval that it bounds, and is
# often narrower than in the picture.
rng = np.random.default_rng(0)
p = rng.beta(0.4, 1.2, size=5_000)
y = rng.uniform(size=len(p)) < p
for method in ("anytime", "default", "asymptotic"):
    print(f"{method:10} at most {certify(y, p, method=method).bound:.4f}")
plt.show()
