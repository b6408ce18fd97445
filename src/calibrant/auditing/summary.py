"""An audit as text for a terminal: the summary, the details, or one line."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from calibrant.auditing.cluster_wording import unseen_sentence
from calibrant.auditing.error_wording import error_limits, error_place, error_range, error_text, plain_sentence
from calibrant.auditing.findings import Findings
from calibrant.auditing.wording import (
    accuracy_sentence,
    advice_sentence,
    assumption_sentence,
    certificate_sentence,
    classes_sentence,
    cost_sentence,
    data_sentence,
    discrimination_sentence,
    evidence_text,
    expected_error_sentence,
    next_sentence,
    null_sentence,
    provenance_sentence,
    recalibration_sentence,
    verdict_sentence,
    verdict_word,
)
from calibrant.table.numbers import confidence, number, rows, share, write_interval, write_upper
from calibrant.table.results import Estimate

__all__ = ["details", "one_line", "summary", "summary_rows", "wrapped"]

_MOST = 14  # lines of a summary
# Columns of the labels in front of the lines of a summary, and of the sentences of the details.
_NARROW, _WIDE = 11, 19
_MORE = " ..."
_NEXT = "Next"


class _Row(NamedTuple):
    """A part of the summary; where lines are too many, those of the highest rank are cut first: to one, or to none."""

    label: str
    text: str
    rank: int
    least: int = 1  # lines


def summary(audit: Findings, width: int | None = None, *, shell: bool = False) -> str:
    """Write what matters most, the verdict first, and last what to run next: in Python, or in a shell.

    At most fourteen lines, of the width that is given; without a width one for each part, and nothing is cut.
    """
    parts = list(summary_rows(audit, shell=shell))
    if width is None:
        return "\n".join(_labelled(part) for part in parts)
    lines = [_next(part, width, shell=shell) if part.label == _NEXT else _broken(part, width) for part in parts]
    for i in sorted(range(len(parts)), key=lambda i: -parts[i].rank):
        over = sum(map(len, lines)) - _MOST
        if over > 0 and parts[i].rank:
            lines[i] = _broken(parts[i], width, max(1, len(lines[i]) - over)) if parts[i].least else []
    return "\n".join(line for part in lines for line in part)


def summary_rows(audit: Findings, *, shell: bool = False) -> Iterator[_Row]:
    """Yield the parts of the summary; the first, the verdict, has no label."""
    sample, certificate, decision = audit.sample, audit.certificate, audit.decision
    yield _Row("", verdict_sentence(audit), 1)
    yield _Row("Where", plain_sentence(audit), 8, 0)
    for warning in audit.warnings:
        yield _Row("Warning", warning.message, 2)
    bounds = ""
    if certificate is not None:
        sure, lower = f"{confidence(certificate.confidence_level)} confidence", certificate.lower_bound
        limits = error_limits(certificate)
        proved = certificate.n_clusters is not None and certificate.method != "asymptotic"
        sure += (" each" if lower > 0.0 else "") + (", proved for clusters of any kind" if proved else "")
        bounds = f"at most {limits.upper} ({sure})"
        bounds = f"; at least {limits.lower}, {bounds}" if lower > 0.0 else f"; {bounds}"
    yield _Row("Error", error_text(audit) + bounds, 4)
    if chance := _chance(audit):
        yield _Row("By chance", chance, 9, 0)
    found = audit.performance
    yield _Row("Accuracy", f"AUC {_brief(found.roc_auc)}, Brier score {_brief(found.brier)}", 5)
    unit = "rows" if sample.weights == "rows" else "total weight"
    clusters = "" if sample.clusters is None else f" in {rows(sample.clusters)} cluster{'s' * (sample.clusters != 1)}"
    yield _Row(
        "Data",
        f"{rows(sample.n)} {unit}{clusters}, {rows(sample.positives)} positive: {share(sample.base_rate)}, "
        f"predicted {share(sample.mean_score)}, O:E {number(found.observed_expected.value)}",
        6,
    )
    if sample.classes is not None:
        yield _Row("Outcome", classes_sentence(audit), 2)
    if audit.left_out is not None and audit.left_out.n:
        yield _Row("Left out", str(audit.left_out), 2)
    if decision is not None:
        cost = write_interval(decision.cost, decision.cost_lower, decision.cost_upper)
        saved = ""
        if not math.isnan(decision.cost_lower):
            saved = f" ({cost.ends}); at most {write_upper(decision.saving_bound)} can be saved"
        yield _Row("Cost", f"{cost.value} per case{saved}", 7)
    yield _Row("Advice", advice_sentence(audit), 3)
    step = audit.advice.command if shell else audit.advice.python
    if step is not None:
        yield _Row(_NEXT, step, 0)


def _labelled(part: _Row) -> str:
    return f"{part.label:<{_NARROW}}{part.text}" if part.label else part.text


def _broken(part: _Row, width: int, most: int | None = None) -> list[str]:
    """Break a part at a width, with a hanging indent; what does not fit into `most` lines is left out."""
    return _manner(width, _NARROW if part.label else 2, most).wrap(_labelled(part))


def _next(part: _Row, width: int, *, shell: bool) -> list[str]:
    """Break what is to be run where it can be broken: before options in a shell, between arguments in Python."""
    kept = re.sub(r" (?!--)" if shell else r"(?<!,) ", "\N{NO-BREAK SPACE}", _labelled(part))
    end = " \\" if shell else ""
    lines = _manner(width - len(end), _NARROW).wrap(kept) if len(kept) > width else [kept]
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in [f"{line}{end}" for line in lines[:-1]] + lines[-1:]]


def _brief(estimate: Estimate) -> str:
    """Write a number with its interval, at the confidence of the audit."""
    if math.isnan(estimate.lower):
        return number(estimate.value)
    written = write_interval(estimate.value, estimate.lower, estimate.upper)
    how = ", exact" if estimate.method == "exact" else ""  # where the usual interval would be wrong
    return f"{written.value} ({written.ends}{how})"


def _chance(audit: Findings) -> str:
    """Calibration error under perfect calibration, in a few words."""
    if audit.sample.clusters is None and audit.test is None:
        return null_sentence(audit)
    limit = f"95% limit {number(audit.cutoff.null_q95)} under perfect calibration"
    known = [] if audit.sample.clusters is not None else [limit]
    return "; ".join([*known, *([] if audit.test is None else [evidence_text(audit.test)])])


def _manner(width: int, indent: int, most: int | None = None) -> textwrap.TextWrapper:
    return textwrap.TextWrapper(
        max(width, 2 * indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=_MORE,
    )


def wrapped(text: str, width: int | None, *, indent: int = 2) -> str:
    """Break each line of a text at a width, with a hanging indent; None keeps the lines whole."""
    if width is None:
        return text
    return "\n".join(_manner(width, indent).fill(line) for line in text.split("\n"))


def details(audit: Findings, width: int | None = None) -> str:
    """Write everything that the audit says in words, as labelled lines; broken at a width if one is given."""
    lines = {
        "Calibration error": f"{error_text(audit)}; {error_place(audit)}",
        "Null distribution": null_sentence(audit),
        "Certificate": certificate_sentence(audit),
        "ECE": expected_error_sentence(audit),
        "Discrimination": discrimination_sentence(audit),
        "Accuracy": accuracy_sentence(audit),
        "Data": data_sentence(audit),
        "Outcome": classes_sentence(audit),
        "Left out": "" if audit.left_out is None else str(audit.left_out),
        "Unseen clusters": unseen_sentence(audit),
        "Expected cost": cost_sentence(audit),
        "Recalibration": recalibration_sentence(audit.recalibration),
        "Advice": advice_sentence(audit),
        "Next": next_sentence(audit),
        "Assumptions": assumption_sentence(audit),
        "Provenance": provenance_sentence(audit),
    }
    labelled = [("Warning", warning.message) for warning in audit.warnings] + [
        line for line in lines.items() if line[1]
    ]
    text = [wrapped(f"{label:<{_WIDE}}{line}", width, indent=_WIDE) for label, line in labelled]
    return "\n".join([wrapped(verdict_sentence(audit), width), *text])


def one_line(audit: Findings) -> str:
    """Verdict and the main numbers in one line, for lists."""
    bound = f" (at most {error_limits(audit.certificate).upper})" if audit.certificate else ""
    error, null = error_range(audit), number(audit.cutoff.null_mean)
    auc, brier = audit.performance.roc_auc.value, audit.performance.brier.value
    return (
        f"{verdict_word(audit):<13} error {error}{bound}, null mean {null}, "
        f"AUC {auc:.3f}, Brier {number(brier)}: {audit.advice.action}"
    )
