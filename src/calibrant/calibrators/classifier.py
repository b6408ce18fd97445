"""Any classifier of scikit-learn together with a calibrator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, has_fit_parameter

from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.classes import (
    Margins,
    MulticlassAutoCalibrator,
    class_responses,
    class_scores,
    fit_to_classes,
    joined,
    raw_response,
)
from calibrant.calibrators.one_column import given_or_auto
from calibrant.errors import DataError
from calibrant.fits.log_odds import probability
from calibrant.table.clusters import Clusters, cluster_numbers, group_rows
from calibrant.table.numbers import counted
from calibrant.table.pooling import FloatArray
from calibrant.table.row_errors import and_more, need_two_classes
from calibrant.table.rules import need_one_kind
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_rows
from calibrant.upward import resolve

Rows = npt.NDArray[np.intp]
Parameters = dict[str, Any]
AnyCalibrator = Calibrator | MulticlassAutoCalibrator


@dataclass(eq=False, repr=False)
class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Classifier whose probabilities are mapped by a calibrator fitted to rows the classifier has not seen.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, or else `decision_function`. Wrapped in `sklearn.frozen.FrozenEstimator` it is taken as
        fitted already: all rows given to `fit` are for the calibrator, and should be new to the classifier.
    calibrator : Calibrator or MulticlassAutoCalibrator, optional
        Map from scores to probabilities: of the score of the second of two classes, by default `AutoCalibrator`; of
        those of all classes where there are more, by default `MulticlassAutoCalibrator`.
    cv : int, splitter or iterable, default=5
        Folds; a number stands for as many stratified ones, which keep groups whole if there are any. A splitter by
        groups, such as `GroupKFold`, takes those of `fit`. Not used with a frozen estimator.
    ensemble : bool, default=False
        False: the folds give out-of-fold scores of all rows, to which one calibrator is fitted, and the estimator is
        fitted again to all rows. True: for every fold one estimator fitted to the others and one calibrator fitted to
        the fold are kept, and their probabilities averaged.
    n_jobs : int, optional
        Folds fitted at the same time, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels in increasing order, whatever the order of the estimator's own; those that a frozen estimator knows of
        several. Of two the second is the positive class.
    pairs_ : list of CalibratedPair
        Fitted estimators with their calibrators: one, or one for every fold with ``ensemble=True``.
    n_features_in_, feature_names_in_
        Those of the estimator, where it has them.

    Notes
    -----
    Of three or more classes all probabilities are mapped together. One map for each class, put back to a sum of 1, can
    cost accuracy, so a `Calibrator` is for two classes. For one class c against the rest, fit it to ``y == c``.

    The estimator of a fold says nothing about a class that it has not met, and a calibrator learns that a class which
    its rows lack never occurs. So every class must be among the training rows of each fold, with ``ensemble=True`` also
    among the others. The only row of one of several classes is left out of the fit of the calibrator.

    Margins of `decision_function` become scores as ``1 / (1 + exp(-margin / scale))``, where `scale` is their root mean
    square, but at most ten times the median of their sizes. `PlattCalibrator` then does what Platt (1999) proposed for
    margins. Beyond 12 times the scale only the order is kept. Those of several classes become the softmax of the
    margins over that scale. If all are a million times as far from 0 as from each other, their median is subtracted.

    Scores that differ by less than 1e-12 of their size are one score to the calibrator. Otherwise rounding could make
    the same row met twice one score on one processor and two on another, and the maps would differ visibly.

    Weights and counts go to the calibrator, and to the estimator if its `fit` takes weights (with metadata routing: if
    it asks for them). They have no say in the folds, so counts and repeated rows agree only where the folds do.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from calibrant.calibrators import CalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedClassifier(GaussianNB()).fit(X[:400], y[:400])
    >>> model.predict_proba(X[400:]).shape
    (169, 2)
    """

    estimator: Any
    calibrator: Calibrator | MulticlassAutoCalibrator | None = None
    _: KW_ONLY
    cv: Any = 5
    ensemble: bool = False
    n_jobs: int | None = None

    def fit(
        self,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        groups: Clusters | None = None,
        *,
        count: npt.ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the estimator and the calibrators.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features, passed on to the estimator as they are.
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights, of which only the ratios matter to the calibrator.
        groups : array-like of shape (n,), optional
            Cluster of each row, such as the patient: rows of one may depend on each other. They stay whole in the folds
            of `cv`, if that is a number or a splitter by groups, and in those of the calibrator.
        count : array-like of shape (n,), optional
            Whole numbers: each row stands for so many equal ones. Not together with `sample_weight`.
        **params : dict
            Passed on to `fit` of the estimator; with metadata routing, to whoever asks for them.

        Returns
        -------
        CalibratedClassifier
            Itself.

        Raises
        ------
        DataError
            If there is one class only, or folds that cannot be used.
        ArgumentError
            If the calibrator is none, or none for so many classes, or the estimator has no scores.
        """
        X, y, sample_weight, groups, count = indexable(X, y, sample_weight, groups, count)
        need_one_kind(weight=sample_weight, count=count)
        labels = column_or_1d(y, warn=True)
        if not len(labels):
            raise DataError("rows to fit", "0 sample(s)", "check how the data were selected")
        assert_all_finite(labels, input_name="y", estimator_name=type(self).__name__)
        check_classification_targets(labels)
        self.classes_ = self._known_classes(labels)
        code = LabelEncoder().fit(self.classes_).transform(labels)
        calibrator = self._chosen()
        group = None if groups is None else cluster_numbers(groups, len(labels))
        calibrate = partial(_calibrated, calibrator, self.classes_, code, sample_weight, count, group)
        if isinstance(self.estimator, FrozenEstimator):
            model, everything = clone(self.estimator), np.arange(len(labels))
            self.pairs_ = [calibrate(model, _response(calibrator, model, X, self.classes_), everything)]
        else:
            weights = count if sample_weight is None else sample_weight
            routed, cv = self._routed(weights, groups, params), self.cv
            if groups is not None and isinstance(cv, Integral | None):
                cv = StratifiedGroupKFold(5 if cv is None else int(cv))
            folds = list(check_cv(cv, labels, classifier=True).split(X, labels, **routed[1]))
            _need_every_class(self.classes_, code, folds, ensemble=self.ensemble)
            self.pairs_ = self._cross_fitted(X, labels, routed[0], folds, partial(_response, calibrator), calibrate)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.pairs_[0].estimator, name):
                setattr(self, name, getattr(self.pairs_[0].estimator, name))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.

        Returns
        -------
        ndarray of float64, shape (n, K)
            One column for each of `classes_`; rows add up to 1.
        """
        check_is_fitted(self)
        value = np.mean([pair.predict(X, self.classes_) for pair in self.pairs_], axis=0)
        return np.asarray(value) if value.ndim == 2 else np.column_stack([1.0 - value, value])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row, the first of them where several are.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of `classes_`.
        """
        likeliest = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[likeliest])

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who is asked about metadata: this object, the estimator's `fit` and the splitter's `split`."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def onnx_shape_calculator(self) -> Callable[[Any], None]:
        """Return what tells skl2onnx, which looks for this method, the shapes of the outputs."""
        return cast(Callable[[Any], None], resolve("export.onnx_classifier.set_shapes"))

    def onnx_converter(self) -> Callable[[Any, Any, Any], None]:
        """Return what makes this classifier a part of an ONNX model for skl2onnx, which looks for this method."""
        return cast(Callable[[Any, Any, Any], None], resolve("export.onnx_classifier.converter_of")(type(self)))

    def _known_classes(self, labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the classes of the labels, or those of a frozen estimator if either are more than two."""
        classes: npt.NDArray[Any] = LabelEncoder().fit(labels).classes_
        known = getattr(self.estimator, "classes_", None) if isinstance(self.estimator, FrozenEstimator) else None
        if known is None:
            return classes
        _need_known(classes, known)
        return classes if len(known) == 2 else np.asarray(LabelEncoder().fit(known).classes_)

    def _chosen(self) -> AnyCalibrator:
        """Return the calibrator that was given, or the default for so many classes."""
        if isinstance(self.calibrator, MulticlassAutoCalibrator):
            return self.calibrator
        if len(self.classes_) > 2 and self.calibrator is None:
            return MulticlassAutoCalibrator()
        calibrator = given_or_auto(self.calibrator)
        need_two_classes(self.classes_.tolist())
        return calibrator

    def _routed(self, sample_weight: Any, groups: Any, params: Parameters) -> tuple[Parameters, Parameters]:
        """Return what goes to `fit` of the estimator and to `split` of the splitter."""
        of_split = {} if groups is None else {"groups": groups}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, groups=groups, **params)
            return dict(routed.estimator.fit), of_split | dict(routed.splitter.split)
        if sample_weight is not None and has_fit_parameter(self.estimator, "sample_weight"):
            params = params | {"sample_weight": sample_weight}
        return params, of_split

    def _cross_fitted(
        self,
        rows: Any,
        labels: npt.NDArray[Any],
        of_fit: Parameters,
        splits: Sequence[tuple[Rows, Rows]],
        respond: Callable[..., FloatArray],
        calibrate: Callable[..., CalibratedPair],
    ) -> list[CalibratedPair]:
        """Return the pairs; `of_fit` are parameters of the estimator, `splits` training and other rows of folds."""
        fit = delayed(_fitted)
        models = Parallel(n_jobs=self.n_jobs)(fit(self.estimator, rows, labels, of_fit, train) for train, _ in splits)
        folds = [
            (model, respond(model, _safe_indexing(rows, test), self.classes_), test)
            for model, (_, test) in zip(models, splits, strict=True)
        ]
        if self.ensemble:
            return [calibrate(*fold) for fold in folds]
        whole = _fitted(self.estimator, rows, labels, of_fit, None)
        _, responses, tests = zip(*folds, strict=True)
        return [calibrate(whole, np.concatenate(responses), np.concatenate(tests))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not isinstance(self.calibrator, Calibrator)
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        tags.input_tags.pairwise = inner.pairwise
        return tags


@dataclass(frozen=True)
class CalibratedPair:
    """A fitted classifier and the calibrator of its scores: of those of the second class, or of all."""

    estimator: Any
    calibrator: AnyCalibrator
    margins: Margins | None  # how margins become scores; None if there are probabilities

    def predict(self, X: Any, classes: npt.NDArray[Any]) -> FloatArray:
        """Return calibrated probabilities: of the second class, shape (n,), or of all, shape (n, K)."""
        response = _response(self.calibrator, self.estimator, X, classes)
        if isinstance(self.calibrator, MulticlassAutoCalibrator):
            return self.calibrator.map_rows(class_scores(response, self.margins))
        return self.calibrator.predict(_scores(response, self.margins))


def _calibrated(
    calibrator: AnyCalibrator,
    classes: npt.NDArray[Any],
    code: Rows,
    sample_weight: Any,
    count: Any,
    group: npt.NDArray[np.int64] | None,
    estimator: Any,
    response: FloatArray,
    rows: Rows,
) -> CalibratedPair:
    """Fit a calibrator to responses of a classifier at some rows; `code` says of all which class they are of."""
    label, group = code[rows], None if group is None else group[rows]
    weight, times = (None if of is None else _safe_indexing(of, rows) for of in (sample_weight, count))
    off = np.flatnonzero(np.isinf(response))
    if len(off):
        actual = and_more(f"{response.ravel()[off[0]]}", f"row {rows[off[0]]}", len(off))
        raise DataError("finite scores from the estimator", actual, "check the estimator and its features there")
    margins = None if hasattr(estimator, "predict_proba") else Margins.of(response)
    if isinstance(calibrator, MulticlassAutoCalibrator):
        fitted = fit_to_classes(calibrator, classes, response, margins, label, weight, times, group)
        return CalibratedPair(estimator, fitted, margins)
    clean = clean_rows(label, joined(_scores(response, margins)), sample_weight=weight, count=times)
    units = ScoreTable.from_clean(clean) if group is None else group_rows(clean, group, group)
    return CalibratedPair(estimator, clone(calibrator).fit(units), margins)  # refuses rows of one class


def _fitted(estimator: Any, X: Any, labels: npt.NDArray[Any], params: Parameters, rows: Rows | None) -> Any:
    """Return the estimator fitted to some rows, or to all."""
    if rows is None:
        return clone(estimator).fit(X, labels, **params)
    n = len(labels)
    of_rows = {
        name: _safe_indexing(value, rows) if np.ndim(value) > 0 and _num_samples(value) == n else value
        for name, value in params.items()
    }
    return clone(estimator).fit(_safe_indexing(X, rows), labels[rows], **of_rows)


def _response(calibrator: AnyCalibrator, estimator: Any, X: Any, classes: npt.NDArray[Any]) -> FloatArray:
    """Return probabilities or margins that a calibrator takes: of the second class, shape (n,), or of all."""
    if isinstance(calibrator, MulticlassAutoCalibrator):
        return class_responses(estimator, X, classes)
    response = raw_response(estimator, X)
    _need_known(classes, estimator.classes_)
    positive = list(estimator.classes_).index(classes[1])
    return np.asarray(response[:, positive] if response.ndim == 2 else response if positive else -response)


def _scores(response: FloatArray, margins: Margins | None) -> FloatArray:
    """Return scores in [0, 1] of probabilities, which rounding may put a little outside, or of margins."""
    if margins is not None:
        return probability(margins.log_odds(response))
    if ((response < -1e-6) | (response > 1.0 + 1e-6)).any():
        raise DataError("probabilities from predict_proba", "values outside [0, 1]", "check the estimator")
    return np.clip(response, 0.0, 1.0)


def _need_known(classes: npt.NDArray[Any], known: npt.NDArray[Any]) -> None:
    """Refuse labels that a fitted estimator does not know."""
    names = np.asarray(known).tolist()
    unknown = [label for label in classes.tolist() if label not in names]
    if unknown:
        remedy = "fit with the labels that the estimator was fitted with"
        raise DataError(f"labels that the estimator knows, such as {names[0]!r}", repr(unknown[0]), remedy)


def _need_every_class(
    classes: npt.NDArray[Any], code: Rows, folds: Sequence[tuple[Rows, Rows]], *, ensemble: bool
) -> None:
    """Refuse folds from which a class is missing, but for the only row of one of several classes."""
    total = np.bincount(code, minlength=len(classes))
    for i, (train, test) in enumerate(folds, start=1):
        parts = [("training rows", train, total > (1 if len(classes) > 2 else 0))]
        parts += [("rows held out", test, total > 0)] * ensemble
        for part, rows, needed in parts:
            missing = np.flatnonzero(needed & (np.bincount(code[rows], minlength=len(classes)) == 0))
            if len(missing):
                actual = f"none of the {counted(int(total[missing[0]]))} of class {classes[missing[0]]!s} in fold {i}"
                remedy = "use fewer or larger folds, such as stratified ones, or join the class with another"
                if part != "training rows":
                    remedy = "use `ensemble=False`, or fewer or larger folds"
                raise DataError(f"every class among the {part} of each fold", actual, remedy)
