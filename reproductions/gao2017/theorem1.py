"""Theorem 1: no rows of distinct items can certify a small distance from the probability of each item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from scipy.spatial import KDTree
from scipy.stats import chi2, norm
from sklearn.ensemble import RandomForestClassifier

from calibrant.certificates import calibration_test, certify
from calibrant.papers import l1_cannot_be_certified, l1_from_repeats
from calibrant.plots import drawing_style
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, share_of

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int8]

N_ITEMS = 500
LEVELS = (0.05, 0.2, 0.5)
STRIPES = (10, 30, 100, 200, 500, 1_000, 2_000, 5_000, 30_000, 1_000_000)
HALF_BOUND = 0.1375  # half of E min(s, 1 - s) for scores uniform on [.05, .95]
REPEATED = (5, 10, 20, 30, 50, 100, 200)
PROVED = 10_000  # items measured twice with which a prover exists
NEIGHBOURS = 7


class Verifier(NamedTuple):
    """A way to accept or reject that the scores are the probabilities of the items."""

    name: str
    family: str
    accepts: Callable[[Labels, Array], bool]


def measure(effort: Effort) -> Measured:
    """Count acceptances in both worlds, then with functions that are less rough, and with items measured twice."""
    numbers, seen = _verifiers_in_both_worlds(effort)
    stripes = _functions_by_roughness(effort, numbers)
    repeats = _items_measured_twice(effort, numbers)
    return Measured(numbers, {"verifiers": seen, "stripes": stripes, "repeats": repeats})


def _score(latent: Array) -> Array:
    return 0.05 + 0.9 * latent


def _items() -> tuple[Array, Array]:
    """Return features of the items of a sample, and their scores: a function of the features."""
    features = np.random.default_rng(1).standard_normal((N_ITEMS, 5))
    return features, _score(norm.cdf(features.sum(axis=1) / np.sqrt(5.0)))


def _verifiers_in_both_worlds(effort: Effort) -> tuple[list[Number], pd.DataFrame]:
    features, scores = _items()
    trials = 100 if effort.fast else 2_000
    numbers: list[Number] = []
    rows = []
    for i, verifier in enumerate(effort.steps(_verifiers(features, scores), "verifiers")):
        labels = np.random.default_rng([2, i])  # labels of their own, so that the differences are independent
        shown = l1_cannot_be_certified(scores, n_trials=trials, verifier=verifier.accepts, random_state=labels)
        chance = share_of(f"{verifier.name}, drawn", shown.accepted_by_chance * trials, trials)
        function = share_of(f"{verifier.name}, function", shown.accepted_by_function * trials, trials)
        numbers += [chance, function]
        z = (function.value - chance.value) / shown.noise if shown.noise > 0.0 else 0.0
        rows.append((verifier.name, verifier.family, chance.value, function.value, chance.standard_error, z))
    columns = ["verifier", "family", "drawn", "function", "error", "z"]
    seen = pd.DataFrame(rows, columns=columns)
    numbers.append(Number("least l1 error of a function", shown.lower_bound, 0.0))
    if not effort.fast:
        numbers += [
            Number("l1 error of the function", shown.l1_by_function, 0.0),
            Number("verifiers", len(seen), 0.0),
            Number(
                "verifiers that tell the two worlds apart",
                float(((seen["drawn"] > 2 / 3) & (seen["function"] < 1 / 3)).sum()),
                0.0,
            ),
            Number("largest |z|", float(seen["z"].abs().max()), 0.0),
            Number("|z| above 1.96", float((seen["z"].abs() > 1.96).sum()), 0.0),
            Number("trials", trials, 0.0),
        ]
    return numbers, seen


def _verifiers(features: Array, scores: Array) -> list[Verifier]:
    draws = np.random.default_rng(3)
    nearest = KDTree(features).query(features, NEIGHBOURS + 1)[1][:, 1:]
    half_bound = 0.5 * float(np.minimum(scores, 1.0 - scores).mean())
    tests: dict[str, Callable[[Labels, Array], float]] = {
        "cutoff calibration test": lambda y, s: calibration_test(y, s, n_simulations=99, random_state=draws).p_value,
        "Hosmer-Lemeshow": hosmer_lemeshow_p_value,
        "Spiegelhalter": spiegelhalter_p_value,
        "nearest neighbours agree": lambda y, s: agreement_p_value(y - s, nearest[:, 0]),
    }
    found = [
        Verifier(f"{name}, level {level:g}", name, lambda y, s, p=p_value, at=level: p(y, s) > at)
        for name, p_value in tests.items()
        for level in LEVELS
    ]
    own = {
        "certificate of c at most 0.075": lambda y, s: certify(y, s, tolerance=0.075).verdict == "certified",
        f"l1 error from {NEIGHBOURS} nearest neighbours": lambda y, s: (
            np.abs(s - y[nearest].mean(axis=1)).mean() <= half_bound
        ),
        "random forest does not beat the scores": lambda y, s: not _forest_beats(y, s, features),
    }
    return found + [Verifier(name, name, accepts) for name, accepts in own.items()]


def hosmer_lemeshow_p_value(y: Labels, s: Array) -> float:
    """Return the p-value of the statistic over ten bins with equally many items (Hosmer & Lemeshow)."""
    observed, expected, variance = [], [], []
    for here in np.array_split(np.argsort(s, kind="stable"), 10):
        observed.append(y[here].sum())
        expected.append(s[here].sum())
        variance.append(s[here].sum() * (1.0 - s[here].mean()))
    return float(chi2.sf(((np.array(observed) - expected) ** 2 / variance).sum(), 10))


def spiegelhalter_p_value(y: Labels, s: Array) -> float:
    """Return the two-sided p-value of the Brier score less its expectation (Spiegelhalter)."""
    slope = 1.0 - 2.0 * s
    return float(2.0 * norm.sf(abs(np.dot(y - s, slope)) / np.sqrt(np.dot(slope**2, s * (1.0 - s)))))


def agreement_p_value(residual: Array, neighbour: npt.NDArray[np.int64]) -> float:
    """Return the p-value of the mean product of the residuals of neighbours; 0 expected if the scores are exact."""
    products = residual * residual[neighbour]
    return float(norm.sf(products.mean() / (products.std() / np.sqrt(len(products)))))


def _forest_beats(y: Labels, s: Array, features: Array) -> bool:
    """Train on half of the items, with the scores as a further feature; compare log losses on the other half."""
    half = len(y) // 2
    if y[:half].min() == y[:half].max():
        return False
    known = np.column_stack([features, s])
    forest = RandomForestClassifier(10, min_samples_leaf=5, random_state=0).fit(known[:half], y[:half])
    p = np.clip(forest.predict_proba(known[half:])[:, 1], 0.01, 0.99)
    hit, q = y[half:] == 1, s[half:]
    gain = np.log(np.where(hit, p, 1.0 - p)) - np.log(np.where(hit, q, 1.0 - q))
    return bool(gain.mean() > 1.645 * gain.std() / np.sqrt(len(gain)))


def _functions_by_roughness(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    """Let the label be a function of one feature with ever finer stripes: two verifiers, level 5%."""
    trials = 60 if effort.fast else 600
    rng = np.random.default_rng(4)
    rows = []
    for stripes in effort.steps(STRIPES, "functions"):
        accepted = np.zeros(2)
        for _ in range(trials):
            x = np.sort(rng.random(N_ITEMS))
            s = _score(x)
            y = ((stripes * x + rng.random()) % 1.0 < s).astype(np.int8)
            after = np.append(np.arange(1, N_ITEMS), N_ITEMS - 2)
            accepted += agreement_p_value(y - s, after) > 0.05, spiegelhalter_p_value(y, s) > 0.05
        for name, hits in zip(("neighbours agree", "Spiegelhalter"), accepted, strict=True):
            share = share_of(f"{name}, {stripes} stripes", hits, trials)
            numbers.append(share)
            rows.append((stripes, name, share.value, share.standard_error))
    return pd.DataFrame(rows, columns=["stripes", "verifier", "accepted", "error"])


def _items_measured_twice(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    """Measure items twice: accept if the lower confidence bound on the l1 error is 0."""
    trials = 40 if effort.fast else 400
    rng = np.random.default_rng(5)
    rows = []
    for items in effort.steps(REPEATED, "items measured twice"):
        found = {world: [_twice(items, world, rng) for _ in range(trials)] for world in ("drawn", "function")}
        for world, bounds in found.items():
            share = share_of(f"{items} items twice, {world}", sum(low == 0.0 for low, _ in bounds), trials)
            numbers.append(share)
            rows.append((items, world, share.value, share.standard_error))
    runs = 10 if effort.fast else 100
    for world in ("drawn", "function"):
        bounds = [_twice(PROVED, world, rng)[1] for _ in range(runs)]
        proved = sum(bound <= HALF_BOUND for bound in bounds)
        numbers.append(share_of(f"bound from {PROVED} items twice is small, {world}", proved, runs))
        numbers.append(mean_number(f"bound from {PROVED} items twice, {world}", bounds))
    return pd.DataFrame(rows, columns=["items", "world", "accepted", "error"])


def _twice(items: int, world: str, rng: np.random.Generator) -> tuple[float, float]:
    s = np.tile(_score(rng.random(items)), 2)
    draws = rng.random(2 * items)
    if world == "function":
        draws[items:] = draws[:items]  # the same item has the same label again
    bound = l1_from_repeats(draws < s, s, np.tile(np.arange(items), 2))
    return bound.lower_bound, bound.bound


def draw(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, Figure]:
    """Acceptance in one world against the other, and the two ways out."""
    with drawing_style() as palette:
        figure = Figure(figsize=(10.5, 3.9), layout="constrained")
        worlds, rough, twice = figure.subplots(1, 3)
        worlds.plot([0, 1], [0, 1], color=palette.muted, lw=0.8)
        for colour, (family, points) in zip(
            (*palette.series, palette.grey), tables["verifiers"].groupby("family", sort=False), strict=False
        ):
            error = 1.96 * points["error"]
            manner = {"fmt": "o", "ms": 4.5, "lw": 1.0, "color": colour}
            worlds.errorbar(points["drawn"], points["function"], error, error, **manner, label=_wrapped(family))
        worlds.set(xlabel="accepted where l1 error = 0", ylabel="accepted where l1 error = 0.37")
        worlds.set(xlim=(0, 1.03), ylim=(0, 1.03))
        worlds.legend(fontsize=6.3, loc="upper left", labelspacing=0.25, handletextpad=0.2, borderaxespad=0.1)
        worlds.set_title("Every verifier: as often in both", fontsize=9.5)
        _lines(rough, tables["stripes"], ("stripes", "verifier"), (palette.blue, palette.orange))
        rough.axvline(N_ITEMS, color=palette.muted, lw=0.8, ls=":")
        rough.text(N_ITEMS * 1.2, 0.03, "as many stripes\nas items", fontsize=8, color=palette.muted)
        rough.text(2_500, 0.6, "nearest\nneighbours", color=palette.blue, fontsize=8.5)
        rough.text(10, 0.87, "Spiegelhalter", color=palette.orange, fontsize=8.5)
        rough.set(xlabel="stripes of the function", ylabel="accepted, l1 error = 0.37", ylim=(0, 1.08))
        rough.set_title("Smoother functions can be seen", fontsize=9.5)
        _lines(twice, tables["repeats"], ("items", "world"), (palette.blue, palette.orange))
        twice.text(5, 0.93, "l1 error = 0", color=palette.blue, fontsize=8.5)
        twice.text(17, 0.4, "l1 error = 0.37", color=palette.orange, fontsize=8.5)
        twice.set(xlabel="items measured twice", ylabel="accepted", ylim=(0, 1.08))
        twice.set_title("Repeats tell the worlds apart", fontsize=9.5)
    return {"theorem1": figure}


def _lines(ax, table: pd.DataFrame, columns: tuple[str, str], colours: tuple[str, str]) -> None:
    across, by = columns
    for colour, (_, part) in zip(colours, table.groupby(by, sort=False), strict=True):
        ax.errorbar(part[across], part["accepted"], 1.96 * part["error"], fmt="o-", ms=3.5, lw=1.2, color=colour)
    ax.set_xscale("log")


def _wrapped(family: str) -> str:
    return family.replace(" from 7", "\nfrom 7").replace(" does not", "\ndoes not").replace(" of c", "\nof c")


ITEM = Item("gao2017", "theorem1", "Theorem 1: the l1 error cannot be certified", measure, draw)
