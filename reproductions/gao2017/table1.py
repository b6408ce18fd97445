"""Table 1: l1 error and calibration of logistic regression on simulated documents."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant.certificates import certify
from calibrant.metrics import cutoff_calibration, cutoff_calibration_error
from calibrant.papers import Documents, l1_error
from calibrant.plots import drawing_style
from reproductions.gao2017.posterior import probability_given_words
from reproductions.gao2017.topics import N_TOPICS, Choice, FloatArray, draw, expected_rows, fitted_scores
from reproductions.item import Effort, Item, Measured, Number
from reproductions.store import theirs_of

RUNS, FAST_RUNS = 8, 2
READ = 400  # documents for which P(Y = 1 | words) is sampled
FREQUENCY = 10 / 29  # 1 - E(1 - share)**10 for a share that is Beta(1, 19)
TRIVIAL = 2 / 2.9 * (19 / 29) ** 2.9  # (1 - share)**19 is uniform
TOLERANCE = 0.01

PUBLISHED = Choice("published")
CHOICES = (
    Choice("exponent 0.9", 0.9),
    Choice("exponent 0.95"),
    Choice("exponent 1", 1.0),
    Choice("exponent 1.1", 1.1),
    Choice("exponent 1.5", 1.5),
    Choice("no penalty", c=np.inf),
    Choice("log of counts", words="log"),
    Choice("presence of words", words="present"),
    Choice("100 to 300 words", 1.0, lengths="uniform"),
    Choice("half to train", 1.0, train=10_000, new=10_000),
    Choice("C = 1", 0.88),
    Choice("C = 0.1", 0.88, c=0.1),
    Choice("C = 0.01", 0.88, c=0.01),
    Choice("C = 0.003", 0.88, c=0.003),
    Choice("C = 0.001", 0.88, c=0.001),
    Choice("unit vectors", 0.88, words="unit vector"),
)
PATHS = {"exponent": CHOICES[:5], "penalty": CHOICES[10:15]}
# Where names stand in the picture: right of the point and above it, in points.
LABELS = (
    ("training", "exponent 1.5", 6, 2),
    ("training", "exponent 1", -2, -13),
    ("training", "exponent 0.9", -2, -14),
    ("training", "C = 0.001", -7, -3),
    ("training", "presence of words", 7, -3),
    ("training", "log of counts", -7, -3),
    ("new", "exponent 1.5", 0, 8),
    ("new", "exponent 1", 0, -14),
    ("new", "exponent 0.9", -5, -14),
    ("new", "C = 1", 7, -6),
    ("new", "C = 0.01", 8, -5),
    ("new", "C = 0.003", -9, -3),
)


def measure(effort: Effort) -> Measured:
    """Repeat the experiment, then the other choices."""
    runs = []
    strict: list[Number] = []
    for seed in effort.steps(range(FAST_RUNS if effort.fast else RUNS), "runs of 40,000 documents and 20 classifiers"):
        drawn = draw(PUBLISHED, seed)
        scores = fitted_scores(drawn, PUBLISHED)
        runs.append(by_topic(drawn, scores))
        if seed == 0 and not effort.fast:
            strict = against_the_words(drawn, scores)
    # Two runs have no standard deviation to speak of; their topics do, and are nearly independent.
    table = pd.concat(runs) if effort.fast else pd.DataFrame([run.mean() for run in runs])
    numbers = [Number(str(name), found.mean(), found.std() / np.sqrt(len(found))) for name, found in table.items()]
    numbers += [Number("frequency, closed form", FREQUENCY, 0.0), Number("trivial l1, closed form", TRIVIAL, 0.0)]
    if effort.fast:
        return Measured(numbers)
    spread = 1.0 / np.sqrt(2.0 * (RUNS - 1.0))
    for name in ("frequency of labels", "mean true probability"):
        sd = table[name].std()
        numbers.append(Number(f"{name}, standard deviation over runs", sd, sd * spread))
    explored = [explore(choice) for choice in effort.steps(CHOICES, "other choices")]
    for row in explored:
        for kind, of in (("l1", "l1 error"), ("c", "empirical calibration")):
            for rows in ("training", "new"):
                name, column = f"{row['choice']}: {of}, {rows} documents", f"{kind} {rows}"
                numbers.append(Number(name, row[column], row[f"{column} error"]))
    return Measured(numbers + strict, {"choices": pd.DataFrame(explored).round(4)})


def by_topic(drawn: Documents, scores: FloatArray) -> pd.DataFrame:
    """Return what one run gives, a row for each topic."""
    found = []
    train, new = slice(0, PUBLISHED.train), slice(PUBLISHED.train, None)
    for t in range(N_TOPICS):
        y, p, s = drawn.y_true[:, t], drawn.p_true[:, t], scores[:, t]
        frequency = y[train].mean()
        certificate = certify(y[new], s[new], tolerance=TOLERANCE)
        found.append(
            {
                "average l1 error": l1_error(p[train], s[train]),
                "empirical calibration": cutoff_calibration_error(y[train], s[train]),
                "trivial l1 error": l1_error(p[train], np.full(PUBLISHED.train, frequency)),
                "frequency of labels": frequency,
                "mean true probability": p[train].mean(),
                "null mean": cutoff_calibration(y[train], s[train]).null_mean,
                "l1 error, new documents": l1_error(p[new], s[new]),
                "empirical calibration, new documents": cutoff_calibration_error(y[new], s[new]),
                "calibration error by true probabilities, new documents": cutoff_calibration_error(
                    **expected_rows(p[new], s[new])._asdict()
                ),
                "upper bound, new documents": certificate.bound,
                "lower bound, new documents": certificate.lower_bound,
                "share of topics refuted": float(certificate.verdict == "refuted"),
            }
        )
    return pd.DataFrame(found)


def explore(choice: Choice) -> dict[str, object]:
    """Return the two measures for a choice, with standard errors over the topics."""
    drawn = draw(choice, 100)
    scores = fitted_scores(drawn, choice)
    row: dict[str, object] = {
        "choice": choice.name,
        "exponent": choice.exponent,
        "words": choice.words,
        "c": "none" if np.isinf(choice.c) else f"{choice.c:g}",
        "lengths": choice.lengths,
        "train": choice.train,
    }
    for rows, part in (("training", slice(0, choice.train)), ("new", slice(choice.train, None))):
        for kind, truth, error in (("l1", drawn.p_true, l1_error), ("c", drawn.y_true, cutoff_calibration_error)):
            found = [error(truth[part, t], scores[part, t]) for t in range(N_TOPICS)]
            row[f"{kind} {rows}"] = np.mean(found)
            row[f"{kind} {rows} error"] = np.std(found, ddof=1) / np.sqrt(N_TOPICS)
    return row


def against_the_words(drawn: Documents, scores: FloatArray) -> list[Number]:
    """Compare scores and true probabilities with P(Y = 1 | words) on new documents."""
    new = slice(PUBLISHED.train, PUBLISHED.train + READ)
    known = probability_given_words(drawn.counts[new], drawn.topics)
    distances = {
        "l1 error, documents read": drawn.p_true[new] - scores[new],
        "l1 error of P(Y = 1 | words)": drawn.p_true[new] - known,
        "l1 distance from P(Y = 1 | words)": scores[new] - known,
        "trivial l1 distance from P(Y = 1 | words)": FREQUENCY - known,
    }
    means = {name: np.abs(difference).mean(axis=1) for name, difference in distances.items()}
    return [Number(name, found.mean(), found.std(ddof=1) / np.sqrt(READ)) for name, found in means.items()]


def draw_choices(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw both measures of all choices with 20,000 training documents, and where the published ones are."""
    found = tables["choices"].query("train == 20_000").set_index("choice")
    published = theirs_of(ITEM).set_index("quantity")
    l1, c = published.loc["average l1 error"], published.loc["empirical calibration"]
    with drawing_style() as palette:
        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        ax = figure.subplots()
        colours = {"training": palette.blue, "new": palette.series[2]}
        for rows, colour in colours.items():
            x, y = found[f"l1 {rows}"], found[f"c {rows}"]
            filled = colour if rows == "training" else "white"
            ax.plot(x, y, "o", color=colour, markerfacecolor=filled, markersize=5, zorder=3)
            for path, style in (("exponent", "-"), ("penalty", ":")):
                names = [choice.name for choice in PATHS[path]]
                ax.plot(x[names], y[names], style, color=colour, linewidth=1.2)
        ax.errorbar(
            l1["value"],
            c["value"],
            xerr=l1["sd"],
            yerr=c["sd"],
            fmt="D",
            color=palette.orange,
            elinewidth=1.5,
            zorder=4,
        )
        ax.text(0.1272, 0.0045, "Table 1", color=palette.orange, fontweight="bold")
        for rows, name, right, up in LABELS:
            place = (found.loc[name, f"l1 {rows}"], found.loc[name, f"c {rows}"])
            ax.annotate(
                name,
                place,
                (right, up),
                textcoords="offset points",
                color=colours[rows],
                fontsize=8.5,
                ha="left" if right > 0 else "right" if right < 0 else "center",
            )
        ax.text(0.112, 0.0237, "\N{WHITE CIRCLE} new documents", color=colours["new"])
        ax.text(0.108, 0.0158, "\N{BLACK CIRCLE} training documents", color=colours["training"])
        ax.set_xlabel("average l1 error")
        ax.set_ylabel("empirical calibration error")
        ax.set_ylim(0.0)
    return {"table1": figure}


ITEM = Item("gao2017", "table1", "Table 1: large l1 error, small calibration error", measure, draw_choices)
