"""
A calibrator that runs elsewhere
================================

A fitted calibrator becomes a file, an SQL expression or a Python function without
dependencies. All compute the same.
"""

# %%
# Beta calibration of scores that are too high.
import tempfile
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np

import calibrant as cal
from calibrant.export import from_json, save_model, to_json, to_python, to_sql
from calibrant.papers import distorted_probabilities

rows = distorted_probabilities(3_000, alpha=0.5)
calibrator = cal.BetaCalibrator().fit(rows.y_proba, rows.y_true)
print(to_sql(calibrator, "score")[:300])

# %%
# The map in scikit-learn's manner, in a database, and in plain Python. The three lines lie on
# each other.
grid = np.linspace(0.001, 0.999, 400)
expression = to_sql(calibrator, "score")
in_sql = duckdb.sql(
    f"select {expression} as p from (select unnest($1) as score)", params=[grid.tolist()]
).fetchnumpy()
module = {}
exec(to_python(calibrator), module)
figure, ax = plt.subplots(figsize=(6.2, 4.2), layout="constrained")
ax.plot(grid, calibrator.predict(grid), linewidth=6, alpha=0.35, label="predict")
ax.plot(grid, in_sql["p"], linewidth=3, linestyle="--", label="SQL")
ax.plot(
    grid,
    [module["calibrate"](s) for s in grid.tolist()],
    color="black",
    linewidth=1,
    label="Python function",
)
ax.set(xlabel="score", ylabel="recalibrated probability")
ax.legend()

# %%
# A model file is JSON. What is read from it predicts the same numbers. With the package onnx
# installed, ``to_onnx`` makes a graph for other runtimes.
with tempfile.TemporaryDirectory() as folder:
    save_model(calibrator, Path(folder) / "model.json")
    again = cal.load_model(Path(folder) / "model.json")
for other in (again, from_json(to_json(calibrator))):
    assert (other.predict(grid) == calibrator.predict(grid)).all()
plt.show()
