"""Logistic regression meets other implementations, general optimisers and a linear program that knows separation."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import expit

from calibrant.fits.log_odds import logistic_fit

SCORE = np.array([0.1, 0.2, 0.35, 0.5, 0.8, 0.9])
ROWS = np.array([5, 8, 3, 10, 4, 6])
POSITIVES = np.array([1, 1, 2, 4, 3, 6])
DESIGN = np.column_stack([np.ones(6), np.log(SCORE / (1.0 - SCORE))])


def gradient(design, n, k, coefficients, offset=0.0):
    return design.T @ (k - n * expit(design @ coefficients + offset))


def loss(design, n, k, coefficients):
    logit = design @ coefficients
    return float((k * np.logaddexp(0.0, -logit) + (n - k) * np.logaddexp(0.0, logit)).sum())


def by_general_optimiser(design, n, k):
    def hessian(b):
        p = expit(design @ b)
        return design.T @ ((n * p * (1 - p))[:, None] * design)

    found = minimize(
        lambda b: loss(design, n, k, b),
        np.zeros(design.shape[1]),
        jac=lambda b: -gradient(design, n, k, b),
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-11, "maxiter": 2000},
    )
    return found.x


def separable(design, n, k):
    """Albert & Anderson (1984) as a linear program: a direction no positive is against and no negative is for."""
    sign = np.where(k > 0, 1.0, 0.0) - np.where(k < n, 1.0, 0.0)  # 0 where both classes stand
    margins = design * sign[:, None]
    mixed = sign == 0.0
    program = linprog(
        -margins.sum(axis=0),
        A_ub=-margins[~mixed] if (~mixed).any() else None,
        b_ub=np.zeros((~mixed).sum()) if (~mixed).any() else None,
        A_eq=design[mixed] if mixed.any() else None,
        b_eq=np.zeros(mixed.sum()) if mixed.any() else None,
        bounds=[(-1.0, 1.0)] * design.shape[1],
    )
    return -program.fun > 1e-9


def test_equals_statsmodels():
    # statsmodels 0.15.0: GLM(rows, [1, logit score], family=Binomial()).fit(tol=1e-14), rows repeated
    fit = logistic_fit(DESIGN, ROWS, POSITIVES)
    assert fit.converged
    assert fit.coefficients == pytest.approx([0.046792417231834, 1.028152948596953], abs=1e-13)
    assert fit.covariance.ravel() == pytest.approx(
        [0.171471234267816, 0.025558720698419, 0.025558720698419, 0.122349137482631], rel=1e-8
    )
    assert fit.deviance == pytest.approx(36.5199918049551, abs=1e-11)


def test_equals_statsmodels_with_an_offset():
    # as above, with the logit as offset and an intercept alone
    fit = logistic_fit(np.ones((6, 1)), ROWS, POSITIVES, offset=DESIGN[:, 1])
    assert fit.coefficients == pytest.approx([0.040964723598367], abs=1e-13)
    assert fit.covariance.ravel() == pytest.approx([0.163589834539876], rel=1e-8)
    assert fit.deviance == pytest.approx(36.526554244044, abs=1e-11)


def test_equals_statsmodels_with_weights():
    # statsmodels 0.15.0: GLM(shares, ..., var_weights=rows * weight)
    weight = np.array([0.5, 2.25, 1.0, 0.75, 3.0, 1.5])
    fit = logistic_fit(DESIGN, ROWS * weight, POSITIVES * weight)
    assert fit.coefficients == pytest.approx([-0.069373852951433, 1.138431178797221], abs=1e-13)


def test_rows_and_groups_give_one_fit():
    y = np.concatenate([[1] * k + [0] * (n - k) for n, k in zip(ROWS, POSITIVES, strict=True)])
    rows = logistic_fit(np.repeat(DESIGN, ROWS, axis=0), np.ones(36), y)
    groups = logistic_fit(DESIGN, ROWS, POSITIVES)
    assert rows.coefficients == pytest.approx(groups.coefficients, abs=1e-14)
    assert rows.deviance == pytest.approx(groups.deviance, rel=1e-14)


@st.composite
def problems(draw):
    m, p = draw(st.integers(2, 12)), draw(st.integers(1, 3))
    grid = st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0])
    columns = np.array(draw(st.lists(st.lists(grid, min_size=m, max_size=m), min_size=p, max_size=p)))
    n = np.array(draw(st.lists(st.integers(1, 4), min_size=m, max_size=m)))
    k = np.array([draw(st.integers(0, int(rows))) for rows in n])
    weight = draw(st.sampled_from([1, 1, 0.37, 1e-6]))
    return columns.T, n * weight, k * weight


@given(problems())
def test_equals_a_general_optimiser_or_says_why_not(problem):
    design, n, k = problem
    fit = logistic_fit(design, n, k)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        assert fit.status == "collinear"
        assert np.isnan(fit.coefficients).all()
    elif separable(design, n, k):
        assert fit.status == "separated"
    else:
        assert fit.status == "converged"
        scale = n.sum()
        assert np.abs(gradient(design, n, k, fit.coefficients)).max() < 1e-12 * scale
        assert fit.coefficients == pytest.approx(by_general_optimiser(design, n / scale, k / scale), abs=1e-6)
        assert fit.deviance == pytest.approx(2.0 * loss(design, n, k, fit.coefficients), rel=1e-12)
        p = expit(design @ fit.coefficients)
        information = design.T @ ((n * p * (1 - p))[:, None] * design)
        if np.linalg.cond(information) < 1e10:  # else NumPy's inverse is no comparison
            expected = np.linalg.inv(information)
            error = np.sqrt(np.diag(expected))
            # that of the step before, which ends within about 1e-8 standard errors
            assert (np.abs(fit.covariance - expected) <= 1e-6 * np.outer(error, error)).all()


@given(problems(), st.floats(-250, 250))
def test_an_offset_in_the_span_of_the_design_moves_the_coefficients(problem, shift):
    design, n, k = problem
    assume(np.linalg.matrix_rank(design) == design.shape[1] and not separable(design, n, k))
    plain = logistic_fit(design, n, k)
    moved = logistic_fit(design, n, k, offset=shift * design[:, 0])
    expected = plain.coefficients - np.array([shift, 0.0, 0.0])[: design.shape[1]]
    assert moved.status == "converged"
    assert moved.coefficients == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("k", [[0, 0, 0, 0], [3, 3, 3, 3], [0, 0, 3, 3], [0, 1, 3, 3], [0, 2, 2, 3]])
def test_separation_ends_and_is_named(k):
    design = np.column_stack([np.ones(4), [0.0, 1.0, 1.0 if k[1] == 2 else 2.0, 3.0]])
    fit = logistic_fit(design, [3] * 4, k)
    assert fit.status == "separated"
    assert np.isnan(fit.covariance).all()


def test_overlap_by_one_row_among_many_is_not_separation():
    x = np.linspace(-1, 1, 1001)
    k = (x > 0).astype(float)
    k[[499, 502]] = [1.0, 0.0]
    design = np.column_stack([np.ones(1001), x])
    fit = logistic_fit(design, np.ones(1001), k)
    assert fit.converged
    assert np.abs(gradient(design, np.ones(1001), k, fit.coefficients)).max() < 1e-9
    assert fit.coefficients[1] > 100


@pytest.mark.parametrize("rate", [1e-12, 1e-6, 0.3])
def test_rare_events_have_the_logit_of_their_rate(rate):
    """With a constant alone the maximum is the logit of the share, however far from 0."""
    fit = logistic_fit(np.ones((1, 1)), [1.0], [rate])
    assert fit.coefficients == pytest.approx([np.log(rate) - np.log1p(-rate)], rel=1e-13)
    assert fit.covariance.ravel() == pytest.approx([1.0 / (rate * (1.0 - rate))], rel=1e-10)


def test_logits_beyond_the_range_of_exp():
    x = np.array([-1e6, -1e3, -1.0, 1.0, 1e3, 1e6])
    design = np.column_stack([np.ones(6), x])
    fit = logistic_fit(design, [2] * 6, [0, 1, 1, 1, 1, 2])
    assert fit.converged
    assert np.abs(gradient(design, np.full(6, 2.0), np.array([0, 1, 1, 1, 1, 2]), fit.coefficients)).max() < 1e-6
    away = logistic_fit(np.ones((2, 1)), [1, 1], [1, 0], offset=[5000.0, -5000.0])
    assert away.deviance == 0.0


def test_nearly_collinear_columns():
    """Logs of scores from a narrow range: one quadratic, written in two ways that differ by rounding only."""
    t = np.linspace(-1, 1, 400)
    n, k = np.full(400, 50.0), np.round(50 * expit(0.3 + t - t**2))
    plain = logistic_fit(np.column_stack([np.ones(400), t, t**2]), n, k)
    x = 10.0 + 1e-2 * t
    narrow = logistic_fit(np.column_stack([np.ones(400), x, x**2]), n, k)
    assert narrow.converged
    assert narrow.deviance == pytest.approx(plain.deviance, rel=1e-10)
    assert narrow.coefficients[2] * 1e-4 == pytest.approx(plain.coefficients[2], rel=1e-6)


@pytest.mark.parametrize("sorted_rows", [True, False])
def test_many_rows_are_fitted_to_the_end(sorted_rows):
    """More rows than a first fit is made on; the gradient vanishes whatever the start was."""
    rng = np.random.default_rng(0)
    m = 50_000
    x = rng.normal(size=m)
    x = np.sort(x) if sorted_rows else x
    n = rng.integers(1, 4, m)
    k = rng.binomial(n, expit(2.0 * x - 1.0))
    design = np.column_stack([np.ones(m), x])
    fit = logistic_fit(design, n, k, offset=0.1 * x)
    assert fit.converged
    assert np.abs(gradient(design, n, k, fit.coefficients, 0.1 * x)).max() < 1e-12 * m
    error = np.sqrt(np.diag(fit.covariance))
    assert (np.abs(fit.coefficients - [-1.0, 1.9]) < 4 * error).all()


def test_too_few_rows_for_the_columns():
    assert logistic_fit([[1.0, 2.0]], [5], [2]).status == "collinear"


def test_as_plain_data():
    assert logistic_fit(DESIGN, ROWS, POSITIVES).to_dict()["status"] == "converged"
