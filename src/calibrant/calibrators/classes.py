"""Calibration of the probabilities of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant.calibrators.base import Interpreted
from calibrant.errors import ArgumentError
from calibrant.fits.class_pool import MulticlassAuto
from calibrant.table.class_checks import check_columns, clean_probabilities, columns_of
from calibrant.table.class_scores import ClassScores, as_class_scores
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.pooling import FloatArray


@dataclass(eq=False, repr=False)
class MulticlassAutoCalibrator(BaseEstimator, Interpreted, MulticlassAuto):  # type: ignore[misc]
    """Weighted mean of several maps of the probabilities of all classes; it may leave probabilities alone.

    The weights make the labels most likely on rows that the maps were not fitted to, as in `AutoCalibrator`. The
    probabilities are changed only where the plain mean of all members makes the labels of these rows, taken together,
    more than ten times as likely as the probabilities themselves do.

    Parameters
    ----------
    members : sequence of str, optional
        Maps to pool besides the identity, which always belongs, out of those under Notes. By default all that the rows
        are enough for.
    n_folds : int, default=5
        Number of folds, at least 2. Of more than 20,000 rows a fifth is held out once instead.
    random_state : int or numpy.random.Generator, default=0
        Seeds the split, together with the rows; with a whole number the order of the rows does not matter.

    Attributes
    ----------
    classes_ : list
        Labels, in the order of the columns.
    members_ : list of str
        Names of what is pooled, "identity" first.
    weights_ : ndarray of float64
        Weight of each, adding up to 1.
    maps_ : list
        The members, fitted to all rows.
    decision_, reason_ : str
        "pooled", or "left alone": `predict` returns the probabilities as they are; of several rows never
        where some are 0, which may yet be wrong. What was decided and why, in a sentence.
    gain_ : float
        Fall of the mean log loss per held-out row, optimistic for a little, since the weights were chosen on them;
        infinite if a probability of 0 was wrong, NaN if nothing could be held out.

    Notes
    -----
    Members, for n rows and K classes; docs/reference/class_repair_benchmark.md compares them with other packages:

    - "temperature": softmax of a multiple of the log probabilities (Guo et al. 2017).
    - "vector": also a factor and a bias of each class, and the tail of beta calibration. "bias", without the factors,
      for more than 100 classes.
    - "matrix": also the log probabilities of the other classes. From 100 and 10 K rows on, up to 20 classes.
    - "shared isotonic": one nondecreasing function of all K probabilities, divided by its sum.
    - "auto": `AutoCalibrator` for each class against the rest. From 50 rows on, up to 100 classes.
    - "isotonic": isotonic maps, one against the rest, of what "vector" gives. From 100 K rows on, up to 100 classes.

    Coefficients of classes are shrunk by an amount that the rows choose (empirical Bayes). Of more than 20,000
    rows and ``2**21`` probabilities those of rows drawn at random are fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.calibrators import MulticlassAutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet([1, 1, 2], 2000)
    >>> y = (rng.random((2000, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
    >>> P = true**3 / (true**3).sum(axis=1, keepdims=True)  # far too sure
    >>> fitted = MulticlassAutoCalibrator().fit(P, y)
    >>> fitted.decision_, float(fitted.predict([[0.98, 0.01, 0.01]])[0, 0].round(1))
    ('pooled', 0.7)
    """

    def fit(
        self,
        proba: Any,
        y: npt.ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        count: npt.ArrayLike | None = None,
        groups: Clusters | None = None,
    ) -> Self:
        """Fit the maps, and weigh them.

        Parameters
        ----------
        proba : array-like of shape (n, K), dataframe, mapping, or ClassScores
            Probabilities of all classes in every row, as in `ClassScores.from_scores`; or labels and probabilities.
        y : array-like of shape (n,), optional
            Label of each row; not with `ClassScores`.
        classes : sequence of length K, optional
            Label of each column, such as ``model.classes_``; needed where an array has columns of classes that no row
            is of.
        count : array-like of shape (n,), optional
            Whole numbers: each row stands for so many equal rows.
        groups : array-like of shape (n,), optional
            Cluster of each row, such as the patient: rows of one may depend on each other. They stay whole in folds,
            and count as one row where it is decided whether probabilities are changed.

        Returns
        -------
        MulticlassAutoCalibrator
            Itself.

        Raises
        ------
        DataError
            If the rows cannot be used.
        ArgumentError
            If a parameter is out of range.
        """
        if isinstance(proba, ClassScores):
            if groups is not None:
                expected, remedy = "labels and probabilities together with groups", "pass the rows"
                raise ArgumentError(expected, "ClassScores", remedy)
            scores = as_class_scores(proba, y, classes=classes, count=count)
        elif y is None:
            raise ArgumentError("labels for the probabilities", "none", "pass y as second argument")
        else:
            scores = as_class_scores(y, proba, classes=classes, count=count)
        cluster = None if groups is None else cluster_numbers(groups, len(np.asarray(y)))[scores.order]
        self.fit_scores(scores, cluster=cluster)
        if hasattr(proba, "shape"):
            validate_data(self, proba, skip_check_array=True)  # remembers the names of columns
        return self

    def predict(self, proba: Any) -> FloatArray:
        """Map probabilities.

        Parameters
        ----------
        proba : array-like of shape (n, K), dataframe or mapping
            Probabilities of the same classes, in the same order.

        Returns
        -------
        ndarray of float64, shape (n, K)
            Calibrated probabilities; every row adds up to 1.
        """
        check_is_fitted(self)
        names, raw = columns_of(proba)
        validate_data(self, proba if hasattr(proba, "shape") else raw, skip_check_array=True, reset=False)
        check_columns(names, self.classes_)
        return self.map_rows(clean_probabilities(raw)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.positive_only = True
        return tags
