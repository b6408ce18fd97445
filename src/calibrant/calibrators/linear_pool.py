"""Weights of a linear pool of probabilities, by maximum likelihood with a prior."""

from __future__ import annotations

import numpy as np

from calibrant.table.score_table import FloatArray, NumberArray

__all__ = ["log_likelihood", "pool_weights"]

_PRECISION = 1e-9  # distance from the largest log likelihood, in nats, about
_MOST_STEPS = 200


def pool_weights(predicted: FloatArray, n: NumberArray, k: NumberArray, prior: float) -> FloatArray:
    """Return the weights, positive and adding up to 1, of the mixture under which the labels are most likely.

    `predicted` holds the probability of a positive by member and group of rows, shape (p, m); in every group one member
    at least is strictly between 0 and 1. The log likelihood plus `prior` times the sum of the logs of the weights is
    concave, and Newton's method climbs to its maximum (Boyd & Vandenberghe 2004, Convex Optimization, section 10.2.2).
    """
    members, of_rest, negatives = len(predicted), 1.0 - predicted, n - k

    def height(weights: FloatArray) -> float:
        if not (weights > 0.0).all():
            return -np.inf
        mixed = k @ np.log(weights @ predicted, where=k > 0, out=np.zeros(len(k)))
        of_negatives = negatives @ np.log(weights @ of_rest, where=negatives > 0, out=np.zeros(len(k)))
        return float(mixed + of_negatives + prior * np.log(weights).sum())

    weights = np.full(members, 1.0 / members)
    here = height(weights)
    for _ in range(_MOST_STEPS):
        hit, miss = weights @ predicted, weights @ of_rest
        slope = predicted @ (k / hit) + of_rest @ (negatives / miss) + prior / weights
        curvature = (predicted * (k / hit**2)) @ predicted.T + (of_rest * (negatives / miss**2)) @ of_rest.T
        curvature += np.diag(prior / weights**2)
        uphill, level = np.linalg.solve(curvature, np.stack([slope, np.ones(members)]).T).T
        step = uphill - uphill.sum() / level.sum() * level  # the weights keep their sum
        if slope @ step < _PRECISION:
            break
        while (there := height(weights + step)) < here:
            step = step / 2.0
        weights, here = weights + step, there
    return np.asarray(weights / weights.sum())


def log_likelihood(probability: FloatArray, n: NumberArray, k: NumberArray) -> float:
    """Return the log likelihood of all rows; minus infinity if a probability of 0 or 1 was wrong."""
    negatives = n - k
    with np.errstate(divide="ignore"):
        positive, negative = np.log(probability), np.log1p(-probability)
    hit, miss = k > 0, negatives > 0
    return float(np.dot(k[hit], positive[hit]) + np.dot(negatives[miss], negative[miss]))
