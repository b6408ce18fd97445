"""
Your axes, your colours
=======================

Every result draws itself, on a new figure or on axes of yours. Pictures follow the ground of
the figure, light or dark.
"""

# %%
# One result of each kind; ``plot`` is a method of the result, and ``draw`` a function that
# does the same.
import matplotlib.pyplot as plt

from calibrant.curves import binned_curve, cumulative_residuals, score_histogram
from calibrant.decisions import cost_curve
from calibrant.papers import distorted_probabilities
from calibrant.plots import Palette, draw, drawing_style, figure_svg

rows = distorted_probabilities(3_000, gamma=2.5)
y, p = rows.y_true, rows.y_proba
results = [
    binned_curve(y, p),
    cumulative_residuals(y, p),
    score_histogram(y, p),
    cost_curve(y, p),
]
figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained", facecolor="#1b1f24")
for result, ax in zip(results, axes.flat, strict=True):
    draw(result, ax)
    ax.tick_params(colors="white")
    ax.xaxis.label.set_color("white")
    ax.yaxis.label.set_color("white")

# %%
# Keywords of matplotlib reach the line, the points or the bars. What is drawn returns as a
# ``Display`` with its axes, and ``to_frame`` gives the numbers.
display = binned_curve(y, p, n_bins=6).plot(color="tab:green", marker="D")
print(display.to_frame("pandas").round(3))

# %%
# ``drawing_style`` lends calibrant's style to pictures of your own, here with a ``Palette``
# of your own. ``figure_svg`` writes a figure as text for a page.
warm = {
    "ground": "#fdf6e3",
    "ink": "#3b3228",
    "muted": "#7a6a58",
    "rule": "#d8c9ae",
    "band": "#efe4c8",
}
marks = {"blue": "#1f6f8b", "orange": "#c0562b", "grey": "#a39886"}
palette = Palette(**warm, **marks, series=tuple(marks.values()))
with drawing_style(palette):
    figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    ax.hist(
        [p[y == 0], p[y == 1]],
        bins=20,
        color=[palette.blue, palette.orange],
        label=["negative", "positive"],
    )
    ax.set(xlabel="score", ylabel="rows")
    ax.legend()
    figure.set_facecolor(palette.ground)
    ax.set_facecolor(palette.ground)
print(figure_svg(figure, title="Scores by class")[:60])
plt.show()
