"""The pictures of the report, drawn when a page asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.plots import Display, ForestDisplay, figure_svg
from calibrant.plots.canvas import tell_texts

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
    told: Callable[[str], str] = str  # with the words of an audit

    @property
    def how_to_read(self) -> str:
        """How to read it, for a caption."""
        return self.told(self.display.how_to_read)

    @property
    def description(self) -> str:
        """What it shows, for those who do not see it."""
        return self.told(self.display.description)

    @property
    def svg(self) -> Markup:
        """The drawing."""
        from markupsafe import Markup

        words = {"title": self.told(f"{self.name}: {self.of_what}"), "description": self.description}
        prefix = "-".join(filter(None, (self.anchor, self.name.lower().replace(" ", "-"))))
        # figure_svg escapes what it is given, and matplotlib the text of the user in the drawing.
        figure = self.display.own_figure()
        readings = [one._replace(text=self.told(one.text)) for one in self.display.readings()]
        tell_texts(figure, self.told)
        return Markup(figure_svg(figure, **words, prefix=prefix, readings=readings))


def forests(audit: Findings) -> list[tuple[Picture, list[list[str]]]]:
    """Return forest plots of O:E, slope and AUC, as far as clusters were compared by them, with their tables."""
    parts, of_what = audit.heterogeneity, f"{audit.name}, by cluster"
    every = () if parts is None else (parts.observed_expected, parts.calibration_slope, parts.roc_auc)
    return [(Picture(one.measure, ForestDisplay(one), of_what), one.lines()) for one in every if len(one.cluster)]
