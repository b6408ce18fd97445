"""
Right on the whole, wrong in a group
====================================

Errors of opposite sign cancel on the whole. Bounds for every group at once tell where.
"""

# %%
# Scores that are too high for one group and too low for the other.
import matplotlib.pyplot as plt
import numpy as np

from calibrant import audit, find_segments
from calibrant.plots import SegmentDisplay, SegmentMapDisplay

rng = np.random.default_rng(1)
n = 40_000
p = rng.beta(2, 3, n)
by = {
    "group": rng.choice(["A", "B"], n),
    "site": rng.choice(["north", "south", "west"], n),
}
shift = np.where(by["group"] == "A", 0.07, -0.07) * (by["site"] == "west")
y = rng.uniform(size=n) < np.clip(p + shift, 0, 1)

print(audit(y, p, tolerance=0.03).certificate.verdict)

# %%
# No group and no site is refuted, but two of their pairs are. All bounds of the picture hold
# together with 95% confidence.
result = audit(y, p, by=by, depth=2, tolerance=0.03).segments
SegmentDisplay(result).plot()
print(result.segment[result.verdicts == "refuted"].tolist())

# %%
# The same pairs as a map.
SegmentMapDisplay(result, columns=("group", "site")).plot()

# %%
# A search spends all of its confidence on what is wrong.
print(find_segments(y, p, by=by).claim)
plt.show()
