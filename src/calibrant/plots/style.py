"""What all pictures share: colours and type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibrant.errors import need_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Palette:
    """Colours that can be told apart on a ground: by every kind of colour vision, and in grey.

    Attributes
    ----------
    ground, ink, muted, rule, band : str
        Paper; text and lines; lesser text; frames; areas that lie behind.
    blue, orange, grey : str
        Observed rates and positives; the interval of the calibration error; negatives.
    series : tuple of str
        Colours of several models, in order.
    """

    ground: str
    ink: str
    muted: str
    rule: str
    band: str
    blue: str
    orange: str
    grey: str
    series: tuple[str, ...]

    def by_name(self) -> dict[str, str]:
        """Colours by the names that they have in style sheets."""
        single = {name: value for name, value in vars(self).items() if isinstance(value, str)}
        return single | {f"series-{i}": colour for i, colour in enumerate(self.series) if colour not in single.values()}


# Okabe and Ito's colours, on a light ground those that are too light for a line are darkened.
LIGHT = Palette(
    ground="#ffffff",
    ink="#1f2328",
    muted="#57606a",
    rule="#c3c8ce",
    band="#e9ecef",
    blue="#0072b2",
    orange="#b34700",
    grey="#8b949e",
    series=("#0072b2", "#b34700", "#00795a", "#a4508b", "#8a6d00", "#1f2328"),
)
DARK = Palette(
    ground="#16191d",
    ink="#e6edf3",
    muted="#a9b3bd",
    rule="#5b646d",
    band="#30363d",
    blue="#56b4e9",
    orange="#f08a4b",
    grey="#8b949e",
    series=("#56b4e9", "#f08a4b", "#2fc99a", "#e39bc6", "#f0e442", "#e6edf3"),
)


@contextmanager
def drawing_style(palette: Palette = LIGHT) -> Iterator[Palette]:
    """Draw in calibrant's style whatever the user has set, and leave the user's settings as they were.

    Parameters
    ----------
    palette : Palette
        Colours; the default is for a light ground.

    Yields
    ------
    Palette
        The same, for pictures of your own beside ours.

    Examples
    --------
    >>> from calibrant.plots import drawing_style
    >>> with drawing_style() as palette:
    ...     palette.blue
    '#0072b2'
    """
    need_package("matplotlib", "calibrant[report]")
    from matplotlib import style

    with style.context(["default", _settings(palette)]):
        yield palette


def _settings(palette: Palette) -> dict[str, Any]:
    return {
        "font.family": "sans-serif",
        "font.size": 9.5,
        "axes.facecolor": "none",
        "axes.edgecolor": palette.rule,
        "axes.labelcolor": palette.ink,
        "axes.linewidth": 0.8,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": palette.ink,
        "xtick.color": palette.rule,
        "xtick.labelcolor": palette.muted,
        "xtick.labelsize": 8.5,
        "ytick.color": palette.rule,
        "ytick.labelcolor": palette.muted,
        "ytick.labelsize": 8.5,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "legend.handlelength": 1.5,
        "legend.columnspacing": 0.9,
        "figure.constrained_layout.w_pad": 0.06,
        "figure.constrained_layout.h_pad": 0.06,
        "svg.fonttype": "none",
    }


def palette_on(ground: Any) -> Palette:
    """Return the palette for a ground: that for dark grounds if white would stand out more on it than black."""
    from matplotlib.colors import to_rgba

    *parts, opacity = to_rgba(ground)
    # Relative luminance as in the Web Content Accessibility Guidelines 2.2; a clear ground is taken for paper.
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return DARK if opacity > 0.0 and 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else LIGHT


def ground_of(ax: Axes) -> Any:
    """Colour of the figure on which the axes lie."""
    return ax.figure.canvas.figure.get_facecolor()
