"""
Rows that depend on each other
==============================

Ten visits of one patient are not ten independent rows. Name the clusters, or bounds are too
narrow.
"""

# %%
# Each patient has a tendency that no score knows; over all patients the scores are
# calibrated. We draw samples of 200 patients with 10 visits each, and test the hypothesis
# that the scores are calibrated, which is true.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import calibrant as cal

rng = np.random.default_rng(0)
patients, visits = 200, 10
patient = np.repeat(np.arange(patients), visits)
at = np.linspace(-3, 3, 61)
average = expit(at[:, None] + rng.normal(0, 1.5, size=20_000)).mean(
    axis=1
)  # P(Y = 1) over patients, by risk


def sample():
    """Draw labels and calibrated scores of all visits."""
    risk = np.repeat(rng.uniform(-3, 3, size=patients), visits)
    tendency = np.repeat(rng.normal(0, 1.5, size=patients), visits)
    return rng.uniform(size=len(risk)) < expit(risk + tendency), np.interp(risk, at, average)


samples = [sample() for _ in range(120)]
without = [cal.calibration_test(y, p, method="asymptotic").p_value for y, p in samples]
how = {"method": "asymptotic", "cluster": patient, "n_simulations": 199}
with_clusters = [cal.calibration_test(y, p, **how).p_value for y, p in samples]

# %%
# If the hypothesis is true, p-values are spread evenly, along the dashed line. Without
# clusters far too many are small.
figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist(without, bins, alpha=0.6, color="tab:orange", label="visits taken as independent")
ax.hist(with_clusters, bins, alpha=0.6, color="tab:blue", label="clusters named")
ax.axhline(len(samples) / 20, color="black", linestyle="--")
ax.set(xlabel="p-value of the calibration test", ylabel="samples")
ax.legend()

# %%
# ``certify`` takes the same argument. With the clusters named the bound is wider, as it must
# be.
y, p = samples[0]
print(f"visits taken as independent: at most {cal.certify(y, p).bound:.4f}")
print(f"clusters named:              at most {cal.certify(y, p, cluster=patient).bound:.4f}")
plt.show()
