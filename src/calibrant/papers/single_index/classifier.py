"""A classifier that learns under the constraint of being calibrated on its sample: one index, one monotone link."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from calibrant.errors import ArgumentError
from calibrant.papers.single_index import search
from calibrant.table.parameters import check_between, check_choice, check_count
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.row_errors import need_two_classes
from calibrant.table.rules import clean_weights
from calibrant.table.score_table import Weights


class SingleIndexClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Binary classifier ``P(y = 1 | x) = u(w'x)`` with a nondecreasing link u, calibrated on its training rows.

    A search for the solution of Gao et al. (2017), section 3.2.2: the least loss among classifiers without calibration
    error on the sample. Two steps take turns until a local minimum: w is moved so that the loss falls, and u is fitted
    anew by isotonic regression in the order of ``w'x``. docs/explanation/index_model.md says why, and what it gains.
    Certify on other rows: no certificate covers those that w and u were fitted to. The order of rows does not matter.

    Parameters
    ----------
    loss : {"squared", "log", "hinge"}, default="squared"
        What is minimised. With "hinge", not a loss of probabilities, u is fitted once, after the direction.
    link : {"isotonic", "lipschitz"}, default="isotonic"
        All nondecreasing links; or those with a limited slope, as of Kakade et al. (2011). These minimise the squared
        error, so not with loss "log"; where the limit binds, the calibration error on the sample is small but not 0.
    lipschitz : float, default=1.0
        Largest slope of the link "lipschitz". The index has standard deviation 1 if features are independent.
    update : {"gradient", "matching"}, default="gradient"
        Direction of the first step: down the gradient of the loss with a smoothed derivative of the link, or along
        ``mean((y - u(w . x)) x)``, that of the L-Isotron of Kakade et al. (2011), which needs no derivative.
    start : {"log", "squared", "hinge"}, default="log"
        Loss of the linear model whose direction the search starts from, with half the squared length of the
        coefficients of standardised features added to the sum of losses; not used with ``loss="hinge"``.
    log_safe : bool, default=True
        Keep probabilities strictly between 0 and 1, see `IsotonicCalibrator`; it concerns the final link only.
    max_iter : int, default=100
        Most turns; 0 calibrates the start only.
    tol : float, default=1e-6
        Smallest relative decrease of the loss that counts.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (1, n_features)
        Coefficients of the standardised features ``(X - mean_) / scale_``; of length 1.
    mean_, scale_ : ndarray of float64, shape (n_features,)
        Mean and standard deviation of the features; 1 for the latter where a feature is constant.
    link_ : IsotonicFit or LipschitzFit
        The link.
    threshold_ : float
        The largest index with a probability of at most 1/2; infinite if all are on one side.
    losses_ : ndarray of float64, shape (j,)
        Loss, without the half rows of `log_safe`, at the start and after each turn that lowered it. With "hinge", its
        least value.
    n_iter_ : int
        Turns taken, the last and unsuccessful one included.
    classes_, n_features_in_, feature_names_in_
        The two labels; number of features, and their names if the data had them.

    References
    ----------
    Gao, Parameswaran & Peng (2017). AISTATS. Section 3.2.2 and "Discussion on Kakade's Algorithm".
    Kakade, Kalai, Kanade & Shamir (2011). Efficient learning of generalized linear and single index models. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.papers import SingleIndexClassifier
    >>> features = np.random.default_rng(0).standard_normal((2000, 2))
    >>> SingleIndexClassifier().fit(features, features @ [1.0, -1.0] > 1.0).coef_.round(1).tolist()
    [[0.7, -0.7]]
    """

    def __init__(
        self,
        *,
        loss: Literal["squared", "log", "hinge"] = "squared",
        link: Literal["isotonic", "lipschitz"] = "isotonic",
        lipschitz: float = 1.0,
        update: Literal["gradient", "matching"] = "gradient",
        start: Literal["log", "squared", "hinge"] = "log",
        log_safe: bool = True,
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.loss = loss
        self.link = link
        self.lipschitz = lipschitz
        self.update = update
        self.start = start
        self.log_safe = log_safe
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Weights = None) -> Self:  # noqa: N803
        """Fit direction and link.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.
        y : array-like of shape (n,)
            Labels of two classes, the larger one positive.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights; a whole number stands for as many rows.

        Returns
        -------
        SingleIndexClassifier
            Itself.

        Raises
        ------
        DataError
            If there are not two classes, or weights cannot be used.
        ArgumentError
            If a parameter is out of range.
        """
        lipschitz = self._checked()
        features, labels = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(labels)
        weight = np.ones(len(labels), dtype=np.int64)
        if sample_weight is not None:
            weight = clean_weights(sample_weight, len(labels))
        values = sorted(set(labels[weight > 0].tolist()))
        need_two_classes(values)
        self.classes_ = np.array(values, dtype=labels.dtype)
        weighted = np.flatnonzero(weight > 0)
        rows = search.index_rows(features[weighted], (labels[weighted] == values[1]).astype(np.int8), weight[weighted])
        self.mean_, self.scale_ = rows.mean, rows.scale
        direction = self._search(rows, lipschitz)
        self.coef_ = direction[None, :]
        self.link_: search.Link = search.fit_link(rows, direction, lipschitz, log_safe=self.log_safe)
        self.threshold_ = search.last_up_to_half(self.link_)
        return self

    def index(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the argument of the link.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.

        Returns
        -------
        ndarray of float64, shape (n,)
            ``w . x``: for each row the same number whatever the other rows are.
        """
        check_is_fitted(self)
        features = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return search.index_of((features - self.mean_) / self.scale_, self.coef_[0])

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return a number that is positive where the probability is above 1/2.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.

        Returns
        -------
        ndarray of float64, shape (n,)
            ``h(index) - h(threshold_)``, ``h(t) = t / (1 + |t|)``. It increases with the index, and so ranks rows that
            the link maps to the same probability too. The plain difference could not be finite where all probabilities
            are on one side of 1/2.
        """
        return _bounded(self.index(X)) - _bounded(np.array(self.threshold_))

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:  # noqa: N803
        """Return the probabilities of both classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.

        Returns
        -------
        ndarray of float64, shape (n, 2)
            One column for each of `classes_`.
        """
        index = self.index(X)  # says first whether the classifier is fitted
        positive = self.link_.linear(index)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: npt.ArrayLike) -> NumberArray:  # noqa: N803
        """Return the more likely label of each row, the first where both are equally likely.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of `classes_`.
        """
        likely = (self.predict_proba(X)[:, 1] > 0.5).astype(np.intp)
        return np.asarray(self.classes_[likely])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _checked(self) -> float | None:
        """Check the parameters and return the largest slope of the link, None if it is not limited."""
        check_choice("loss", self.loss, ("squared", "log", "hinge"))
        check_choice("link", self.link, ("isotonic", "lipschitz"))
        check_choice("update", self.update, ("gradient", "matching"))
        check_choice("start", self.start, ("log", "squared", "hinge"))
        check_count("max_iter", self.max_iter, 0, "0 calibrates the start and nothing else")
        check_between("tol", self.tol, 0.0, 1.0, closed="left")
        if self.link == "isotonic":
            return None
        if self.loss == "log":
            given = "loss='log' with link='lipschitz', whose fit minimises the squared error"
            raise ArgumentError("a link that minimises the loss", given, "use loss='squared', or link='isotonic'")
        return check_between("lipschitz", self.lipschitz, 0.0, math.inf, closed="both", remedy="it is a largest slope")

    def _search(self, rows: search.IndexRows, lipschitz: float | None) -> FloatArray:
        """Return the direction, and remember how it was found."""
        direction, loss = search.start_direction(rows, "hinge" if self.loss == "hinge" else self.start)
        losses, self.n_iter_ = [loss], 1
        if self.loss != "hinge":
            how: dict[str, Any] = {"loss": self.loss, "lipschitz": lipschitz, "update": self.update}
            limits: dict[str, Any] = {"max_iter": int(self.max_iter), "tol": float(self.tol)}
            direction, losses, self.n_iter_ = search.search_direction(rows, direction, **how, **limits)
        self.losses_ = np.array(losses)
        return direction


def _bounded(index: FloatArray) -> FloatArray:
    """Return ``t / (1 + |t|)``, which is -1 and 1 at infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(index), np.sign(index), index / (1.0 + np.abs(index)))
