"""The command and the line of Python that an advice leads to, about the same rows as far as their names are known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from calibrant.printable import shell_word
from calibrant.sources.columns import Columns
from calibrant.sources.frames import is_in_memory
from calibrant.sources.query import Query
from calibrant.table.numbers import given, significant, write_upper


class CallTexts(NamedTuple):
    """How to write the rows of an audit: as arguments of a shell command, of `calibrant.audit` and of ``fit``."""

    command: str = "FILE --label y --score p"
    audit: str = "y, p"
    fit: str = "p, y"


class NextStep(NamedTuple):
    """What to run next, in a shell and in Python."""

    command: str | None = None
    python: str | None = None


def texts_of(source: Any, named: Columns | None) -> CallTexts:
    """Return how to write named columns of a dataframe, files or a query; without names, arrays."""
    if named is None:
        return CallTexts()
    label, score, weight, pos_label = named.label, named.score, named.weight, named.pos_label
    missing = named.missing if named.drops else None
    options = {"--label": label, "--score": score, "--weight": weight, "--missing": missing, "--pos-label": pos_label}
    written = " ".join(f"{name} {shell_word(str(value))}" for name, value in options.items() if value is not None)
    columns = {"label": label, "score": score, "weight": weight, "missing": missing, "pos_label": pos_label}
    keywords = ", ".join(f"{name}={value!r}" for name, value in columns.items() if value is not None)
    if isinstance(source, Query):
        # An address may hold a password.
        database = "..." if "//" in str(source.database) else source.database
        file = f"--query {shell_word(source.sql)}" + (f" --database {shell_word(database)}" if database else "")
        rows = f"cal.Query({source.sql!r}" + (f", {database!r})" if database else ")")
    elif isinstance(source, (str, os.PathLike)):
        file, rows = shell_word(os.fspath(source)), repr(os.fspath(source))
    elif isinstance(source, Sequence):
        names = [os.fspath(name) for name in source]
        file, rows = " ".join(map(shell_word, names)), repr(names if len(names) > 1 else names[0])
    else:
        if is_in_memory(source) and not named.drops:
            fit = f"frame[{score!r}], frame[{label!r}]"
            fit += "" if weight is None else f", frame[{weight!r}]"
            fit += "" if pos_label is None else f", pos_label={pos_label!r}"
        else:
            fit = f"cal.ScoreTable.from_frame(frame, {keywords})"
        return CallTexts(f"FILE {written}", f"frame, {keywords}", fit)
    return CallTexts(f"{file} {written}", f"{rows}, {keywords}", f"cal.read_table({rows}, {keywords})")


def next_step(
    action: str,
    texts: CallTexts,
    tolerance: float | None,
    confidence_level: float,
    by: Sequence[str] = (),
    *,
    expected_brier: float,
) -> NextStep:
    """Return what an action leads to: a calibrator, a number of rows, or another audit.

    A plan is made for the Brier score that these scores have if they are calibrated.
    """
    if action == "recalibrate by segment":
        listed = " ".join(f"--by {shell_word(name)}" for name in by)
        held = f"frame[{list(by)!r}]" if texts.fit.startswith("frame[") else "segments"
        command = f"calibrant recalibrate {texts.command} {listed} --model model.json"
        if texts.fit.startswith("cal."):  # a table, which has no columns
            return NextStep(command)
        return NextStep(command, f"calibrator = cal.SegmentCalibrator().fit({texts.fit}, segments={held})")
    if action == "recalibrate":
        return NextStep(
            f"calibrant recalibrate {texts.command} --model model.json",
            f"calibrator = cal.AutoCalibrator().fit({texts.fit})",
        )
    if action == "shift":
        return NextStep(
            f"calibrant recalibrate {texts.command} --method platt --model model.json",
            f"calibrator = cal.PlattCalibrator().fit({texts.fit})",
        )
    if action == "collect more data":
        wanted = "0.05" if tolerance is None else given(tolerance)
        usual = confidence_level == 0.95
        options = {"brier": write_upper(expected_brier, write=partial(significant, digits=2))} if expected_brier else {}
        options |= {} if usual else {"confidence_level": f"{confidence_level:g}"}
        shell = "".join(f" --{name.removesuffix('_level')} {value}" for name, value in options.items())
        python = "".join(f", {name}={value}" for name, value in options.items())
        return NextStep(f"calibrant plan --tolerance {wanted}{shell}", f"cal.required_sample_size({wanted}{python})")
    if action == "check the labels":
        # The class that counts as 1 stands last, if it was named.
        command, audit = texts.command.partition(" --pos-label ")[0], texts.audit.partition(", pos_label=")[0]
        return NextStep(f"calibrant audit {command} --pos-label OTHER", f"cal.audit({audit}, pos_label=...)")
    if action == "check the scores":
        return NextStep(None, "p = model.predict_proba(X)[:, 1]")
    return NextStep()
