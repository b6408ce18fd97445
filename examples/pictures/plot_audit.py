"""
An audit in one picture
=======================

``audit`` puts measurement, bounds, test and advice together; its picture shows the two
diagrams that belong to it.
"""

# %%
# A random forest says whether a handwritten digit is five or more; probabilities are those of
# cross-validation. Printed are verdict, error and ``Advice``; an ``Audit`` has each number as
# an attribute (the fields of ``Findings``), with the ``Performance`` and its intervals, each
# ``DataWarning`` and the ``Provenance``.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

import calibrant as cal
from calibrant.plots import CumulativeResidualsDisplay, ReliabilityDisplay
from calibrant.references import bibtex, cite

X, digit = load_digits(return_X_y=True)
y = digit >= 5
p = cross_val_predict(
    RandomForestClassifier(40, random_state=0), X, y, cv=3, method="predict_proba"
)[:, 1]
audit = cal.audit(y, p, tolerance=0.05, costs=(1, 4), name="Random forest on digits")
print(audit)

# %%
# On the left observed rates, on the right cumulative residuals. The shaded interval of scores
# attains the calibration error. The forest averages the votes of its trees, so that scores of
# nearly certain cases stay away from 0 and 1.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
ReliabilityDisplay(audit.reliability, line=audit.isotonic, worst=audit.cutoff).plot(left)
CumulativeResidualsDisplay(audit.cumulative_residuals, cutoff=audit.cutoff).plot(right)

# %%
# The same picture, an ``AuditDisplay``, comes from ``audit.plot()``, and a whole page from
# ``audit.to_html("audit.html")``. Each result names its literature by keys of ``REFERENCES``.
print("\n".join(cite(audit.references[:2])))
print(bibtex(audit.references[:1]))
plt.show()
