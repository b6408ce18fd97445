"""A long table at fewer scores, for what has to be computed many times."""

from __future__ import annotations

import numpy as np

from calibrant.table.score_table import ScoreTable


def shortened(table: ScoreTable, groups: int, single: int = 512) -> ScoreTable:
    """Join neighbouring scores to so many groups, each at its mean score, but for the scores at either end.

    These stay single: the lowest and the highest scores weigh more than others in regressions and isotonic fits.
    """
    m = len(table)
    if m <= groups + 2 * single:
        return table
    inner = np.linspace(single, m - single, groups, endpoint=False).astype(np.intp)
    starts = np.concatenate([np.arange(single), inner, np.arange(m - single, m)])
    n = np.add.reduceat(table.n, starts)
    return ScoreTable(np.add.reduceat(table.n * table.score, starts) / n, n, np.add.reduceat(table.k, starts))
