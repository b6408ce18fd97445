"""An audit as text for a terminal: the summary, the details, or one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from calibrant.auditing.about import Documented
from calibrant.auditing.facts import DETAILS, audit_facts
from calibrant.auditing.findings import AuditFindings, ClassFindings, DrawnAudit, Findings
from calibrant.auditing.own_words import teller_of
from calibrant.auditing.paragraph import results_paragraph
from calibrant.auditing.wording import error_limits, error_range
from calibrant.table.numbers import hanging, html_table, number, wrapped
from calibrant.table.results import Fact, Result, of_section
from calibrant.upward import resolve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 14  # lines of a summary
# Columns of the labels in front of the lines of a summary, and of the sentences of the details.
_NARROW, _WIDE = 11, 19
_NEXT, _RUN = "Next", ("command", "python")
_OPTIONAL = 8  # ranks of lines that are left out rather than cut to one
_WIDTH = 80  # columns of a printed audit: a usual terminal


class ShownAudit(Documented):
    """How audits show themselves: as text, in a notebook, and as a picture."""

    _display: ClassVar[str] = "plots.audit.AuditDisplay"  # which of `calibrant.upward` draws it
    _page = "report.page.render_audit"
    _pictured: ClassVar[str]  # what that draws

    def __str__(self: Any) -> str:
        return "\n\n".join(filter(None, [summary(self, _WIDTH), table_below(self, _WIDTH)]))

    def _repr_html_(self: Any) -> str:
        facts = [(fact.label, fact.value) for fact in summary_facts(self)]
        picture = resolve("plots.display.picture_html")(self, self._pictured)
        below = (part.as_html(teller_of(self)) for part in _below(self))
        return "".join([html_table(self.name, facts), picture, *below])

    def details(self: Any) -> str:
        """Return the long text: every statement of the audit, with what it assumes, in lines of 80 characters."""
        return details(self, _WIDTH)

    def sentence(self: Any) -> str:
        """Return the results as a paragraph, for the results section of a paper.

        Returns
        -------
        str
            Rows and events; O:E, calibration intercept and slope, AUC, Brier score and, with costs, net benefit, each
            with its interval, whose limits are rounded outwards; the calibration error with its bounds. Of several
            classes and of predicted means what stands for these.

        Examples
        --------
        >>> import calibrant
        >>> audit = calibrant.audit([0, 1] * 4_000, [0.5] * 8_000, words={"rows": "patients", "events": "deaths"})
        >>> audit.sentence()[:47]
        'Among 8,000 patients there were 4,000 deaths (5'
        """
        return results_paragraph(self)

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> DrawnAudit:
        """Draw the pictures of the audit, under its verdict.

        Of events these are the reliability diagram with the distribution of scores, and the cumulative residuals; of
        amounts observed means by prediction, and the cumulative residuals, concentration curve less Lorenz curve; of
        several classes small reliability diagrams of those with the largest upper bounds, on shared axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or several of them, optional
            Where to draw, in this order. By default on a new figure of pyplot, so that notebooks and ``pyplot.show``
            show it and ``pyplot.savefig`` saves it.

        Returns
        -------
        calibrant.plots.AuditDisplay
            With `figure_` and `axes_`.
        """
        drawn: DrawnAudit = resolve(self._display)(self).plot(ax)
        return drawn


def summary(audit: AuditFindings, width: int | None = None, *, shell: bool = False) -> str:
    """Write what matters most, the verdict first, and last what to run next: in Python, or in a shell.

    At most fourteen lines, of the width that is given; without a width one for each part, and nothing is cut.
    """
    parts = summary_facts(audit, shell=shell)
    if width is None:
        return "\n".join(_labelled(part) for part in parts)
    lines = [_runnable(part, width, _NARROW) if part.key in _RUN else _broken(part, width) for part in parts]
    ranks = [part.rank or 0 for part in parts]
    for i in sorted(range(len(parts)), key=lambda i: -ranks[i]):
        over = sum(map(len, lines)) - _MOST
        if over > 0 and ranks[i]:
            lines[i] = _broken(parts[i], width, max(1, len(lines[i]) - over)) if ranks[i] < _OPTIONAL else []
    return "\n".join(line for part in lines for line in part)


def summary_facts(audit: AuditFindings, *, shell: bool = False) -> list[Fact]:
    """Choose the facts of a summary, the verdict first; what to run next, in Python or in a shell, is the last."""
    facts = [fact for fact in _told(audit) if fact.rank is not None]
    # Where there is only the other one, that is shown, under the label that says so.
    step, other = ("command", "python") if shell else ("python", "command")
    if any(fact.key == step for fact in facts):
        facts = [fact for fact in facts if fact.key != other]
    return [fact._replace(label=_NEXT) if fact.key == step else fact for fact in facts]


def _told(audit: AuditFindings) -> list[Fact]:
    """Write all facts of an audit with the words that it was given; what is run, or comes from outside, as it is."""
    told = teller_of(audit)
    return [fact if fact.key in (*_RUN, "provenance") else fact.told(told) for fact in audit_facts(audit)]


def _labelled(part: Fact) -> str:
    return part.value if part.key == "verdict" else f"{part.label:<{_NARROW}}{part.value}"


def _broken(part: Fact, width: int, most: int | None = None) -> list[str]:
    """Break a part at a width, with a hanging indent; what does not fit into `most` lines is left out."""
    return hanging(width, 2 if part.key == "verdict" else _NARROW, most).wrap(_labelled(part))


def _runnable(part: Fact, width: int, indent: int) -> list[str]:
    """Break what is to be run where it can be: before options in a shell, between arguments in Python; comments below.

    Other spaces, and those within quotes, stand as another sign until then.
    """
    shell, text = part.key == "command", f"{part.label:<{indent}}{part.value}"
    if len(text) <= width:
        return [text]
    quoted = re.sub(r"'[^']*'|\"[^\"]*\"", lambda found: found[0].replace(" ", "\0"), text)
    end, (code, _, comment) = " \\" if shell else "", quoted.partition("  # ")
    lines = hanging(width - len(end), indent).wrap(re.sub(r" (?!--)" if shell else r"(?<!,) ", "\0", code))
    lines = [f"{line}{end}" for line in lines[:-1]] + lines[-1:]
    lines += [f"{'':<{indent}}# {line}" for line in hanging(width - indent - 2, 0).wrap(comment)]
    return [line.replace("\0", " ") for line in lines]


def details(audit: AuditFindings, width: int | None = None) -> str:
    """Write everything that the audit says in words, as labelled lines; broken at a width if one is given."""
    facts = _told(audit)
    lines = [fact for fact in facts if fact.key == "warning"] + of_section(facts, *DETAILS)
    text = [wrapped(facts[0].value, width)]
    for fact in lines:
        if width is not None and fact.key in _RUN:
            text += _runnable(fact, width, _WIDE)
        else:
            label = f"{fact.label}: " if len(fact.label) >= _WIDE else fact.label
            text.append(wrapped(f"{label:<{_WIDE}}{fact.in_full}", width, indent=_WIDE))
    return "\n".join(text)


def table_below(audit: AuditFindings, width: int | None = None) -> str:
    """Write the tables that stand under a summary: of segments and of grades, if there are some, or of classes."""
    if isinstance(audit, ClassFindings) and audit.segments is None:
        from calibrant.auditing.class_facts import table_text

        return table_text(audit, width)
    return "\n\n".join(part.as_text(teller_of(audit)) for part in _below(audit))


def _below(audit: Result) -> list[Any]:
    """Return what stands under a summary."""
    first = getattr(audit, "segments", None) or getattr(audit, "table", None)
    return [part for part in (first, getattr(audit, "grades", None)) if part]


def one_line(audit: Findings) -> str:
    """Verdict and the main numbers in one line, for lists."""
    bound = f" (at most {error_limits(audit.certificate).upper})" if audit.certificate else ""
    error, null = error_range(audit), number(audit.cutoff.null_mean)
    auc, brier = audit.performance.roc_auc.value, audit.performance.brier.value
    return (
        f"{audit.verdict:<13} error {error}{bound}, null mean {null}, "
        f"AUC {auc:.3f}, Brier {number(brier)}: {audit.advice.action}"
    )
