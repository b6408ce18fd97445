"""Figure 1: the sigmoid of logistic regression against the share of labels at each linear score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import expit, logit

from calibrant.calibrators import PlattCalibrator
from calibrant.curves import binned_curve
from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import l1_error
from calibrant.plots import drawing_style
from reproductions.gao2017.topics import N_TOPICS, Choice, FloatArray, N, draw, expected_rows, fitted_scores
from reproductions.item import Effort, Item, Measured, Number

FAST_TOPICS = 6
BINS = 20
CHOICE = Choice("three samples", new=4 * N)
TRAIN, REFIT, NEW = slice(0, N), slice(N, 2 * N), slice(2 * N, None)
SHARES = (0.05, 0.25, 0.75, 0.95)


class Seen(NamedTuple):
    """Scores of one classifier on its three samples, and of the sigmoid with a and b fitted again.

    Attributes
    ----------
    y_true, p_true, y_proba : ndarray of shape (n,)
        Labels, true probabilities and scores of all documents.
    refitted : ndarray of shape (n,)
        Scores after `slope` and `intercept` were fitted to other documents.
    slope, intercept : float
        Of the linear score.
    """

    y_true: np.ndarray
    p_true: FloatArray
    y_proba: FloatArray
    refitted: FloatArray
    slope: float
    intercept: float


def measure(effort: Effort) -> Measured:
    """Train one classifier for each topic and compare sigmoid and share of labels."""
    n_topics = FAST_TOPICS if effort.fast else N_TOPICS
    drawn = draw(CHOICE, 200)
    scores = fitted_scores(drawn, CHOICE, n_topics)
    found = []
    tables: dict[str, pd.DataFrame] = {}
    for t in effort.steps(range(n_topics), "topics"):
        seen = refit(drawn.y_true[:, t], drawn.p_true[:, t], scores[:, t])
        found.append(one_topic(seen))
        if t == 0:
            tables = pictured(seen)
    table = pd.DataFrame(found)
    errors = table.std() / np.sqrt(n_topics)
    return Measured([Number(str(name), table[name].mean(), errors[name]) for name in table], tables)


def refit(y_true: np.ndarray, p_true: FloatArray, y_proba: FloatArray) -> Seen:
    """Keep the weights of the words, and fit a and b to other documents."""
    line = PlattCalibrator(smooth_targets=False).fit(y_proba[REFIT], y_true[REFIT])
    return Seen(y_true, p_true, y_proba, line.predict(y_proba), line.slope_, line.intercept_)


def one_topic(seen: Seen) -> dict[str, float]:
    """Return calibration errors, distances of the sigmoid, and the spread of the true probability around it."""
    row = {
        "a, fitted again": seen.slope,
        "b, fitted again": seen.intercept,
        "calibration error, training documents": cutoff_calibration_error(seen.y_true[TRAIN], seen.y_proba[TRAIN]),
    }
    for name, score in (("new documents", seen.y_proba[NEW]), ("a and b fitted again", seen.refitted[NEW])):
        rows = expected_rows(seen.p_true[NEW], score)._asdict()
        curve = binned_curve(**rows, n_bins=BINS)
        row[f"calibration error, {name}"] = cutoff_calibration_error(**rows)
        row[f"largest distance, {name}"] = np.abs(curve.rate - curve.score).max()
        row[f"l1 error, {name}"] = l1_error(seen.p_true[NEW], score)
    spread = spread_along(seen, 100)
    row["l1 error of the mean at equal score"] = spread["distance"].mean()
    row["standard deviation at equal score"] = np.sqrt((spread["deviation"] ** 2).mean())
    return row


def spread_along(seen: Seen, n_groups: int) -> pd.DataFrame:
    """Return how the true probability is spread among new documents of about equal score, in equal groups."""
    w, p = logit(seen.y_proba[NEW]), seen.p_true[NEW]
    rows = []
    for group in np.array_split(np.argsort(w), n_groups):
        inside = p[group]
        row = {"w": w[group].mean(), "mean": inside.mean(), "deviation": inside.std()}
        row["distance"] = np.abs(inside - inside.mean()).mean()
        rows.append(row | {f"q{100 * share:.0f}": np.quantile(inside, share) for share in SHARES})
    return pd.DataFrame(rows)


def pictured(seen: Seen) -> dict[str, pd.DataFrame]:
    """Return what the picture shows of one topic."""
    points = []
    for sample, rows in (("training", TRAIN), ("new", NEW)):
        curve = binned_curve(seen.y_true[rows], seen.y_proba[rows], n_bins=BINS)
        frame = curve.to_frame("pandas")[["score", "rate", "lower", "upper"]]
        points.append(frame.assign(sample=sample, w=logit(curve.score)))
    w = np.linspace(-6.0, 6.0, 121)
    lines = pd.DataFrame({"w": w, "sigmoid": expit(w), "refitted": expit(seen.slope * w + seen.intercept)})
    return {"points": pd.concat(points), "lines": lines, "spread": spread_along(seen, 40)}


def draw_figure1(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw both samples side by side."""
    lines, spread, points = tables["lines"], tables["spread"], tables["points"]
    with drawing_style() as palette:
        figure = Figure(figsize=(8.6, 4.3), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        right.fill_between(spread["w"], spread["q5"], spread["q95"], color=palette.band, linewidth=0)
        right.fill_between(spread["w"], spread["q25"], spread["q75"], color=palette.rule, linewidth=0)
        for ax, sample in ((left, "training"), (right, "new")):
            ax.plot(lines["w"], lines["sigmoid"], color=palette.orange, linewidth=1.5)
            of_sample = points[points["sample"] == sample]
            ax.plot(of_sample["w"], of_sample["rate"], "o", color=palette.blue, markersize=3.5)
            # Intervals would mean nothing where the scores were fitted to the labels.
            if sample == "new":
                ax.vlines(of_sample["w"], of_sample["lower"], of_sample["upper"], color=palette.blue, linewidth=1.2)
            ax.set_xlim(-4.3, 4.3)
            ax.set_xlabel("linear score w(X)")
        right.plot(lines["w"], lines["refitted"], color=palette.ink, linewidth=1.2, linestyle=(0, (4, 2)))
        left.set_ylim(0.0, 1.0)
        left.set_ylabel("probability of the topic")
        left.set_title("documents it was trained on", loc="left", fontsize=10, color=palette.muted)
        right.set_title("new documents", loc="left", fontsize=10, color=palette.muted)
        left.text(1.7, 0.93, "sigmoid", color=palette.orange, ha="right")
        left.text(-4.1, 0.3, "share of labels,\nin twentieths", color=palette.blue)
        right.text(0.9, 0.1, "share of labels,\nwith 95% intervals", color=palette.blue)
        right.text(1.7, 0.93, "sigmoid", color=palette.orange, ha="right")
        right.text(3.0, 0.82, "a and b\nfitted again", color=palette.ink, va="top")
        words = "true probability of\ndocuments of equal\nscore: half of them\n(dark) and 90%"
        right.text(-4.1, 0.55, words, color=palette.muted)
    return {"figure1": figure}


ITEM = Item("gao2017", "figure1", "Figure 1: the sigmoid follows the share of labels", measure, draw_figure1)
