"""The command and the line of Python that an advice leads to, about the same rows as far as their names are known."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from calibrant.certificates import Certificate
from calibrant.printable import shell_word
from calibrant.sources.protocol import Columns
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
    names = ("label", "score", "weight", "missing", "pos_label")
    columns = {name: getattr(named, name) for name in names if name != "missing" or named.drops}
    columns = {name: value for name, value in columns.items() if value is not None}
    options, keywords = _as_options(columns), _as_keywords(columns)
    texts = _source_texts(source)
    if texts is None:
        import narwhals as nw

        fit = f"cal.ScoreTable.from_frame(frame, {keywords})"
        if isinstance(nw.from_native(source), nw.DataFrame) and not named.drops:
            fit = ", ".join(f"frame[{columns[name]!r}]" for name in ("score", "label", "weight") if name in columns)
            fit += f", pos_label={named.pos_label!r}" if "pos_label" in columns else ""
        return CallTexts(f"FILE {options}", f"frame, {keywords}", fit)
    file, rows = texts
    return CallTexts(f"{file} {options}", f"{rows}, {keywords}", f"cal.read_table({rows}, {keywords})")


def texts_of_means(source: Any, columns: Mapping[str, str | None], weighting: str, *, drops: bool) -> CallTexts:
    """Return the same of predicted means; `columns` are those of a source by what they hold, with None in arrays."""
    names = {name: value for name, value in columns.items() if value is not None}
    if not names:
        further = {"exposure": ", exposure=w", "sample_weight": ", sample_weight=w"}.get(weighting, "")
        return CallTexts("FILE --outcome z --prediction f", f"z, f{further}", f"f, z{further}")
    names |= {"missing": "drop"} if drops else {}
    file, rows = _source_texts(source) or ("FILE", "frame")
    fit = f"cal.OutcomeTable.from_source({rows}, {_as_keywords(names)})"
    return CallTexts(f"{file} {_as_options(names)}", f"{rows}, {_as_keywords(names)}", fit)


def _as_options(values: Mapping[str, Any]) -> str:
    """Write values as options of a shell command."""
    return " ".join(f"--{name.replace('_', '-')} {shell_word(str(value))}" for name, value in values.items())


def _as_keywords(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _source_texts(source: Any) -> tuple[str, str] | None:
    """Return how to write files or a query in a shell and in Python; None of a dataframe."""
    if isinstance(source, Query):
        # An address may hold a password.
        database = "..." if "//" in str(source.database) else source.database
        file = f"--query {shell_word(source.sql)}" + (f" --database {shell_word(database)}" if database else "")
        return file, f"cal.Query({source.sql!r}" + (f", {database!r})" if database else ")")
    if isinstance(source, (str, os.PathLike)):
        return shell_word(os.fspath(source)), repr(os.fspath(source))
    if isinstance(source, Sequence):
        files = [os.fspath(name) for name in source]
        return " ".join(map(shell_word, files)), repr(files if len(files) > 1 else files[0])
    return None


def next_step(
    action: str, texts: CallTexts, certificate: Certificate | None, by: Sequence[str] = (), *, expected_brier: float
) -> NextStep:
    """Return what an action leads to: a calibrator, a number of rows, or another audit.

    A plan is made for the Brier score that these scores have if they are calibrated.
    """
    repair = f"calibrant recalibrate {texts.command}"
    if action == "recalibrate by segment":
        command = f"{repair} {' '.join(f'--by {shell_word(name)}' for name in by)} --model model.json"
        if texts.fit.startswith("cal."):  # a table, which has no columns
            return NextStep(command)
        segments = f"frame[{list(by)!r}]" if texts.fit.startswith("frame[") else "segments"
        return NextStep(command, f"calibrator = cal.SegmentCalibrator().fit({texts.fit}, segments={segments})")
    if action == "recalibrate":
        return NextStep(f"{repair} --model model.json", f"calibrator = cal.AutoCalibrator().fit({texts.fit})")
    if action == "shift":
        fit = f"calibrator = cal.PlattCalibrator().fit({texts.fit})"
        return NextStep(f"{repair} --method platt --model model.json", fit)
    if action == "collect more data":
        # Of rare positives a tolerance of 0.05 would be met by predicting none.
        usual = min(0.05, float(significant(expected_brier / 3.0, digits=1))) if expected_brier else 0.05
        tolerance = usual if certificate is None or certificate.tolerance is None else certificate.tolerance
        accepted = given(tolerance)
        options = {"brier": write_upper(expected_brier, write=partial(significant, digits=2))} if expected_brier else {}
        if certificate is not None and certificate.confidence_level != 0.95:
            options["confidence_level"] = f"{certificate.confidence_level:g}"
        shell = "".join(f" --{name.removesuffix('_level')} {value}" for name, value in options.items())
        python = "".join(f", {name}={value}" for name, value in options.items())
        return NextStep(
            f"calibrant plan --tolerance {accepted}{shell}", f"cal.required_sample_size({accepted}{python})"
        )
    if action == "check the labels":
        # The class that counts as 1 stands last, if it was named.
        command, audit = texts.command.partition(" --pos-label ")[0], texts.audit.partition(", pos_label=")[0]
        return NextStep(f"calibrant audit {command} --pos-label OTHER", f"cal.audit({audit}, pos_label=...)")
    if action == "check the scores":
        return NextStep(None, "p = model.predict_proba(X)[:, 1]")
    return NextStep()
