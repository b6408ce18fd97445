"""
Watching calibration while outcomes come in
===========================================

A monitor may be read after every row, for ever, and still gives a false alarm with probability
0.05 at most.
"""

# %%
# Fifteen thousand loans in the order in which they were granted. After two thirds of them the
# odds of default rise by a third, and the model does not know.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logit

import calibrant as cal
from calibrant.plots import MonitorDisplay

rng = np.random.default_rng(4)
n, change = 15_000, 10_000
p = rng.beta(1.5, 8, size=n)
odds = logit(p) + np.where(np.arange(n) < change, 0.0, np.log(4 / 3))
y = rng.uniform(size=n) < expit(odds)
day = np.datetime64("2026-01-01") + np.arange(n) // 50

# %%
# The tolerance has to be chosen: no model is perfect, and with ``tolerance=0`` every monitor
# of a real model gives an alarm in the end. Here odds may be off by a factor of 1.05.
monitor = cal.Monitor(odds_tolerance=1.05)
for month in np.array_split(np.arange(n), 10):
    state = monitor.update(y[month], p[month], time=day[month])
print(state)

# %%
# The ``MonitorState`` says since when, where, and which repair is enough (its ``departure``, a
# ``Departure``). The picture is that of the ``MonitorHistory``: the evidence stays low in calm
# and climbs once the odds have changed; below, the mean of label minus score.
MonitorDisplay(monitor.history()).plot(name="Defaults")

# %%
# The alarm comes 2,700 rows after the change. The ten thousand calm rows before do not delay
# it: at every row the evidence of a change that begins there starts anew.
plt.show()
