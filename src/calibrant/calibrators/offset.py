"""A known shift of the prior, alone or after another calibrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.auto import given_or_auto
from calibrant.calibrators.base import Calibrator
from calibrant.fits.offset import Offset
from calibrant.table.clusters import ClusteredRows, Clusters
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import TableSums


@dataclass(eq=False, repr=False)
class OffsetCalibrator(Calibrator, Offset):
    """Known shift of the prior: ``logit P(y = 1) = logit(score) + offset``, after another calibrator if there is one.

    For classes that were sampled or weighted in training, and for rating models that are set to a central tendency.
    Nothing is estimated from labels, except by the calibrator that comes first. Scores of exactly 0 and 1 stay.

    Parameters
    ----------
    calibrator : Calibrator, optional
        Map that comes first. A fit with labels fits a copy of it; a fit without takes it as it is, already fitted.
    offset : float, optional
        What is added to the log-odds. Say this, or in one of the other ways where it comes from.
    training_prior, population_prior : float, optional
        Share of positives in training, weighted if rows were, and in the population.
    positives_sampled, negatives_sampled : float, optional
        Share of the positives and of the negatives of the population that training had, or the weight of each; 1 if
        only the other is given.
    central_tendency : float, optional
        What predictions shall be on average for the rows of the fit; for this number the offset is solved.

    Attributes
    ----------
    offset_ : float
        What is added.
    calibrators_ : list of calibrators
        The fitted one that comes first, if any.

    Notes
    -----
    The offset is right if rows were sampled by their class alone, and if what it is added to is calibrated for the
    classes of training (Elkan 2001; King & Zeng 2001). Files and exports hold no log-odds but ``r p / (r p + 1 - p)``
    with ``r = exp(offset)``, so that languages agree to the last digit where they do before the shift. PostgreSQL
    raises errors where products underflow, so that there scores below 1e-289 count as that.

    References
    ----------
    Elkan (2001). The foundations of cost-sensitive learning. IJCAI. King & Zeng (2001). Logistic regression in rare
    events data. Political Analysis 9.

    Examples
    --------
    One negative in ten was sampled, so half of the training rows were positive where the population has 1 in 11:

    >>> from calibrant.calibrators import OffsetCalibrator
    >>> scores = [0.0, 0.2, 0.5, 0.9]
    >>> OffsetCalibrator(negatives_sampled=0.1).fit(scores).predict(scores).round(4).tolist()
    [0.0, 0.0244, 0.0909, 0.4737]
    >>> OffsetCalibrator(central_tendency=0.02).fit([0.01, 0.04, 0.1]).predict([0.01, 0.04, 0.1]).mean().round(6)
    np.float64(0.02)
    """

    calibrator: Calibrator | None = None

    def fit(
        self,
        scores: npt.ArrayLike | ScoreTable | ClusteredRows,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        count: npt.ArrayLike | None = None,
        pos_label: Any = None,
        groups: Clusters | None = None,
    ) -> Self:
        """Fit the map, as other calibrators or without labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), ScoreTable, or ClusteredRows
            Scores in [0, 1], or a table that holds scores and labels, or with clusters too.
        y : array-like of shape (n,), optional
            Labels, which only a calibrator that comes first learns from. Without them `training_.events` is 0.
        sample_weight, count, pos_label, groups
            As in `fit` of other calibrators; not with a table.

        Returns
        -------
        OffsetCalibrator
            Itself.

        Raises
        ------
        ArgumentError
            If the shift is said in no way or in several, or the calibrator that comes first has nothing to learn from.
        DataError
            If the rows cannot be used, or no offset gives the central tendency.
        """
        given_or_auto(self.calibrator)
        if y is not None or isinstance(scores, TableSums | ClusteredRows):
            return super().fit(scores, y, sample_weight, count=count, pos_label=pos_label, groups=groups)
        unlabelled = np.zeros(np.shape(scores)[:1])
        self.fit_scores(ScoreTable.from_scores(unlabelled, scores, sample_weight=sample_weight, count=count))
        self._remember_column(scores)
        return self
