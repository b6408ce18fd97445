"""The pictures of the report, drawn when a page asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.plots import Display, ForestDisplay, figure_svg

if TYPE_CHECKING:
    from markupsafe import Markup


class Picture(NamedTuple):
    """A display, drawn when a page asks for it.

    The anchor starts the ids inside the drawing, with the name, which is unique on the page or after the anchor.
    """

    name: str
    display: Display
    of_what: str
    anchor: str = ""

    @property
    def svg(self) -> Markup:
        """The drawing."""
        from markupsafe import Markup

        words = {"title": f"{self.name}: {self.of_what}", "description": self.display.description}
        prefix = "-".join(filter(None, (self.anchor, self.name.lower().replace(" ", "-"))))
        # figure_svg escapes what it is given, and matplotlib the text of the user in the drawing.
        figure, readings = self.display.own_figure(), self.display.readings()
        return Markup(figure_svg(figure, **words, prefix=prefix, readings=readings))


def forests(audit: Findings) -> list[tuple[Picture, list[list[str]]]]:
    """Return forest plots of O:E, slope and AUC, as far as clusters were compared by them, with their tables."""
    parts, of_what = audit.heterogeneity, f"{audit.name}, by cluster"
    every = () if parts is None else (parts.observed_expected, parts.calibration_slope, parts.roc_auc)
    return [(Picture(one.measure, ForestDisplay(one), of_what), one.lines()) for one in every if len(one.cluster)]
