"""Limits for the observed rate in bins, where rows belong to clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrant.curves.reliability import Curve, binned_curve
from calibrant.distributions.cluster_jackknife import LOG_ODDS, Jackknife
from calibrant.table.bins import bin_starts
from calibrant.table.cluster_blocks import cluster_blocks
from calibrant.table.clusters import ClusteredRows


def cluster_bins(rows: ClusteredRows, confidence_level: float, n_bins: int = 10) -> Curve:
    """Observed rate in bins of about equally many rows, with limits from leaving out one cluster at a time."""
    curve, starts = binned_curve(rows.table, n_bins=n_bins), bin_starts(rows.table, n_bins, "quantile")
    at_score = np.repeat(np.arange(len(rows.table)), np.diff(rows.ends, prepend=-1))  # of each entry
    bins = np.searchsorted(starts, at_score, side="right") - 1
    positives, squares = curve.rate * curve.n, np.zeros(len(starts))
    with np.errstate(divide="ignore", invalid="ignore"):
        for _, (n, k) in cluster_blocks(rows.cluster, len(rows.size), bins, len(starts), rows.n, rows.k):
            without = (positives - k) / (curve.n - n)
            squares += ((LOG_ODDS.to(without) - LOG_ODDS.to(curve.rate)) ** 2).sum(axis=0)
    lower, upper = Jackknife(rows.size).limits_of_many(curve.rate, squares, confidence_level, LOG_ODDS)
    return replace(curve, lower=lower, upper=upper, interval="cluster jackknife", confidence_level=confidence_level)
