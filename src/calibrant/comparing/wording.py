"""A comparison in words and as text for a terminal. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calibrant.auditing.summary import wrapped
from calibrant.auditing.warnings import ENOUGH_CLUSTERS
from calibrant.comparing.losses import MEASURES
from calibrant.comparing.results import ComparisonFindings, MeasureDifference
from calibrant.printable import visible
from calibrant.table.facts import Fact, joined
from calibrant.table.numbers import WrittenInterval, at_least, confidence, number, rows, share, signed, write_interval
from calibrant.table.shown import short_name

INDEPENDENT_CLUSTERS = (
    "The clusters are independent draws from the population the statements are about; rows of one cluster may depend "
    "on each other."
)
FIXED_MODELS = "All models were fixed before these rows were seen: none was trained, tuned or selected on them."
LIKE_SCORES = "For the log loss: no score is closer to 0 or to 1 than those of the same model in these rows."
LIMITATIONS = (
    "The intervals are asymptotic: they hold for many rows, and with clusters for many clusters.",
    "It is about the population that these rows were drawn from, not about another place or a later time.",
    "It is about all of these rows together: within a part of them, another model may be the better one.",
)

# Columns of the table of a summary: measure, value of either model, difference, interval.
_MEASURE, _VALUE, _INTERVAL = 18, 10, 20


def claim_of(confidence_level: float, n_clusters: int | None) -> str:
    """Say what is asserted of all intervals."""
    drawn = "rows" if n_clusters is None else "clusters"
    return (
        f"With probability at least {at_least(confidence_level)} (asymptotic) over the draw of the {drawn}, all "
        "differences between these models in the population lie in their intervals."
    )


def measure_name(key: str, *, start: bool = True) -> str:
    """Name a measure, at the start of a line or inside a sentence."""
    name = MEASURES[key].name
    return name if start or key in ("brier_score", "roc_auc") else name[0].lower() + name[1:]


def interval(found: MeasureDifference) -> str:
    """Write the interval of a difference."""
    if math.isinf(found.value):
        return "infinite for one"
    if math.isinf(found.lower) and math.isinf(found.upper):
        return "no limits"
    return _written(found).ends


def difference(found: MeasureDifference) -> str:
    """Write a difference, with its sign."""
    if math.isnan(found.value):
        return "unknown"
    written = _written(found).value
    return f"+{written}" if found.value > 0.0 else written


def _written(found: MeasureDifference) -> WrittenInterval:
    return write_interval(found.value, found.lower, found.upper, write=signed)


def verdict(found: MeasureDifference) -> str:
    """Write which model is better, or that these rows do not show it."""
    return "undecided" if found.better is None else f"{found.better} better"


def rows_sentence(found: MeasureDifference) -> str:
    """Say how many rows, or clusters, would decide; empty if that is not known or not needed."""
    if found.rows_needed is None:
        return ""
    return f"about {_needed(found)} would decide, were the difference what it seems"


def _needed(found: MeasureDifference) -> str:
    if found.clusters_needed is not None:
        return f"{rows(_rounded(found.clusters_needed))} clusters like these"
    return f"{rows(_rounded(found.rows_needed or 0))} rows"


def verdict_sentences(found: ComparisonFindings) -> Iterator[str]:
    """Say, pair by pair, which model is better at what, and what is undecided."""
    pairs = dict.fromkeys((one.first, one.second) for one in found.differences)
    for first, second in pairs:
        of_pair = [one for one in found.differences if (one.first, one.second) == (first, second)]
        parts = []
        for name, other in ((second, first), (first, second)):
            at = [measure_name(one.measure, start=False) for one in of_pair if one.better == name]
            if at:
                parts.append(f"{visible(name)} is better than {visible(other)} at {_listed(at)}")
        open_ = [measure_name(one.measure, start=False) for one in of_pair if one.better is None]
        if all(one.value == 0.0 for one in of_pair):
            yield f"{visible(first)} and {visible(second)} agree on every measure."
        elif not parts:
            yield f"These rows do not show whether {visible(first)} or {visible(second)} is better, at any measure."
        else:
            yield "; ".join([*parts, *([f"undecided: {_listed(open_)}"] if open_ else [])]) + "."


def summary(found: ComparisonFindings, width: int | None = None) -> str:
    """Write who is better at what, then every measure with its differences, then the rows."""
    lines = [wrapped(sentence, width) for sentence in verdict_sentences(found)]
    lines += _table_of_two(found) if len(found.models) == 2 else _table_of_many(found)
    needed = [
        f"{measure_name(one.measure, start=False)} {rows(_rounded(one.clusters_needed or one.rows_needed))}"
        for one in found.differences
        if one.rows_needed is not None
    ]
    if needed and len(found.models) == 2:
        what = "rows" if found.n_clusters is None else "clusters like these"
        text = f"about so many {what}, were the differences what they seem: {', '.join(needed)}"
        lines.append(_labelled("To decide", text, width))
    lines.append(_labelled("Data", data_text(found), width))
    sure = confidence(found.confidence_level)
    lines.append(_labelled("Intervals", f"all hold together with {sure} confidence (asymptotic){_few(found)}", width))
    return "\n".join(lines)


def _few(found: ComparisonFindings) -> str:
    """Say that clusters are few; empty if they are not."""
    effective = found.effective_clusters
    return "" if effective is None or effective >= ENOUGH_CLUSTERS else f"; only {effective:.3g} effective clusters"


def data_text(found: ComparisonFindings) -> str:
    """Describe the rows."""
    clusters = "" if found.n_clusters is None else f" in {rows(found.n_clusters)} clusters"
    costs = (
        "" if found.costs is None else "; costs {:g} (false positive) and {:g} (false negative)".format(*found.costs)
    )
    return (
        f"{rows(found.n)} rows{clusters}, {rows(found.positives)} positive: {share(found.positives / found.n)}{costs}"
    )


def comparison_facts(found: ComparisonFindings) -> list[Fact]:
    """Write who is better at what, every difference with its limits, and the rows, as notebook and page show them."""
    sentences = [Fact("verdict", "Verdict", sentence, section="headline") for sentence in verdict_sentences(found)]
    differences = [_difference_fact(one) for one in found.differences]
    return [*sentences, *differences, Fact("data", "Data", data_text(found), section="headline")]


def _difference_fact(found: MeasureDifference) -> Fact:
    label = f"{measure_name(found.measure)}: {found.second} \N{MINUS SIGN} {found.first}"
    note = joined(verdict(found), rows_sentence(found))
    return Fact(found.measure, label, difference(found), interval(found), note=note, section="differences")


def _table_of_two(found: ComparisonFindings) -> Iterator[str]:
    (one, first), (two, second) = found.models.items()
    heads = (
        short_name(one, _VALUE - 1),
        short_name(two, _VALUE - 1),
        "difference",
        f"{confidence(found.confidence_level)} interval",
    )
    yield _line("", *heads, "better")
    for part in found.differences:
        values = number(first.measures[part.measure]), number(second.measures[part.measure])
        better = "undecided" if part.better is None else part.better
        yield _line(measure_name(part.measure), *values, difference(part), interval(part), better)


def _line(measure: str, first: str, second: str, change: str, limits: str, better: str) -> str:
    text = f"{measure:<{_MEASURE}}{first:>{_VALUE - 1}}{second:>{_VALUE}}{change:>{_VALUE + 1}}  {limits:<{_INTERVAL}} "
    return (text + short_name(better, 80 - len(text))).rstrip()


def _table_of_many(found: ComparisonFindings) -> Iterator[str]:
    """Value and rank of every model."""
    longest = max(len(short_name(name, 16)) for name in found.models)
    keys = list(found.ranks)
    short = {
        "calibration_error": "Calibration",
        "expected_cost": "Cost",
        "brier_score": "Brier",
        "net_benefit": "Benefit",
    }
    yield f"{'':<{longest}}" + "".join(f"{short.get(key, MEASURES[key].name):>12}" for key in keys)
    for name, model in found.models.items():
        cells = (f"{number(model.measures[key])} ({found.ranks[key][name]})" for key in keys)
        yield f"{short_name(name, 16):<{longest}}" + "".join(f"{cell:>12}" for cell in cells)
    yield "(rank): one more than the number of models that are better beyond chance"


def _labelled(label: str, text: str, width: int | None) -> str:
    return wrapped(f"{label:<11}{text}", width, indent=11)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _rounded(value: int) -> float:
    """Two significant digits: no more is known of a number of rows that would decide."""
    return float(f"{value:.2g}")
