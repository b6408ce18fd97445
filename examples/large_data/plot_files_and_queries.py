"""
A file, a query, a segment
==========================

Rows need not be in memory: name a file, or write a query, and compare segments.
"""

# %%
# A file of 200,000 rows with a column for the region, written here for the example.
import tempfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "scores.parquet"
rng = np.random.default_rng(0)
p, region = rng.uniform(size=200_000), rng.integers(5, size=200_000)
rows = {"y": rng.uniform(size=len(p)) < p ** (0.8 + 0.1 * region), "p": p, "region": region}
duckdb.sql(f"copy (select * from rows) to '{path}'")

# %%
# ``read_table`` reads a file of any length in bounded memory. A ``Query`` gives one segment
# each.
print(cal.read_table(path, outcome="y", prediction="p"))
tables = {}
for r in range(5):
    query = cal.Query(f"select y, p from '{path}' where region = {r}")
    tables[r] = cal.read_table(query, outcome="y", prediction="p")

# %%
# The error of each region with the 95% limit under perfect calibration.
found = {r: cal.cutoff_calibration(table) for r, table in tables.items()}
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.bar(list(found), [c.value for c in found.values()], label="cutoff calibration error")
limits, at = [c.null_q95 for c in found.values()], np.arange(5)
ax.hlines(
    limits, at - 0.4, at + 0.4, color="black", label="95% limit under perfect calibration"
)
ax.set(xlabel="region", ylabel="calibration error", ylim=(0, 0.07))
ax.legend()

# %%
# Only the error of region 2 lies below its limit. What cannot be read ends in a
# ``SourceError``, bad values in a ``DataError``, bad parameters in an ``ArgumentError``; all
# are a ``CalibrantError`` and say what was expected, what was found and what to do.
try:
    cal.read_table(path, outcome="outcome", prediction="p")
except cal.CalibrantError as error:
    print(f"{type(error).__name__}: {error}".replace(str(path), "scores.parquet"))
folder.cleanup()
plt.show()
