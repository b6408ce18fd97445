"""
A million rows as a small table
===============================

A score table keeps rows and positives per score. It is built from chunks, in bounded memory,
and tables can be merged.
"""

# %%
# Two years of half a million rows each, which come in ten chunks a year. Scores have three
# decimals, as in many files.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.metrics import roc_auc
from calibrant.plots import ReliabilityDisplay


def chunks(year):
    """Yield labels and scores of a year, 50,000 rows at a time."""
    rng = np.random.default_rng(year)
    for _ in range(10):
        p = rng.beta(0.8, 3, size=50_000)
        yield rng.uniform(size=len(p)) < p ** (1 + 0.25 * (year - 2024)), p.round(3)


first, second = (
    cal.ScoreTable.from_chunks(lambda year=year: chunks(year)) for year in (2024, 2025)
)
both = first.merge(second)
print(first, second, both, sep="\n")

# %%
# A table stands in place of labels and scores everywhere, and results are the same to the
# last digit as those of the rows.
figure, ax = plt.subplots(figsize=(5.6, 5), layout="constrained")
for name, table in {"first year": first, "second year": second}.items():
    ReliabilityDisplay.from_predictions(
        table, n_bins=12, curve=None, distribution=False, name=name, ax=ax
    )
    print(f"{name}: calibration error {cal.cutoff_calibration_error(table):.4f}")

print(f"first year: AUC {roc_auc(first):.4f}")

# %%
# The first year is calibrated; in the second predictions are too high, and the error of the
# merged table lies between.
print(f"both: calibration error {cal.cutoff_calibration_error(both):.4f}")
print(
    f"both: {cal.certify(both, tolerance=0.05).verdict}, "
    f"error at most {cal.certify(both).bound:.4f}"
)
plt.show()
