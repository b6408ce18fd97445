"""Faults and questions of other tools, as their users reported them in public, repeated with numbers of our own.

The right value is from arithmetic of the test, from SciPy or from scikit-learn. Sources are named by project and number
of the issue, or of the pull request (PR).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import KFold, LeaveOneOut, PredefinedSplit

import calibrant as cal
from calibrant import calibrators, curves, metrics
from calibrant.decisions import net_benefit
from calibrant.errors import ArgumentError, CalibrantError, DataError
from support.tables import grades_of, segments_of

MAPS = (
    calibrators.IsotonicCalibrator,
    calibrators.PlattCalibrator,
    calibrators.BetaCalibrator,
    calibrators.VennAbersCalibrator,
)


def drawn(n, seed):
    """Calibrated scores, and their outcomes."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p


def of_classes(n, seed):
    """Outcomes of three classes a, b and c, and their true probabilities."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet([1, 1, 1], n)
    return np.array(["a", "b", "c"])[(rng.random((n, 1)) > np.cumsum(true, axis=1)).sum(axis=1).clip(0, 2)], true


def cutoff(y, p):
    """The cut-off calibration error by its definition: sort, add up, read where a score ends."""
    order = np.argsort(p, kind="stable")
    walk = np.cumsum((y - p)[order]) / len(y)
    walk = np.r_[0.0, walk[np.r_[np.diff(p[order]) > 0, True]]]
    return walk.max() - walk.min()


class Margins(ClassifierMixin, BaseEstimator):
    """A classifier that has margins only, the first feature."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


class Known(ClassifierMixin, BaseEstimator):
    """A classifier that gives the columns of X, which are right, in an order of its own."""

    def __init__(self, names=("a", "b", "c"), order=("a", "b", "c")):
        self.names = names
        self.order = order

    def fit(self, X, y):
        self.classes_ = np.array(self.order)
        return self

    def predict_proba(self, X):
        return np.asarray(X)[:, [list(self.names).index(c) for c in self.order]]

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


@pytest.mark.parametrize("log_safe", [True, False])
@pytest.mark.parametrize("scores", [[0, 1e-320, 1e-314, 1], [0, 1e-315, 1e-315, 1]])
def test_isotonic_denormal_scores(scores, log_safe):
    """scikit-learn #10903, PR 17758, #2507: isotonic regression gives inf where scores are denormal."""
    fitted = calibrators.IsotonicCalibrator(log_safe=log_safe).fit(scores, [0, 1, 0, 1])
    got = fitted.predict([0, 1e-321, 1e-317, 1e-316, 1e-313, 1e-10, 0.5, 1])
    assert (np.diff(got) >= 0).all()
    assert got.min() >= 0
    assert got.max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAPS)
def test_float32_probabilities(kind):
    """scikit-learn #28245, xgboost #10004, h2o recipes PR 251: classifiers whose probabilities are float32."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 3))
    y = (rng.random(300) < expit(X[:, 0])).astype(int)

    class Single(LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X).astype("f4")

    a, b = (cal.CalibratedClassifier(one(), kind()).fit(X, y).predict_proba(X) for one in (Single, LogisticRegression))
    assert np.abs(a - b).max() < 1e-6


@pytest.mark.slow
def test_leave_one_out_is_n_folds():
    """scikit-learn #29000: leave-one-out as folds, one map for all, is K folds of one row."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 2))
    y = (rng.random(40) < expit(X[:, 0])).astype(int)

    def fit(cv):
        return cal.CalibratedClassifier(LogisticRegression(), calibrators.PlattCalibrator(), cv=cv).fit(X, y)

    assert np.array_equal(fit(LeaveOneOut()).predict_proba(X), fit(KFold(40)).predict_proba(X))


@pytest.mark.slow
def test_class_with_one_row_keeps_probabilities_adding_to_one():
    """scikit-learn #17827, #29551: folds that lack a class."""
    rng = np.random.default_rng(9)
    y = np.r_[np.zeros(90, int), np.ones(92, int), [2]]
    X = rng.normal(size=(183, 5)) + y[:, None]
    with pytest.warns(UserWarning, match="least populated class"):
        P = cal.CalibratedClassifier(LogisticRegression()).fit(X, y).predict_proba(X)
    assert P.shape == (183, 3)
    assert np.allclose(P.sum(axis=1), 1)
    assert (P >= 0).all()


@pytest.mark.slow
def test_unsorted_classes_elsewhere():
    """scikit-learn #17827, #29551, and what is like them: classes in an order of their own."""
    y, X = of_classes(800, 18)
    model = cal.CalibratedClassifier(Known(order=("c", "a", "b"))).fit(X, y)
    assert list(model.classes_) == ["a", "b", "c"]
    assert np.abs(model.predict_proba(X) - X).max() < 0.1
    turned = metrics.class_wise_calibration(y, X[:, [2, 0, 1]], classes=["c", "a", "b"])
    assert str(turned) == str(metrics.class_wise_calibration(y, X, classes=["a", "b", "c"]))
    two = (y == "a").astype(int)
    p = np.column_stack([1 - X[:, 0], X[:, 0]])
    frozen = FrozenEstimator(Known((0, 1), (1, 0)).fit(p, two))
    got = cal.CalibratedClassifier(frozen, calibrators.PlattCalibrator()).fit(p, two).predict_proba(p)[:, 1]
    assert np.corrcoef(got, X[:, 0])[0, 1] > 0.95


def test_brier_score_of_one_class():
    """scikit-learn PR 13628 (#8459, #9300, #9562): Brier score of one class."""
    assert metrics.brier_score([1, 1, 1], [0.8, 0.9, 1.0]) == pytest.approx(0.05 / 3)
    assert metrics.brier_score([-1, -1], [0.1, 0.2]) == pytest.approx(0.025)
    assert metrics.brier_score(["a", "a"], [0.8, 0.9], pos_label="a") == pytest.approx(0.025)
    with pytest.raises(DataError):
        metrics.brier_score([2, 2], [0.1, 0.2])


def test_log_loss_at_boundaries():
    """scikit-learn PR 24365: log loss at the boundaries, integers as probabilities."""
    assert metrics.log_loss([0, 1], [0, 1]) == 0
    assert metrics.log_loss([0, 1], [0, 0]) == np.inf == metrics.log_loss([0, 1], [1, 1])
    assert metrics.log_loss([0, 1], np.array([[0.9, 0.1], [0.1, 0.9]], "f4")) == pytest.approx(-np.log(0.9), rel=1e-6)


def test_isotonic_repeated_scores_and_zero_weights():
    """scikit-learn #9432, #4297, PR 3995: repeated scores, weights of zero, repeated lowest score."""

    def fit(*rows, **weights):
        return calibrators.IsotonicCalibrator(log_safe=False).fit(*rows, **weights)

    scores = np.array([0, 1, 1, 2, 3]) / 3
    assert np.allclose(fit(scores, [0, 0, 1, 0, 1]).predict(scores), [0, 1 / 3, 1 / 3, 1 / 3, 1])
    rng = np.random.default_rng(5)
    x, w = np.linspace(0, 1, 60), rng.random(60)
    w[[0, 5, 6, 7, 59]] = 0
    y, k = (rng.random(60) < x).astype(int), w > 0
    right = IsotonicRegression(out_of_bounds="clip").fit(x[k], y[k], sample_weight=w[k]).predict(x[k])
    assert np.allclose(fit(x, y, sample_weight=w).predict(x[k]), right)
    assert list(fit([0, 0, 1], [0, 0, 1]).predict([0.0, -0.0, 1])) == [0, 0, 1]


@pytest.mark.parametrize("kind", [*MAPS, cal.AutoCalibrator])
def test_counts_are_repetitions(kind):
    """scikit-learn #20610, PR 21179: a count of 2 is a row met twice, a count of 0 none."""
    (y, p), w = drawn(90, 5), np.repeat([0, 1, 3], 30)
    right = kind().fit(np.repeat(p, w), np.repeat(y, w)).predict(p)
    assert np.abs(kind().fit(p, y, count=w).predict(p) - right).max() < 1e-12


@pytest.mark.parametrize("weight", [1 / 5000, 1e-9, 7.0])
@pytest.mark.parametrize("kind", MAPS)
def test_equal_weights_of_any_size(kind, weight):
    """scikit-learn PR 8663 (weights of simulated events): equal weights say nothing, whatever their size."""
    y, p = drawn(5000, 5)
    new = np.array([0.01, 0.3, 0.9, 0.99])
    given = kind().fit(expit(2 * logit(p)), y, sample_weight=np.full(5000, weight)).predict(new)
    assert np.abs(given - expit(logit(new) / 2)).max() < 0.06


@pytest.mark.slow
def test_amounts_as_weights_certify_nothing():
    """scikit-learn PR 30886 (which kind of weights?): 400 loans in whole euros are not 17 million rows."""
    rng, wrong = np.random.default_rng(22), 0
    for _ in range(30):
        q, euros = rng.random(400), rng.integers(1000, 90_000, 400)
        y = (rng.random(400) < np.clip(q - 0.12, 0, 1)).astype(int)  # the error is 0.1128
        with pytest.raises(ArgumentError, match="weights do not count rows"):
            cal.certify(y, q, weight=euros)
        with pytest.raises(DataError, match="weights that count no rows"):
            cal.audit(y, q, weight=euros, tolerance=0.1)
        shown = {"relative_to": "exposure", "limits": (0, 1), "weight": euros, "tolerance": 0.1}
        wrong += cal.certify(y, q, **shown, kind="amount").verdict == "certified"
    assert wrong <= 4  # 5% of 30 is 1.5


@pytest.mark.parametrize(
    "kind", [calibrators.ScaleCalibrator, calibrators.PowerCalibrator, calibrators.IsotonicMeanCalibrator]
)
def test_equal_weights_of_any_size_in_maps_of_means(kind):
    """scikit-learn PR 8663 (weights of simulated events): equal weights say nothing, whatever their size."""
    rng = np.random.default_rng(1)
    mu = rng.gamma(2, 1, 3000)
    y = rng.poisson(1.5 * mu)
    right = kind().fit(mu, y).predict([1.0, 2.0])
    assert np.allclose(kind().fit(mu, y, sample_weight=np.full(3000, 1e-5)).predict([1.0, 2.0]), right)


def test_label_kinds():
    """deepchecks #486: labels with blanks and signs in them; evidently PR 1603: boolean labels; pandas, polars."""
    rng = np.random.default_rng(6)
    p = rng.random(300).round(3)
    y = (rng.random(300) < p).astype(int)
    b = y.astype(bool)
    right = cutoff(y, p)
    kinds = [
        (np.where(b, " 50000+.", " - 50000."), " 50000+."),
        (b, None),
        (pd.array(y, dtype="Int64"), None),
        (pd.array(b, dtype="boolean"), None),
        (pd.Categorical(y, categories=[0, 1, 2]), None),
        (pd.Categorical(np.where(b, "b", "g")), "b"),
        (np.array(b, dtype=object), None),
        (2 * y - 1, None),
        (y + 1, 2),
        (y + 1, 2.0),
        (1 - y, 0),
        (np.where(b, "b", "g"), np.str_("b")),
    ]
    for labels, positive in kinds:
        assert metrics.cutoff_calibration_error(labels, p, pos_label=positive) == pytest.approx(right, abs=1e-13)
    with pytest.raises(DataError, match="pos_label"):
        metrics.cutoff_calibration_error(y + 1, p)


def test_ece_by_hand():
    """torchmetrics #1907, JonathanWenger/pycalib #4: the number of bins; the mean score of a bin, not its middle."""
    y, p = [0, 0, 1, 1, 1], [0.25, 0.25, 0.55, 0.75, 0.75]
    assert metrics.expected_calibration_error(y, p, n_bins=2, strategy="uniform") == pytest.approx(0.29)
    assert metrics.expected_calibration_error(y, p, n_bins=2, strategy="uniform", norm="max") == pytest.approx(0.95 / 3)
    assert metrics.expected_calibration_error([0, 1, 1], [0, 1, 1], strategy="uniform") == 0


@pytest.mark.parametrize("strategy", ["quantile", "uniform", "type7"])
def test_every_row_is_in_a_bin(strategy):
    """BrowseComp-Plus PR 18, hle #4: rows of the last bin left out; xskillscore PR 269; TrustLens PR 163."""
    for n in (3, 7, 9, 10, 11, 83, 101):
        y, p = drawn(n, n)
        curve = curves.binned_curve(y, p.round(1), strategy=strategy)
        ece = metrics.binned_calibration(y, p.round(1), strategy=strategy)
        assert curve.n.sum() == n == ece.n.sum()
        assert (np.diff(curve.score) > 0).all()
        assert ece.value == pytest.approx((ece.n / n * np.abs(ece.rate - ece.score)).sum())
    assert metrics.binned_calibration([0, 0, 0, 1], [0.9] * 4, strategy=strategy).value == pytest.approx(0.65)


def test_two_intercepts():
    """BavoDC/CalibrationCurves #3: two intercepts, that beside the slope and that with the slope fixed at 1."""
    rng = np.random.default_rng(4)
    lp = rng.normal(size=400) - 1
    y = (rng.random(400) < expit(0.3 + 0.8 * lp)).astype(int)
    a = b = 0.0
    for _ in range(60):  # Newton, by hand
        m = expit(a + b * lp)
        w = m * (1 - m)
        A = np.array([[w.sum(), (w * lp).sum()], [(w * lp).sum(), (w * lp * lp).sum()]])
        step = np.linalg.solve(A, [(y - m).sum(), ((y - m) * lp).sum()])
        a, b = a + step[0], b + step[1]
    c = 0.0
    for _ in range(60):
        m = expit(c + lp)
        c += (y - m).sum() / (m * (1 - m)).sum()
    got = metrics.calibration_slope(y, expit(lp))
    assert (got.intercept, got.slope, got.calibration_intercept) == pytest.approx((a, b, c), abs=1e-7)


def test_net_benefit_at_ties_and_limits():
    """ddsjoberg/dcurves #21, rtichoke #43: thresholds of 0 and 1; scores on the threshold count as positive."""
    y, p = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0.1, 0.1, 0.5, 1, 1.0])
    for t in (0.1, 0.5, 0.9):
        right = ((p >= t) & (y == 1)).mean() - ((p >= t) & (y == 0)).mean() * t / (1 - t)
        assert net_benefit(y, p, at=[t]).net_benefit[0] == pytest.approx(right)
    for t in (0.0, 1.0):
        with pytest.raises(CalibrantError):
            net_benefit(y, p, at=[t])


@pytest.mark.parametrize("kind", [*MAPS[:3], cal.AutoCalibrator])
@pytest.mark.parametrize("score", [0.0, 0.3, 1.0])
def test_constant_scores(kind, score):
    """betacal PR 7: scores that are all the same."""
    fitted = kind().fit(np.full(100, score), np.repeat([0, 1], [70, 30]))
    assert fitted.predict([score])[0] == pytest.approx(0.3, abs=0.06)


def test_venn_abers_by_brute_force():
    """venn-abers #24, #25: inductive Venn-Abers prediction is isotonic regression with the new row added, twice."""
    rng = np.random.default_rng(5)
    s = rng.random(60).round(1)
    y = (rng.random(60) < s).astype(int)
    new = np.r_[np.unique(s), np.linspace(0.025, 0.975, 39) + 1e-9]  # scikit-learn pools scores 1e-15 apart
    p0, p1 = calibrators.VennAbersCalibrator().fit(s, y).predict_interval(new)
    for label, got in ((0, p0), (1, p1)):
        right = [
            IsotonicRegression(out_of_bounds="clip").fit(np.r_[s, t], np.r_[y, label]).predict([t])[0] for t in new
        ]
        assert np.abs(got - right).max() < 1e-12


def test_temperature_stays_where_it_should():
    """gpleiss/temperature_scaling #23, #31: the temperature runs away, or becomes negative."""
    rng = np.random.default_rng(17)
    p = expit(rng.normal(size=1000))
    y = (rng.random(1000) < p).astype(int)
    turned = calibrators.TemperatureCalibrator().fit(1 - p, y).predict([0.1, 0.5, 0.9])
    assert (np.diff(turned) >= 0).all()
    assert np.abs(turned - 0.5).max() < 0.05
    parted = calibrators.TemperatureCalibrator().fit(p, (p > 0.5).astype(int)).predict([0.1, 0.5, 0.9])
    assert np.isfinite(parted).all()
    assert (np.diff(parted) > 0).all()


@pytest.mark.slow
def test_monitor_does_not_depend_on_batches():
    """nannyml PR 384: a batch with rows of one class."""
    y, p = drawn(1200, 15)
    shown = set()
    for size in (1200, 100, 7):
        monitor = cal.Monitor(0.05)
        for i in range(0, 1200, size):
            monitor.update(y[i : i + size], p[i : i + size])
        shown.add(round(float(monitor.state.evidence), 9))
    assert len(shown) == 1


def test_class_that_does_not_occur():
    """p-lambda/verified_calibration #2, #7: a class that does not occur; netcal #37: rows that do not add up to 1."""
    P = np.array([[0.2, 0.5, 0.3]] * 3)
    result = metrics.class_wise_calibration([1, 1, 1], P, classes=[0, 1, 2])
    assert result.error.tolist() == pytest.approx([0.2, 0.5, 0.3])
    with pytest.raises(DataError, match="add up to 1"):
        metrics.expected_calibration_error([1, 1, 0], [[0.1, 0.8], [0.3, 0.7], [0.2, 0.8]])


def test_brier_decomposition_adds_up():
    """SolarArbiter #232, scikit-learn PR 22233: a decomposition that does not fall apart with distinct scores."""
    y, p = drawn(500, 3)
    d = metrics.brier_decomposition(y, p)
    iso = IsotonicRegression().fit(p, y).predict(p)
    assert d.value == pytest.approx(d.miscalibration - d.discrimination + d.uncertainty)
    assert d.miscalibration == pytest.approx(((p - y) ** 2).mean() - ((iso - y) ** 2).mean())
    assert 0 < d.discrimination < d.uncertainty


def test_missing_levels_are_a_segment():
    """model-diagnostics PR 59, PR 44: rows without a level are a level of their own."""
    y, p = drawn(1500, 11)
    g = np.random.default_rng(12).choice(np.array(["a", "b", None], dtype=object), 1500)
    frame = segments_of(pd.DataFrame({"y": y, "p": p, "g": g}), outcome="y", prediction="p", by="g").to_frame()
    assert sorted(frame["segment"]) == ["g = a", "g = b", "g = missing"]
    assert frame["rows"].sum() == 1500


@pytest.mark.parametrize("name", ["brier_score", "cutoff_calibration_error", "roc_auc", "expected_calibration_error"])
def test_negative_weights_are_refused(name):
    """hep_ml #51, catboost PR 399: negative weights."""
    with pytest.raises(DataError, match="not negative"):
        getattr(metrics, name)([0, 1, 1], [0.2, 0.7, 0.9], sample_weight=[1, -0.2, 1])


def test_exposure_and_weights_agree():
    """scikit-learn #18059: counts with exposure, or frequencies with exposure as weight."""
    rng = np.random.default_rng(10)
    mu, e = rng.gamma(2, 0.05, 2000), rng.uniform(0.1, 1, 2000)
    n = rng.poisson(1.2 * mu * e)
    right = mean_poisson_deviance(n / e, mu, sample_weight=e)
    assert metrics.mean_deviance(n, mu, exposure=e) == pytest.approx(right)
    assert metrics.mean_deviance(n / e, mu, sample_weight=e) == pytest.approx(right)
    assert metrics.mean_bias(n, mu, exposure=e).balance.value == pytest.approx(n.sum() / (mu * e).sum())


def test_offset_is_either_formula():
    """Stack Exchange: two formulas for probabilities after down-sampling."""
    rng = np.random.default_rng(10)
    p = expit(rng.normal(size=3000) - 3)
    y, share = (rng.random(3000) < p).astype(int), 0.1
    ps = p / (p + share * (1 - p))
    got = calibrators.OffsetCalibrator(positives_sampled=1, negatives_sampled=share).fit(ps, y).predict(ps)
    assert np.allclose(got, share * ps / ((share - 1) * ps + 1), atol=1e-14)
    assert np.allclose(got, p, atol=1e-14)


def test_auc_with_near_ties():
    """confidenceinterval #15, pROC #25, MatlabAUC #1: perfect separation, near ties, ties."""
    x = np.array([0.96, 0.08, 0.93, 0.93, 0.653549466997938699, 0.653549466997938588, 0.653549466997938477, 0.93])
    y = np.array([1, 0, 1, 0, 1, 1, 0, 0])
    a, b = x[y == 1][:, None], x[y == 0]
    assert metrics.roc_auc(y, x) == pytest.approx(((a > b) + 0.5 * (a == b)).mean(), abs=1e-15)


def test_selective_does_not_depend_on_order():
    """hallmark PR 63: the risk-coverage curve depended on the order of tied rows."""
    rng = np.random.default_rng(12)
    score = rng.choice([0.7, 0.9, 0.95, 1.0], 2000)
    right = (rng.random(2000) < score).astype(int)
    orders = [np.arange(2000), np.argsort(right), np.argsort(-right), rng.permutation(2000)]
    assert len({str(cal.selective(right[i], score[i], target_error=0.06)) for i in orders}) == 1


def test_intervals_at_zero_events():
    """garak #2033, #2076, scikit-hep/hist PR 281: intervals of no width at 0 of n."""
    y, p = np.r_[np.zeros(300, int), np.ones(3, int)], np.r_[np.linspace(0.001, 0.05, 300), [0.9] * 3]
    for kind, right in (("wilson", 1.959964**2 / (30 + 1.959964**2)), ("clopper-pearson", 1 - 0.025 ** (1 / 30))):
        curve = curves.binned_curve(y, p, interval=kind)
        assert curve.n[0] == 30
        assert curve.lower[0] == 0
        assert curve.upper[0] == pytest.approx(right, abs=1e-6)


def test_concentration_counts_exposure():
    """scikit-learn PR 30198: the Lorenz curve with exposure; gini with ties in any order."""
    rng = np.random.default_rng(15)
    mu, e = rng.gamma(2, 0.1, 60).round(2) + 0.01, rng.integers(1, 10, 60)
    n = rng.poisson(mu * e)
    levels = np.unique(mu)
    x = np.r_[0, np.cumsum([e[mu == v].sum() for v in levels])] / e.sum()
    c = np.r_[0, np.cumsum([n[mu == v].sum() for v in levels])] / n.sum()
    right = 1 - np.trapezoid(c, x) * 2
    i, rep = rng.permutation(60), np.repeat(np.arange(60), e)
    for got in (metrics.concentration(n[i], mu[i], exposure=e[i]), metrics.concentration((n / e)[rep], mu[rep])):
        assert got.gini == pytest.approx(right)


def test_grades_without_defaults():
    """GARP, deepcreditrisk: Jeffreys test with no default, and 2 of 6 at PD .0367."""
    got = grades_of([1, 1, 0, 0, 0, 0], [0.0367] * 6, ["A"] * 6).to_frame()
    assert got["p_jeffreys"][0] == pytest.approx(2 * beta.cdf(0.0367, 2.5, 4.5), rel=1e-9)
    none = grades_of(np.zeros(300, int), [0.0003] * 300, ["A"] * 300).to_frame()
    assert none["defaults"][0] == 0
    assert none["verdict"][0] == ""
    assert none["upper"][0] > 0.0003


@pytest.mark.slow
def test_one_map_for_each_source():
    """amiable-dev/llm-council #563: confidences of two sources; one map for both fits noise."""
    rng = np.random.default_rng(11)
    p = rng.random(2000)
    y, s = (rng.random(2000) < p).astype(int), np.repeat(["self", "agree"], 1000)
    frame = pd.DataFrame({"p": np.where(s == "self", 0.85 + 0.15 * p, 0.3 * p), "s": s})
    by_source = calibrators.SegmentCalibrator(calibrators.PlattCalibrator(), by=["s"]).fit(frame, y).predict(frame)

    def loss(q):
        return -np.log(np.where(y == 1, q, 1 - q)).mean()

    assert loss(by_source) < loss(cal.AutoCalibrator().fit(frame["p"], y).predict(frame["p"])) - 0.05
    assert loss(by_source) < loss(p) + 0.01


def test_percent_is_recognised_with_0_1_and_100():
    """pm-claude-skills PR 193: confidences in percent, of which 0, 1 and 100 were lost."""
    rng = np.random.default_rng(9)
    conf = rng.choice([0, 1, 50, 70, 90, 95, 99, 100], 400)
    y = (rng.random(400) < conf / 100).astype(int)
    with pytest.raises(DataError, match="percentages"):
        cal.audit(y, conf)
    assert metrics.cutoff_calibration_error(y, conf / 100) == pytest.approx(cutoff(y, conf / 100), abs=1e-12)


@pytest.mark.parametrize("value", [-1e-17, 1 + 2**-52, 1 + 2**-23])
def test_advice_for_rounding_errors_outside_0_and_1(value):
    """scikit-learn PR 10981, #10903: probabilities a little above 1; rounding of 1 less the others."""
    y, p = drawn(500, 2)
    p[7] = value
    with pytest.raises(DataError) as caught:
        cal.audit(y, p)
    assert "clip" in caught.value.remedy
    assert "exp(" not in caught.value.remedy


@pytest.mark.parametrize("code", [-999.0, -9999.0, -1.0])
def test_advice_for_codes_of_missing_scores(code):
    """METplotpy, xskillscore, climpred: codes for missing values among right scores."""
    y, p = drawn(400, 9)
    with pytest.raises(DataError) as caught:
        cal.audit(y, np.r_[p[:395], [code] * 5])
    assert "missing" in caught.value.remedy
    assert "exp(" not in caught.value.remedy


def test_classes_rounded_to_two_decimals():
    """scikit-learn PR 28851: rows of classes that add up to 1 but for rounding."""
    rows = [[0.13, 0.1, 0.76], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    assert 0 <= metrics.confidence_calibration_error([0, 1, 2, 2], rows) <= 1


def test_none_in_a_file_is_missing(tmp_path):
    """xskillscore, files of judges: words for missing scores that Python and pandas write."""
    y, p = drawn(200, 9)
    lines = [f"{a},{b:.3f}" for a, b in zip(y, p, strict=True)] + ["1,None", "0,NA"]
    (tmp_path / "a.csv").write_text("y,p\n" + "\n".join(lines) + "\n")
    assert cal.read_table(tmp_path / "a.csv", outcome="y", prediction="p", missing="drop").total == 200


@pytest.mark.parametrize("top", [5, 10])
def test_ratings_are_not_percentages(top):
    """Judges that rate from 1 to 5 or 1 to 10."""
    rng = np.random.default_rng(9)
    with pytest.raises(DataError, match="ratings") as caught:
        cal.audit(rng.integers(0, 2, 400), rng.integers(1, top + 1, 400))
    assert "divide them by 100" not in caught.value.remedy


def test_auc_of_perfect_separation_is_one():
    """confidenceinterval #15: areas above 1; ours were 1 less 1e-16 in 44% of such samples."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b = rng.integers(1, 60, 2)
        y, p = np.repeat([0, 1], [a, b]), np.r_[rng.random(a) * 0.5, 0.5 + rng.random(b) * 0.5]
        assert metrics.roc_auc(y, p) == 1.0
        assert metrics.roc_auc(1 - y, p) == 0.0
        assert metrics.roc_auc(y, p, sample_weight=rng.random(a + b) + 0.1) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [calibrators.IsotonicCalibrator, calibrators.VennAbersCalibrator])
@pytest.mark.parametrize("outlier", [1e12, 1e20])
def test_one_outlier_among_margins(outlier, kind):
    """scikit-learn #26766: one far margin, and the map forgets the order of the others."""
    rng = np.random.default_rng(3)
    z = 2 * rng.normal(size=2000)
    y = (rng.random(2000) < expit(z)).astype(int)
    z[0] = outlier
    right = IsotonicRegression(out_of_bounds="clip").fit(z, y).predict(z[1:])
    p = cal.CalibratedClassifier(Margins(), kind()).fit(z[:, None], y).predict_proba(z[1:, None])[:, 1]
    assert roc_auc_score(y[1:], p) > roc_auc_score(y[1:], right) - 0.01


def test_leave_one_out_ensemble():
    """scikit-learn #29000: an ensemble over folds of one row has no calibration to learn."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 2))
    y = (rng.random(60) < expit(3 * X[:, 0])).astype(int)
    model = cal.CalibratedClassifier(
        LogisticRegression(), calibrators.PlattCalibrator(), cv=LeaveOneOut(), ensemble=True
    )
    with pytest.raises(CalibrantError):
        model.fit(X, y)


def test_two_versions_of_one_model():
    """pROC and roc_comparison, questions on paired tests: intervals as narrow as those of the differences of rows."""
    rng = np.random.default_rng(13)
    z = 1.5 * rng.normal(size=800) - 1
    p, q = expit(z), expit(1.05 * z + 0.05)
    y = (rng.random(800) < p).astype(int)
    found = cal.compare(y, {"a": p, "b": q})
    log_loss = [-np.log(np.where(y == 1, score, 1 - score)) for score in (p, q)]
    for name, d in (("brier_score", (q - y) ** 2 - (p - y) ** 2), ("log_loss", log_loss[1] - log_loss[0])):
        one = found.difference(name)
        # Two measures and the calibration error hold together at 95%: a quantile of 2.5 would be Bonferroni's of four.
        assert one.upper - one.lower < 1.15 * 2 * 2.5 * d.std(ddof=1) / np.sqrt(800)
    area = found.difference("roc_auc")
    assert (area.lower, area.upper) == (0.0, 0.0)
    # The same scores but for two rows: nothing normal about it.
    few = cal.compare(y, {"a": p, "b": np.where(np.arange(800) < 2, 1 - p, p)}).difference("brier_score")
    assert few.upper - few.lower > 2 * 5 / 800


@pytest.mark.slow
def test_frozen_classifier_with_unsorted_classes():
    """scikit-learn #17827, #29551, and what is like them: a frozen classifier of classes in an order of its own."""
    y, X = of_classes(2000, 18)
    model = cal.CalibratedClassifier(FrozenEstimator(Known(order=("c", "a", "b")).fit(X, y))).fit(X, y)
    by_name = dict(zip(model.classes_, model.predict_proba(X).T, strict=True))
    assert np.abs(np.column_stack([by_name[name] for name in "abc"]) - X).max() < 0.1


def test_class_in_one_fold_only():
    """scikit-learn #17827, #29551: a class that one fold has alone is not calibrated away."""
    rng = np.random.default_rng(30)
    true = rng.dirichlet([1] * 4, 1500)
    y = (rng.random((1500, 1)) > np.cumsum(true, axis=1)).sum(axis=1).clip(0, 3)
    folds = PredefinedSplit(np.where(y == 3, 0, rng.integers(1, 4, 1500)))
    with pytest.raises(CalibrantError):
        cal.CalibratedClassifier(LogisticRegression(), cv=folds).fit(np.log(true), y)


@pytest.mark.slow
def test_levels_as_text():
    """llm-council #563 and its like: levels that come as text in use, and were numbers in the fit."""
    rng = np.random.default_rng(26)
    frame = pd.DataFrame({"p": rng.random(2000), "s": rng.integers(1, 4, 2000)})
    true = expit(logit(frame.p) + np.array([0.0, -1.5, 0.0, 1.5])[frame.s])
    y = (rng.random(2000) < true).astype(int)
    fitted = calibrators.SegmentCalibrator(calibrators.PlattCalibrator(), by=["s"]).fit(frame, y)
    right = fitted.predict(frame)
    assert np.abs(right - true).mean() < 0.03
    for kind in (float, str, "category"):
        assert np.abs(fitted.predict(frame.assign(s=frame.s.astype(kind))) - right).max() < 1e-12
