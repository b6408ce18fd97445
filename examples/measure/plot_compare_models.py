"""
Which of two models is better, and at what
==========================================

Two models that scored the same rows are compared row by row: differences of calibration
error, Brier score, log loss and AUC, with intervals that hold together.
"""

# %%
# The new model knows more, and exaggerates. It ranks better and is less well calibrated.
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.plots import ComparisonDisplay, DifferenceDisplay

rng = np.random.default_rng(0)
n = 3_000
known, more = rng.standard_normal((2, n))
y = rng.uniform(size=n) < 1 / (1 + np.exp(-known - more))
scores = {
    "old": 1 / (1 + np.exp(-0.85 * known)),
    "new": 1 / (1 + np.exp(-2 * known - 2 * more)),
}
result = cal.compare(y, scores)
assert isinstance(result, cal.Comparison)
print(result)

# %%
# On the shaded side of 0 the new model is better. A filled point says that the difference
# is more than chance.
DifferenceDisplay(result, name="New model less old model").plot()

# %%
# Two reliability diagrams on one: the new model's scores are too extreme.
ComparisonDisplay.from_predictions(y, scores, name="Two models")

# %%
# ``to_html`` writes the page that ``calibrant compare --report`` writes to a file.
page = result.to_html()
print(f"a page of {len(page) / 1000:.0f} kB")
plt.show()
