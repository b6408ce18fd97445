"""
A report of several segments
============================

Audits of several segments on one page that needs nothing else, and the segments beside one
another in a picture.
"""

# %%
# Two groups of patients, one of which the classifier does not know well. ``render`` writes
# audits as one page, and ``write_report`` writes the page to a file; ``check_report`` says
# beforehand whether it can.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import calibrant as cal
from calibrant.papers import distorted_probabilities
from calibrant.plots import ComparisonDisplay
from calibrant.report import check_report, render, write_report

segments = {
    "known group": distorted_probabilities(2_000, gamma=1.0, random_state=1),
    "new group": distorted_probabilities(1_000, gamma=2.5, random_state=2),
}
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "report.html"
    check_report(path)
    audits = [
        cal.audit(rows.y_true, rows.y_proba, tolerance=0.05, name=name)
        for name, rows in segments.items()
    ]
    write_report(render(audits, title="Both groups"), path)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")

# %%
# The scores of the new group are too extreme: its line is less steep than the diagonal.
labels = {name: rows.y_true for name, rows in segments.items()}
scores = {name: rows.y_proba for name, rows in segments.items()}
display = ComparisonDisplay.from_predictions(labels, scores, name="Two groups")
for audit in audits:
    print(f"{audit.name}: {audit.certificate.verdict}; {audit.advice.action}")
plt.show()
