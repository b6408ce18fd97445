"""
Rows that do not weigh the same
===============================

Survey weights make rows count differently. The bound then is that of fewer rows.
"""

# %%
# A sample in which the young are over-represented; weights restore their share. The more
# unequal the weights, the fewer rows of equal weight the sample is worth: the effective
# number of rows.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.certificates import certify_sample
from calibrant.certificates.widths import effective_rows, weighted_fixed_design_width

rng = np.random.default_rng(0)
p = rng.beta(1, 2, size=4_000)
y = rng.uniform(size=len(p)) < p
young = rng.uniform(size=len(p)) < 0.5

# %%
# ``certify_sample`` bounds the calibration error of these very cases: what they would show if
# each outcome were its true probability. Its ``SampleCertificate`` names the effective number
# of rows.
ratios = [1, 2, 4, 8, 16, 32]
weights = [np.where(young, 1.0, ratio) for ratio in ratios]
found = [certify_sample(y, p, sample_weight=w) for w in weights]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.7), sharex=True, layout="constrained")
left.plot(ratios, [c.n_effective for c in found], "o-")
left.set(ylabel="effective number of rows", ylim=(0, 4_200))
right.plot(ratios, [c.bound for c in found], "o-", color="tab:orange", label="bound")
right.plot(
    ratios, [c.estimate for c in found], "o-", color="tab:blue", label="empirical error"
)
right.set(ylabel="calibration error", ylim=(0, None))
right.legend()
for ax in (left, right):
    ax.set_xscale("log", base=2)
    ax.set_xlabel("weight of the old, that of the young being 1")

# %%
# The second method, "fixed_design", bounds the error from both sides at once; this is its
# width.
for ratio, w in zip(ratios, weights, strict=True):
    print(
        f"1 : {ratio:2}  {effective_rows(w):6.0f} effective "
        f"rows, width {weighted_fixed_design_width(w):.4f}"
    )
plt.show()
