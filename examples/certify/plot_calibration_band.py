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

from calibrant.certificates import isotonic_band
from calibrant.papers import distorted_probabilities
from calibrant.plots import ReliabilityDisplay

rows = distorted_probabilities(8_000, gamma=2.5)
y, p = rows.y_true, rows.y_proba

# %%
# ``isotonic_band`` assumes only that the event rate never falls as the score rises. The black
# line is the truth: the band contains all of it in at least 95 of 100 samples. On the left
# and on the right the diagonal lies outside. The limits of a ``Band`` can be read too.
display = ReliabilityDisplay(band=isotonic_band(y, p), name="Calibration band").plot()
order = np.argsort(p)
display.ax_.plot(p[order], rows.p_true[order], color="black", label="true event rate")
display.ax_.legend(loc="upper left", frameon=False)
plt.show()
