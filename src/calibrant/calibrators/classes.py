"""Calibration of the probabilities of several classes, and of the scores of a fitted classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant.calibrators.base import Interpreted
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.class_maps import softmax
from calibrant.fits.pool import MulticlassAuto
from calibrant.table.class_checks import check_columns, clean_probabilities, columns_of
from calibrant.table.class_scores import ClassScores, as_class_scores
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.rules import weighting_of


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
        cluster = scores.cluster if groups is None else cluster_numbers(groups, len(np.asarray(y)))[scores.order]
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


# Log-odds up to here are proportional to margins. Beyond they grow with the logarithm, by at most `MORE` up to the
# largest float: so the order of far margins is kept, which the floats near 1 could not hold.
LINEAR, MORE = 12.0, 6.0
RATE = MORE / float(np.log(np.finfo(np.float64).max))
_MOST_ROOT = 10.0  # medians that the root mean square may be; those of normal margins are 1.5
_FAR = 1e6  # spreads from 0 beyond which margins are measured from their median


class Margins(NamedTuple):
    """What margins are measured from, and in which unit; that of most of them, whatever a few far ones are."""

    centre: float
    scale: float

    @classmethod
    def of(cls, margin: FloatArray) -> Self:
        """Measure the margins of some rows; NaN are left out."""
        margin = margin[~np.isnan(margin)]
        centre = float(np.median(margin))
        spread = _spread(margin - centre)
        if abs(centre) <= _FAR * spread or not spread:
            centre, spread = 0.0, _spread(margin)
        most = float(np.abs(margin - centre).max()) or 1.0
        root = most * float(np.sqrt(np.mean(((margin - centre) / most) ** 2)))
        return cls(centre, min(root, _MOST_ROOT * spread) or 1.0)

    def log_odds(self, margin: FloatArray) -> FloatArray:
        """Return numbers in the order of the margins, of which those of the usual size are proportional to them."""
        with np.errstate(over="ignore", divide="ignore"):
            value = (margin - self.centre) / self.scale
            far = np.sign(value) * (LINEAR + RATE * np.log(np.abs(value) / LINEAR))
        return np.where(np.abs(value) > LINEAR, far, value)


def _spread(deviation: FloatArray) -> float:
    """Return the median of the absolute deviations that are not 0, or 0."""
    size = np.abs(deviation)
    return float(np.median(size[size > 0.0])) if size.any() else 0.0


_MOST_REPEATED = 1 << 25  # probabilities up to which rows that count several are repeated
# Neighbouring scores that differ by less than this share of the larger one are taken as equal before a fit: rounding
# in a product of matrices or a sum over trees parts equal rows by 1e-16 to 1e-13.
_ROUNDING = 1e-12


def raw_response(estimator: Any, features: Any) -> FloatArray:
    """Return probabilities or margins, as the estimator gives them."""
    method = getattr(estimator, "predict_proba", None) or getattr(estimator, "decision_function", None)
    if method is None:
        expected = "an estimator with predict_proba or decision_function"
        raise ArgumentError(expected, type(estimator).__name__, "use a classifier")
    return np.asarray(method(features), dtype=np.float64)


def class_responses(estimator: Any, features: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Return probabilities or margins of all classes, shape (n, K); NaN for those that the estimator has not met."""
    response = raw_response(estimator, features)
    if response.ndim == 1:  # margins of the second of two classes
        response = np.column_stack([-0.5 * response, 0.5 * response])
    known = list(estimator.classes_)
    if response.shape[1] != len(known):
        actual = f"{response.shape[1]} of {type(estimator).__name__}"
        raise DataError(f"a column for each of {len(known)} classes", actual, "use decision_function_shape='ovr'")
    if not np.isfinite(response).all():
        raise DataError("finite scores from the estimator", "nan or infinity", "check the estimator")
    column = {label: k for k, label in enumerate(known)}
    unmet = np.full(len(response), np.nan)
    return np.stack([response[:, column[label]] if label in column else unmet for label in classes.tolist()], axis=1)


def fit_to_classes(
    calibrator: MulticlassAutoCalibrator,
    classes: npt.NDArray[Any],
    response: FloatArray,
    margins: Margins | None,
    label: npt.NDArray[np.intp],
    weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | None = None,
    group: npt.NDArray[np.int64] | None = None,
) -> MulticlassAutoCalibrator:
    """Fit a calibrator to responses of a classifier; `label` says which class each row is of, `group` its cluster.

    Rows of a class that the estimator of their fold has not met say nothing about its scores, and are left out.
    """
    of_rows, weights = weighting_of(weight, count, len(label))
    if weights is not None and of_rows is not None:
        of_rows = weights.in_units(of_rows)
    use = ~np.isnan(response[np.arange(len(label)), label])
    if of_rows is not None:
        use &= of_rows > 0
    if not use.any():
        remedy = "use fewer or larger folds"
        raise DataError("rows of classes that the training rows of their fold have", "none", remedy)
    scores, label, group = class_scores(response[use], margins), label[use], None if group is None else group[use]
    scores = joined(scores.ravel()).reshape(scores.shape)
    if of_rows is not None:
        of_rows = of_rows[use]
        if of_rows.dtype.kind == "i" and of_rows.sum() * len(classes) <= _MOST_REPEATED:
            group = None if group is None else group.repeat(of_rows)
            scores, label, of_rows = scores.repeat(of_rows, axis=0), label.repeat(of_rows), None
    order = score_order(*scores.T, label, *(() if of_rows is None else (of_rows,)))
    sorted_weights = None if of_rows is None else of_rows[order].astype(np.float64)
    table = ClassScores(tuple(classes.tolist()), label[order], scores[order])
    fitted: MulticlassAutoCalibrator = clone(calibrator).fit_scores(
        table, sorted_weights, None if group is None else group[order]
    )
    return fitted


def class_scores(response: FloatArray, margins: Margins | None) -> FloatArray:
    """Return scores that add up to 1 in every row, of probabilities or of margins."""
    if margins is not None:
        return softmax(np.where(np.isnan(response), -np.inf, margins.log_odds(response)))
    proba = np.nan_to_num(response, nan=0.0)
    return clean_probabilities(np.where(proba > -1e-6, np.maximum(proba, 0.0), proba))[0]


def joined(score: FloatArray) -> FloatArray:
    """Return scores of which those that only rounding parts are equal: to the lowest of them, where a step begins."""
    order = score_order(score)
    ordered = score[order]
    new = ~(np.diff(ordered, prepend=-1.0) <= _ROUNDING * ordered)  # NaN joins nothing and is refused by the fit
    result = np.empty_like(score)
    result[order] = ordered[new][np.cumsum(new) - 1]
    return result
