"""Labels and probabilities of several classes, and audits of them."""

from functools import cache

import numpy as np

import calibrant as cal
from support.class_worlds import six_vectors

COSTS = {"0": [0, 1, 1], "1": [1, 0, 1], "2": [1, 1, 0], "ask": [0.3, 0.3, 0.3]}


def world(n, classes=3, power=1.0, seed=0, concentration=1.0):
    """Labels, and probabilities that are too extreme if the power is above 1."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(classes, concentration), n)
    y = np.minimum((true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), classes - 1)
    proba = true**power
    return y, proba / proba.sum(axis=1, keepdims=True)


@cache
def wrong():
    """Of three classes, far too extreme."""
    return cal.audit(*world(500, power=4.0), tolerance=0.01, name="model", costs=COSTS)


@cache
def six():
    """Of six score vectors whose errors are all 0 class by class, and none of which is right."""
    y, proba = six_vectors().draw(700, np.random.default_rng(2))
    return cal.audit(y, proba, tolerance=0.08)


@cache
def many():
    """Right probabilities of forty classes."""
    return cal.audit(*world(1000, 40, concentration=0.05), tolerance=0.1)
