"""
Looking while rows come in
==========================

Who stops as soon as a bound looks good needs a bound that holds at all times at once.
"""

# %%
# Scores that are too high in the upper half. Rows come in one after the other, and after each
# two hundred someone looks.
import matplotlib.pyplot as plt
import numpy as np

from calibrant import certify

rng = np.random.default_rng(3)
p = rng.uniform(size=10_000)
truth = np.where(p > 0.5, p - 0.04, p)
y = rng.uniform(size=len(p)) < truth
true_error = 0.04 / 2  # half of the rows are off by 0.04

# %%
# Both bounds fall towards the true error. The default bound holds at each number of rows with
# 95% confidence; but it has a chance to fail at each look, and these chances add up. The
# anytime bound is wider, and with 95% confidence it is never below the true error, however
# often one looks.
looks = np.arange(200, len(p) + 1, 200)
bounds = {
    name: [certify(y[:n], p[:n], method=name).bound for n in looks]
    for name in ("default", "anytime")
}
figure, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
for name, values in bounds.items():
    ax.plot(looks, values, label=f"{name} bound")
ax.axhline(true_error, color="black", linestyle=":", label="true error")
ax.set(xlabel="rows so far", ylabel="bound on the calibration error", ylim=(0, 0.2))
ax.legend()

# %%
# With the anytime bound it is right to stop at the first look at which it is below the
# tolerance.
tolerance = 0.06
for name, values in bounds.items():
    print(
        f"{name} bound below {tolerance} at "
        f"{looks[np.argmax(np.array(values) < tolerance)]} rows"
    )
plt.show()
