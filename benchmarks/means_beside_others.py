"""Measures of predicted means beside model-diagnostics and insurance-calibration, on public and on simulated rows.

    python -m benchmarks.means_beside_others

needs model-diagnostics, statsmodels (for its data RANDHIE), insurance-datasets and insurance-calibration, and writes
its two tables between their markers in docs/reference/mean_measures.md. The second one takes some minutes.
"""

from __future__ import annotations

import importlib.metadata
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.certificates import calibration_test
from calibrant.metrics import concentration, mean_bias, mean_calibration_error, mean_decomposition

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "mean_measures.md"
BOOKS, DRAWS = 200, 99
LEVEL, EQUAL = 0.05, 1e-9
COUNTS = ("Poisson counts", "counts, variance 1.5 times the mean")

Array = npt.NDArray[np.float64]


class Book(NamedTuple):
    """Outcomes as totals of rows, predictions per unit, exposures."""

    name: str
    total: Array
    predicted: Array
    exposure: Array


def real_books() -> Iterator[Book]:
    """Models fitted to one half of the rows, on the other half."""
    import insurance_datasets
    import statsmodels.api as sm
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import PoissonRegressor

    data = sm.datasets.randhie.load_pandas().data
    fitted = np.random.default_rng(0).random(len(data)) < 0.5
    features, y = data.drop(columns="mdvis").to_numpy(float), data.mdvis.to_numpy(float)
    scaled, ones = standard(features), np.ones((~fitted).sum())
    linear = PoissonRegressor(alpha=0).fit(scaled[fitted], y[fitted]).predict(scaled)
    boosted = HistGradientBoostingRegressor(loss="poisson", max_iter=60, random_state=0).fit(
        features[fitted], y[fitted]
    )
    yield Book("RANDHIE, GLM", y[~fitted], linear[~fitted], ones)
    yield Book("RANDHIE, boosted trees", y[~fitted], boosted.predict(features)[~fitted], ones)
    some = ~fitted & (y > 0.0)
    balanced = linear[some] * y[some].sum() / linear[some].sum()
    yield Book("RANDHIE, visits of those with any", y[some], balanced, ones[: some.sum()])

    policies = insurance_datasets.load_motor(n_policies=200_000, seed=1)
    fitted = np.random.default_rng(1).random(len(policies)) < 0.5
    columns = ["vehicle_age", "vehicle_group", "driver_age", "driver_experience", "ncd_years", "conviction_points"]
    scaled, w = standard(policies[columns].to_numpy(float)), policies.exposure.to_numpy(float)
    for name, column in (("motor, claim counts, GLM", "claim_count"), ("motor, claim amounts, GLM", "incurred")):
        total = policies[column].to_numpy(float)
        model = PoissonRegressor(alpha=1e-4, max_iter=500)
        model.fit(scaled[fitted], total[fitted] / w[fitted], sample_weight=w[fitted])
        yield Book(name, total[~fitted], model.predict(scaled)[~fitted], w[~fitted])


def standard(features: Array) -> Array:
    """Return features with mean 0 and standard deviation 1."""
    return np.asarray((features - features.mean(axis=0)) / features.std(axis=0))


def beside_model_diagnostics(book: Book) -> list[str]:
    """One line of the first table."""
    import pandas as pd
    from model_diagnostics.calibration import compute_bias

    z, f, w = book[1:]
    bins = compute_bias(z / w, f, feature=pd.Series(f, name="f"), weights=w, n_bins=10, bin_method="quantile").sort("f")
    inside = np.split(np.argsort(f, kind="stable"), np.cumsum(bins["bias_count"].to_numpy())[:-1])
    ours = [mean_bias(z[rows], f[rows], exposure=w[rows]).observed_minus_predicted for rows in inside]
    theirs = -bins["bias_mean"].to_numpy()
    off = max(abs(one.value - other) for one, other in zip(ours, theirs, strict=True))
    outside = sum(one.lower > 0.0 or one.upper < 0.0 for one in ours)
    runs = np.append(0.0, np.cumsum(theirs * bins["bias_weights"].to_numpy())) / (w * f).sum()
    return [
        book.name,
        f"{len(z):,}",
        "equal" if off < EQUAL * (z.sum() / w.sum()) else f"off by {off:.1g}",
        f"{(bins['p_value'].to_numpy() < 0.05).sum()} / {outside}",
        f"{100.0 * np.ptp(runs):.2f}%",
        f"{100.0 * mean_calibration_error(z, f, exposure=w):.2f}%",
        *(_parts(book, deviance) for deviance in ("squared", "poisson", "gamma")),
        f"{concentration(z, f, exposure=w).gini:.3f}",
    ]


def _parts(book: Book, deviance: str) -> str:
    """Miscalibration of both, and whether all three parts are alike."""
    from model_diagnostics.scoring import GammaDeviance, PoissonDeviance, SquaredError, decompose

    scoring = {"squared": SquaredError, "poisson": PoissonDeviance, "gamma": GammaDeviance}[deviance]()
    z, f, w = book[1:]
    if deviance == "gamma" and z.min() <= 0.0:
        return "-"
    parts = mean_decomposition(z, f, exposure=w, deviance=deviance)  # type: ignore[arg-type]
    ours = f"{parts.miscalibration:.5g}"
    try:
        theirs = decompose(z / w, f, weights=w, scoring_function=scoring).to_dicts()[0]
    except ValueError:
        return f"{ours}, theirs: error"
    names = ("miscalibration", "discrimination", "uncertainty")
    off = max(abs(getattr(parts, name) - theirs[name]) for name in names) / parts.uncertainty
    return f"{ours}, {'equal' if off < EQUAL else f'off by {off:.1g}'}"


def simulated(kind: str, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return totals, right predictions and exposures."""
    w, f = rng.uniform(0.05, 1.0, n), 0.1 * np.exp(0.5 * rng.standard_normal(n))
    if kind == COUNTS[0]:
        return rng.poisson(w * f).astype(float), f, w
    if kind == COUNTS[1]:
        return rng.negative_binomial(2.0 * w * f, 1.0 / 1.5).astype(float), f, w
    return rng.poisson(w * f) * rng.exponential(1000.0, n), 1000.0 * f, w


def rejected(kind: str, n: int) -> list[str]:
    """Shares of right tariffs that are rejected at 5%: one line of the second table."""
    from insurance_calibration import check_auto_calibration, check_balance

    theirs: dict[str, Any] = {"seed": 0, "distribution": "poisson" if kind in COUNTS else "tweedie"}
    resampled: dict[str, Any] = theirs | {"bootstrap_n": DRAWS}
    bins: dict[str, Any] = theirs | {"method": "hosmer_lemeshow", "bootstrap_n": 1}
    tests: list[Callable[..., bool]] = [
        lambda z, f, w: check_auto_calibration(z / w, f, w, **bins).p_value < LEVEL,
        lambda z, f, w: check_auto_calibration(z / w, f, w, **resampled).p_value < LEVEL,
        lambda z, f, w: check_balance(z / w, f, w, bootstrap_n=1, seed=0).p_value < LEVEL,
        lambda z, f, w: not check_balance(z / w, f, w, **resampled).is_balanced,
        lambda z, f, w: calibration_test(z, f, exposure=w, kind="amount").p_value < LEVEL,
        lambda z, f, w: not _holds_1(mean_bias(z, f, exposure=w).balance),
    ]
    counts, rng = np.zeros(len(tests)), np.random.default_rng(0)
    for _ in range(BOOKS):
        rows = simulated(kind, n, rng)
        counts += [bool(test(*rows)) for test in tests]
    return [kind, f"{n:,}", *(f"{count / BOOKS:.2f}" for count in counts)]


def _holds_1(interval: Any) -> bool:
    return bool(interval.lower <= 1.0 <= interval.upper)


def put(text: str, name: str, lines: list[list[str]], note: str) -> str:
    """Put a table between its markers in a page."""
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    between = rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)"
    return re.sub(between, lambda match: f"{match[1]}\n{table}\n\n{note}\n\n{match[2]}", text, flags=re.DOTALL)


def main() -> None:
    """Write both tables."""
    warnings.filterwarnings("ignore")
    head = ["rows of", "n", "bias by bin", "bins significant, theirs / ours", "largest run of bins", "c"]
    head += ["MCB, squared", "MCB, Poisson", "MCB, gamma", "Gini"]
    first = [head, ["---"] * len(head), *map(beside_model_diagnostics, real_books())]
    head = ["claims", "n", "`check_auto_calibration`, bins", "bootstrap", "`check_balance`, p-value", "bootstrap"]
    head += ["`calibration_test`", "`mean_bias`"]
    second = [head, ["---"] * len(head)]
    second += [rejected(kind, n) for kind in (*COUNTS, "amounts, exponential") for n in (1000, 5000)]
    names = ("model-diagnostics", "insurance-calibration", "insurance-datasets", "statsmodels", "scikit-learn", "numpy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    text = PAGE.read_text(encoding="utf-8")
    text = put(text, "model-diagnostics", first, f"Run with {versions}.")
    text = put(text, "insurance-calibration", second, f"{BOOKS} books each, {DRAWS} draws of each bootstrap.")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
