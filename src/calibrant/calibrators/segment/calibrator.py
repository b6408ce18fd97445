"""A calibrator that repairs what one map for all rows leaves wrong in segments of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from calibrant.calibrators.base import Calibrator, Interpreted
from calibrant.calibrators.one_column import given_or_auto
from calibrant.calibrators.segment import repair
from calibrant.calibrators.segment.repair import BinaryLabels, Segment, SegmentRepair
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.log_odds import LEAST, MOST, logistic_fit, probability
from calibrant.fits.score_map import fit_part
from calibrant.printable import visible
from calibrant.segments.columns import SegmentColumn
from calibrant.table.clusters import Clusters, cluster_numbers, group_rows, number_by_content
from calibrant.table.numbers import number
from calibrant.table.parameters import check_count, check_random_state
from calibrant.table.pooling import FloatArray, IntArray, score_order
from calibrant.table.rules import column_values
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import hash_rows, held_out_units, scramble
from calibrant.table.validation import CleanRows, clean_rows, clean_scores


def columns_of(segments: Any, by: Sequence[str] | None, rows: int) -> dict[str, Any]:
    """Return the columns that name segments, each with a value for every row."""
    there = _as_mapping(segments)
    names = list(there) if by is None else list(by) if not isinstance(by, str) else [by]
    if not names:
        raise ArgumentError("a column of segments", "none", "pass a dataframe or a dictionary with columns")
    values: dict[str, Any] = {}
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError("names of columns that are text", repr(name), "rename the columns")
        if name not in there:
            listed = ", ".join(map(repr, there)) or "none"
            raise DataError(f"a column {name!r} of segments", f"{listed}", "check the names of the columns")
        values[name] = column_values(there[name], name)
        if len(values[name]) != rows:
            lengths = f"{len(values[name])} values and {rows} scores"
            raise DataError(f"a value of column {name} for each score", lengths, "pass columns of the same table")
    return values


def taken_apart(frame: Any, by: Sequence[str] | None) -> tuple[Any, Mapping[str, Any]]:
    """Return the scores and the columns of segments of a dataframe that holds both and nothing else."""
    expected = "`segments`, or a dataframe of the columns `by` and one of scores"
    if by is None or not hasattr(frame, "columns"):
        remedy = "pass segments=df[['sex', 'branch']], or name them in `by`"
        raise ArgumentError(expected, "scores alone" if by is not None else "neither segments nor by", remedy)
    columns = _as_mapping(frame)
    others = [name for name in columns if name not in ([by] if isinstance(by, str) else by)]
    if len(others) != 1:
        listed = ", ".join(map(repr, others)) or "none"
        raise ArgumentError(expected, f"as columns not in by: {listed}", "pass the columns that are needed only")
    return columns[others[0]], columns


def _as_mapping(segments: Any) -> Mapping[str, Any]:
    if isinstance(segments, Mapping):
        return segments
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(segments, eager_only=True)
        return {name: frame[name].to_native() for name in frame.columns}
    except DuplicateError:
        actual = "a name that is there twice"
        raise DataError("different names of columns", actual, "give the columns different names") from None
    except TypeError:
        actual = f"a {type(segments).__module__}.{type(segments).__name__}".replace("builtins.", "")
        remedy = "pass df[['sex', 'branch']] or {'sex': ..., 'branch': ...}"
        raise ArgumentError("`segments` as a dataframe in memory or a dictionary of columns", actual, remedy) from None


_MANY = 100_000  # rows above which one part is held out instead of every fold in turn
_ENOUGH = 20_000  # rows in that part
_BEYOND_NOISE = 1.645  # standard errors by which held-out rows must gain: a one-sided test at 5%
_CHANCE = 0.05  # the same for clusters, by Student's distribution


@dataclass(eq=False, repr=False)
class SegmentCalibrator(RegressorMixin, BaseEstimator, Interpreted, Segment):  # type: ignore[misc]
    """Calibrator for all rows, and what segments of them need beyond it.

    A map can be right on average and wrong for women, for one branch, or for the young of one region. To the log-odds
    of a calibrated probability are added an intercept and a slope for every segment of every column, and of every pair
    of columns, shrunk by empirical Bayes: little where a segment has few rows, nothing where segments differ no more
    than by chance, no slope where the log-odds have a standard deviation below .05. A second member are 20 regression
    trees with three splits in depth, which alone reach segments of three columns. Rows held out decide how much of each
    is added, and whether anything is. docs/explanation/segment_repair.md has the model and its sources.

    Parameters
    ----------
    calibrator : Calibrator, optional
        The map for all rows. Default: `AutoCalibrator`.
    by : list of str, optional
        Columns that name segments; default: all that are given to `fit`. Text, booleans and up to 20 different numbers
        are a segment each; other numbers are cut at their quintiles. Missing values are a segment.
    n_folds : int, default=5
        Number of folds, at least 2. Of more than 100,000 rows, 20,000 are held out once instead.
    random_state : int or numpy.random.Generator, default=0
        Seeds the split of the rows; with a whole number the order of the rows does not matter.

    Attributes
    ----------
    calibrator_ : Calibrator
        The map for all rows, fitted to all of them.
    columns_ : list of SegmentColumn
        How each column is turned into segments.
    repair_ : SegmentRepair
        What can be added to the log-odds.
    shares_ : ndarray of two floats
        Shares of the fitted offsets and trees that are added, 0 and 0 with "one map".
    decision_ : {"repaired", "one map"}
        "one map": only the map for all rows is used, as a one-sided test at 5% on held-out rows finds no gain.
    reason_ : str
        What was decided and why, in a sentence.
    gain_, standard_error_ : float
        Fall of the mean log loss per held-out row, and its standard error over rows, or clusters; NaN if nothing could
        be held out. The shares were chosen on these rows, so the gain is optimistic for a little.
    gains_ : SegmentGains
        The same in every segment, with ``gains_.to_frame()`` as a table.
    training_ : Training
        The rows of the fit.

    Notes
    -----
    '1' and 1 are one level, as in SQL. Values that were not met in the fit get no offset of their column and no tree,
    and if most are such, a warning. Of more than 1,000 levels the largest are kept; the others and new ones are one
    segment. A gain in log loss proves nothing about one segment: audit new rows (docs/how_to/repair_group.md). Weights
    are not supported.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.calibrators import SegmentCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p, branch = rng.uniform(size=8000), rng.choice(["north", "south"], 8000)
    >>> y = rng.uniform(size=8000) < np.where(branch == "north", p**3, p ** (1 / 3))
    >>> SegmentCalibrator().fit(p, y, {"branch": branch}).predict([0.5, 0.5], {"branch": ["north", "south"]}).round(1)
    array([0.1, 0.8])
    """

    calibrator: Calibrator | None = None

    def fit(
        self,
        scores: Any,
        y: npt.ArrayLike,
        segments: Any = None,
        *,
        pos_label: Any = None,
        groups: Clusters | None = None,
    ) -> Self:
        """Fit the map for all rows and what segments need beyond it.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), or dataframe
            Scores in [0, 1]. Without `segments` a dataframe of the columns `by` and one more, the scores: what
            cross-validation of scikit-learn can split.
        y : array-like of shape (n,)
            BinaryLabels as in `ScoreTable.from_scores`.
        segments : dataframe or mapping, optional
            Columns that name segments: a dataframe of pandas, Polars or PyArrow, or a dictionary of arrays by name.
        pos_label : scalar, optional
            Label of the positive class.
        groups : array-like of shape (n,), optional
            Cluster of each row, such as the patient: rows of one may depend on each other. They stay whole in folds,
            and gains and their standard errors are those of clusters.

        Returns
        -------
        SegmentCalibrator
            Itself.

        Raises
        ------
        DataError
            If rows or columns cannot be used, such as rows of one class, or a column with one value only.
        ArgumentError
            If a parameter is out of range.
        """
        calibrator = given_or_auto(self.calibrator)
        n_folds = check_count("n_folds", self.n_folds, 2, "five folds are customary")
        check_random_state(self.random_state)
        if segments is None:
            scores, segments = taken_apart(scores, self.by)
        rows = clean_rows(y, scores, pos_label=pos_label)
        label, score = rows.label, rows.score.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
        values = columns_of(segments, self.by, len(score))
        # Every level counts by itself: shrinkage takes care of rare ones.
        self.columns_ = [SegmentColumn.fit(column, name, min_rows=1) for name, column in values.items()]
        for column in self.columns_:
            if len(column) < 2:
                level, remedy = visible(column.labels[0]), f"leave {column.name} out: one segment is all rows"
                raise DataError(f"at least two segments in column {column.name}", f"one, {level}", remedy)
        codes = [column.codes(values[column.name]) for column in self.columns_]
        group = None
        if groups is not None:
            keys = hash_rows(score, *(np.ones_like(label, np.int64), label.astype(np.int64)))
            for code in codes:
                keys = scramble(keys + code.astype(np.uint64))
            group = number_by_content(cluster_numbers(groups, len(score)), keys)
            if group.max() == 0:
                remedy = "fit one map to all segments, or leave the clusters out if rows are independent"
                raise DataError("rows of at least two clusters, so that one can be held out", "one cluster", remedy)
        order = score_order(score, *codes, label, *(() if group is None else (group,)))
        sizes = [len(c) for c in self.columns_]
        data = _Rows(score, codes, label, sizes, group)[order]
        self.calibrator_ = clone(calibrator).fit(data.score, data.label, groups=data.group)  # refuses rows of one class
        self.training_ = self.calibrator_.training_
        units = np.arange(len(score)) if data.group is None else data.group
        share = _ENOUGH / len(score) if len(score) > _MANY else None
        folds = held_out_units(int(units.max()) + 1, n_folds, np.random.default_rng(self.random_state), share)
        parts = [fold[units] for fold in folds]
        log_odds, *added = np.concatenate([_held_out(calibrator, data, part) for part in parts], axis=1)
        self._decide(data[np.concatenate(list(map(np.flatnonzero, parts)))], log_odds, np.stack(added))
        mended = _fitted(data, self._log_odds(data.score)) if self.decision_ == "repaired" else repair.NOTHING
        self.repair_ = mended.scaled(self.shares_)
        return self

    def predict(self, scores: Any, segments: Any = None) -> FloatArray:
        """Map scores of rows in segments to probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), or dataframe
            Scores in [0, 1], or as in `fit` a dataframe that holds them and the segments.
        segments : dataframe or mapping, optional
            The columns of the fit, by name; others are not looked at.

        Returns
        -------
        ndarray of float64, shape (n,)
            Calibrated probabilities.
        """
        check_is_fitted(self)
        if segments is None:
            scores, segments = taken_apart(scores, [column.name for column in self.columns_])
        score = clean_scores(scores).astype(np.float64) + 0.0
        values = columns_of(segments, [column.name for column in self.columns_], len(score))
        codes = [column.codes(values[column.name]) for column in self.columns_]
        if self.decision_ == "one map":
            everyone: FloatArray = self.calibrator_.predict(score)
            return everyone
        for column in self.columns_:
            if said := column.unmet(values[column.name]):
                remedy = "These rows get no repair by it. Pass the values that the calibrator was fitted to."
                warnings.warn(f"{visible(said)}. {remedy}", UserWarning, stacklevel=3)
        log_odds = self._log_odds(score)
        return probability(log_odds + self.repair_.parts(score, log_odds, codes).sum(axis=0))

    def _log_odds(self, score: FloatArray) -> FloatArray:
        return _logit(self.calibrator_.predict(score))

    def _decide(self, held_out: _Rows, log_odds: FloatArray, added: FloatArray) -> None:
        """Choose the shares on held-out rows, and whether they gain enough."""
        named = visible(", ".join(column.name for column in self.columns_))
        shares = _shares(log_odds, added, held_out.label)
        before, after = (
            repair.log_losses(log_odds, held_out.label),
            repair.log_losses(log_odds + shares @ added, held_out.label),
        )
        self.gain_, self.standard_error_ = repair.mean_and_error(before - after, held_out.group)
        beyond = _BEYOND_NOISE
        if held_out.group is not None:
            beyond = Jackknife(np.bincount(held_out.group).astype(np.float64)).quantile(_CHANCE)
        repaired = self.gain_ > beyond * self.standard_error_
        self.decision_ = "repaired" if repaired else "one map"
        self.shares_ = shares if repaired else np.zeros(2)
        judged = (
            f"on {len(held_out.label):,} held-out rows a repair by {named} lowers the log loss by a further "
            f"{number(self.gain_)} (standard error {number(self.standard_error_)})"
        )
        if repaired:
            self.reason_ = f"Repaired: {judged}, from the {number(float(before.mean()))} of one map for all."
        else:
            self.reason_ = f"One map for all: {judged}, which may be chance."
            after = before
        self.gains_ = repair.segment_gains(self.columns_, held_out.codes, before, after, held_out.group)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows in the order of their scores."""

    score: FloatArray
    codes: list[IntArray]
    label: BinaryLabels
    sizes: list[int]  # segments of each column
    group: IntArray | None  # cluster of each row, from 0, if rows may depend on each other

    def __getitem__(self, rows: npt.NDArray[Any]) -> _Rows:
        group = None if self.group is None else self.group[rows]
        return _Rows(self.score[rows], [code[rows] for code in self.codes], self.label[rows], self.sizes, group)


def _held_out(calibrator: Calibrator, data: _Rows, part: npt.NDArray[np.bool_]) -> FloatArray:
    """Fit to the other rows; return the log-odds of those held out, and what both members of a repair would add."""
    rest, held_out = data[~part], data[part]
    clean = CleanRows(rest.label, rest.score, None)
    rows = ScoreTable.from_clean(clean) if rest.group is None else group_rows(clean, rest.group, rest.group)
    fitted = fit_part(clone(calibrator), rows)
    mended = _fitted(rest, _logit(fitted.predict(rest.score)))
    log_odds = _logit(fitted.predict(held_out.score))
    return np.vstack([log_odds, mended.parts(held_out.score, log_odds, held_out.codes)])


def _fitted(data: _Rows, log_odds: FloatArray) -> SegmentRepair:
    offsets = repair.fit_offsets(log_odds, data.codes, data.label)
    return SegmentRepair(offsets, repair.fit_trees(data.score, log_odds, data.codes, data.label, data.sizes))


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, LEAST, MOST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _shares(log_odds: FloatArray, added: FloatArray, label: BinaryLabels) -> FloatArray:
    """Return the shares of both members, none negative, under which held-out labels are most likely.

    The log likelihood is concave. So the best point of the quadrant is the unlimited maximum over some of the members,
    the one that is most likely among those without a negative share.
    """
    n, best = len(label), np.zeros(2)
    least = 2.0 * float(repair.log_losses(log_odds, label).sum())
    for chosen in ([0], [1], [0, 1]):
        if n <= len(chosen):
            continue
        fit = logistic_fit(added[chosen].T, np.ones(n), label, offset=log_odds)
        if fit.converged and (fit.coefficients > 0.0).all() and fit.deviance < least:
            least, best = fit.deviance, np.zeros(2)
            best[chosen] = fit.coefficients
    return best
