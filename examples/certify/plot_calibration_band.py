"""
A band for the whole reliability curve
======================================

A calibration band contains the true event rate at all scores at once. Where it leaves the
diagonal out, scores are off.
"""

# %%
# Scores that are too extreme; the truth is known.
import matplotlib.pyplot as plt
import numpy as np

from calibrant.certificates import isotonic_band, window_band
from calibrant.curves import binned_curve
from calibrant.papers import distorted_probabilities
from calibrant.plots import ReliabilityDisplay

rows = distorted_probabilities(8_000, gamma=2.5)
y, p = rows.y_true, rows.y_proba

# %%
# ``isotonic_band`` assumes only that the event rate never falls as the score rises. The black
# line is the truth: the band contains all of it in at least 95 of 100 samples. On the left
# and on the right the diagonal lies outside.
display = ReliabilityDisplay(band=isotonic_band(y, p), name="Calibration band").plot()
order = np.argsort(p)
display.ax_.plot(p[order], rows.p_true[order], color="black", label="true event rate")
display.ax_.legend(loc="upper left", frameon=False)

# %%
# ``window_band`` makes no such assumption. It holds for the mean true probability of the rows
# in each bin, for any number of bins, also one chosen by looking. A 95% interval of a single
# bin is shorter, but of twenty such intervals one is expected to miss. Both bands are of the
# class ``Band``.
bins = binned_curve(y, p, n_bins=10)
band = window_band(bins, y, p)
display = ReliabilityDisplay(bins, band=band, name="Bins with a band for all of them").plot()
outside = np.mean((band.lower > bins.score) | (band.upper < bins.score))
print(f"The mean score is outside of the band in {outside:.0%} of the bins.")
plt.show()
