"""Which kind of outcome a question is about, and which options a kind does not take, why, and what answers instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from calibrant.errors import ArgumentError
from calibrant.kinds import Kind, kind_named
from calibrant.table.class_scores import are_classes
from calibrant.table.outcome_table import ANY_OUTCOME, OutcomeTable
from calibrant.table.rules import PROVED

_AMOUNTS = "pass `kind='amount'` if outcomes are amounts, counts or shares, with predicted means"
_WEIGHTED = (
    "weights do not count rows",
    PROVED.replace("`calibrant.audit` with `kind='amount'`,", "`kind='amount'` with"),
)
_OF_AMOUNTS = dict.fromkeys(
    ("exposure", "limits", "cluster_limit", "relative_to", "distribution"),
    ("it is about outcomes that are amounts", _AMOUNTS),
)
_ONE_CLASS = "pass one class against the rest: y == c, and its probabilities alone"
_AUDIT_ONE = "leave it out, or audit one class against the rest: its label as `pos_label`, and its probabilities alone"
_ALIKE = ("clusters of amounts count as their rows do", "leave it out; `cluster_limit` says what one may hold at most")
_ROWS = "keep one row of each cluster, or bound the error of clusters with `calibrant.certify`"
# Base of a kind -> option -> why it is not taken, and what answers instead.
_REFUSED: Mapping[str, dict[str, tuple[str, str] | None]] = {
    "event": {
        "classes": ("the positive label is the one class", "name it as `pos_label`, or pass kind='classes'"),
        "notion": ("there is one error of one class", "leave it out, or pass kind='classes' with all probabilities"),
        "weight": _WEIGHTED,
        **_OF_AMOUNTS,
    },
    "classes": {
        "pos_label": ("every class is judged against the rest", f"name classes as `classes`, or {_ONE_CLASS}"),
        "weight": _WEIGHTED,
        **_OF_AMOUNTS,
    },
    "amount": {
        "pos_label": ("amounts have no labels", "leave it out"),
        "classes": ("amounts have no classes", "leave it out"),
        "notion": ("amounts have no classes", "leave it out"),
        "cluster_cap": _ALIKE,
        "unseen_clusters": _ALIKE,
        "n_simulations": ("the bounds of amounts are not simulated", "leave it out"),
    },
}
# Verb -> base -> what it refuses besides; None of what it takes nevertheless.
_BESIDE: Mapping[str, Mapping[str, dict[str, tuple[str, str] | None]]] = {
    "calibration_test": {
        "classes": {
            "method": ("there is one test of several classes, exact of independent rows", "leave it out"),
            "unseen_clusters": (
                "there is one test of clusters of classes",
                "leave it out, or bound the error with `calibrant.certify`",
            ),
            "chance": (
                "the test of several classes takes rows that count alike",
                "test one class against the rest, or bound the worst one with `calibrant.certify`",
            ),
        },
        "amount": {
            "method": ("there is one test of amounts", "leave it out; `distribution` adds an exact one of counts"),
            "n_simulations": None,
        },
    },
    "audit": {
        "event": {"weight": None},
        "classes": {
            "weight": None,
            "grade": ("a grade has one probability", _AUDIT_ONE),
            "target_error": (
                "it is about one class",
                f"{_AUDIT_ONE}; `calibrant.selective(y, P)` finds the top probability from which no review is needed",
            ),
        },
        "amount": {
            "costs": ("amounts are not decided upon at one threshold", "leave it out"),
            "target_error": ("amounts are not decided upon", "leave it out"),
            "n_folds": ("recalibration of amounts has folds of its own", "leave it out"),
        },
    },
}
# The same of rows that were looked at with known chances.
_OF_CLUSTERS = dict.fromkeys(
    ("cluster_cap", "unseen_clusters", "n_simulations"),
    ("clusters count by the chances of their rows, and those of unseen kinds are allowed for", "leave it out"),
)
_WITH_CHANCES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "certify": _OF_CLUSTERS,
    "audit": _OF_CLUSTERS,
    "calibration_test": {
        "method": ("there is one test of rows with chances, an asymptotic one", "leave it out"),
        "cluster": ("that test takes independent rows", _ROWS),
        "n_simulations": ("that test is not simulated", "leave it out"),
        "distribution": ("counts of rows that count alike have a known distribution", "leave it out"),
    },
}
# Options that change nothing without another, and what that would be.
_NEEDS = dict.fromkeys(("depth", "min_rows", "cuts"), ("by", "name the columns of segments"))
_NEEDS |= dict.fromkeys(
    ("cluster_cap", "unseen_clusters"), ("cluster", "pass the cluster of each row, or leave it out")
)


def kind_of(verb: Callable[..., Any], options: Mapping[str, Any]) -> Kind:
    """Return the kind that is asked for, or that rows have; an `ArgumentError` for options that it does not take."""
    parameters = inspect.signature(verb).parameters
    given = [name for name, value in options.items() if _differs(value, parameters[name].default)]
    kind = kind_named(_inferred(options, given) if options["kind"] is None else options["kind"])
    refused = refusals(verb, kind)
    if "chance" in given and "chance" not in refused:
        refused |= _WITH_CHANCES.get(verb.__name__, {})
    for name in given:
        if name in refused:
            why, instead = refused[name]
            raise ArgumentError(f"no `{name}` with kind {kind.name!r}, as {why}", "it", instead)
        other, remedy = _NEEDS.get(name, (name, ""))
        if other not in given and getattr(options["data"], other, None) is None:
            raise ArgumentError(f"`{name}` with `{other}`", "it alone", remedy)
    return kind


def refusals(verb: Callable[..., Any], kind: Kind) -> dict[str, tuple[str, str]]:
    """Return the options that a kind does not take, with why, and what answers instead."""
    refused = _REFUSED[kind.base] | _BESIDE.get(verb.__name__, {}).get(kind.base, {})
    if kind.own:
        refused["pos_label"] = ("it makes the outcomes itself", "leave it out")
    if kind.limits != ANY_OUTCOME:
        refused["limits"] = (f"it has limits of its own, {kind.limits}", "leave it out")
    return {name: said for name, said in refused.items() if said is not None}


def _inferred(options: Mapping[str, Any], given: list[str]) -> str:
    """Return the kind that rows have, as far as what holds them says it; labels are checked when they are read."""
    rows, prediction = options["data"], options["prediction"]
    if isinstance(rows, OutcomeTable):
        return "amount"
    several = are_classes(rows, prediction) or _are_columns(prediction)
    return "classes" if several or "classes" in given else "event"


def _are_columns(prediction: Any) -> bool:
    """Whether predictions are named as several columns: by a pattern, or one by one."""
    if isinstance(prediction, str):
        return any(mark in prediction for mark in "*?[")
    return isinstance(prediction, list | tuple) and bool(prediction) and isinstance(prediction[0], str)


def _differs(value: Any, default: Any) -> bool:
    """Whether a value is not the default one."""
    if value is default:
        return False
    return type(value) is not type(default) or not isinstance(value, str | int | float | tuple) or value != default
