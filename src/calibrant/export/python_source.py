"""A fitted calibrator as the source of a Python function."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Sequence

from calibrant.calibrators.segment.repair import OffsetTable
from calibrant.errors import ArgumentError
from calibrant.export.class_writer import write_classes
from calibrant.export.formula import Lines, columns_of
from calibrant.export.layouts import check_fitted, formula_of
from calibrant.export.writer import ARITHMETIC, TextWriter
from calibrant.fits.pool import MulticlassAuto
from calibrant.fits.score_map import FittedMap
from calibrant.segments.columns import SegmentColumn
from calibrant.table.class_checks import tolerance
from calibrant.table.pooling import FloatArray
from calibrant.version import __version__

_USED = ("bisect", "math")  # by the source itself, which names its constants with a leading underscore
_SEGMENT = '''

def _alike(value, known):
    """Return what a value may be as one of the kind of a known level: '1' and 1 are the same."""
    if isinstance(value, str) and isinstance(known, bool):
        truth = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
        return [truth[value.lower()]] if value.lower() in truth else []
    if isinstance(value, str) and not isinstance(known, str):
        try:
            return [float(value)] if "_" not in value else []
        except ValueError:
            return []
    if isinstance(known, str) and not isinstance(value, str):
        text = str(value)
        return [text, text.removesuffix(".0") if text.endswith(".0") else f"{text}.0"]
    return [value]


def _segment(value, levels, cuts, other, missing):
    """Return the number of the segment of a value, of levels that are not listed, or of a missing value; -1 is none."""
    if value is None or value != value:
        return missing
    if cuts:
        return bisect.bisect_left(cuts, float(value) if isinstance(value, str) else value)
    return next((levels[of] for of in _alike(value, next(iter(levels), None)) if of in levels), other)'''


def to_python(calibrator: FittedMap, *, name: str = "calibrate") -> str:
    """Return the source of a Python module with one function, which needs the standard library only.

    Parameters
    ----------
    calibrator : Calibrator, SegmentCalibrator, MulticlassAutoCalibrator or MeanCalibrator
        Fitted.
    name : str
        Name of the function.

    Returns
    -------
    str
        The function takes one score, and of a `SegmentCalibrator` also the segments, a dictionary of values by the
        names of their columns; it returns one probability. Of a `MulticlassAutoCalibrator` it takes the scores of all
        ``CLASSES`` of the module, and returns a list. Of predicted means it takes and returns one. None stays None; for
        other values than `predict` takes, such as scores outside [0, 1], it raises an error. Maps made of steps and
        lines give the same float as `predict`, logistic maps agree to about 1e-15.

    Raises
    ------
    ArgumentError
        If the calibrator cannot be exported or the name is not one.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import to_python
    >>> module = {}
    >>> exec(to_python(IsotonicCalibrator(log_safe=False).fit([0.2, 0.6], [0, 1])), module)
    >>> module["calibrate"](0.4), module["calibrate"](None)
    (0.5, None)
    """
    if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name) or name[0] == "_" or name in _USED:
        raise ArgumentError("a name that a Python function can have", repr(name), "use letters, digits and underscores")
    source = _Source()
    if isinstance(calibrator, MulticlassAuto):
        function = _function_of_classes(name, calibrator, source)
    else:
        formula = formula_of(calibrator)
        result = source.formula(formula)
        shifted = bool(columns_of(formula))
        takes, also = ("score, segments", "; segments are values by name") if shifted else ("score", "")
        given, output, _ = calibrator.quantities
        least, most, words = calibrator.domain
        function = [
            f"def {name}({takes}):",
            f'    """Return the calibrated {output} of a {given} {words}{also}. None stays None."""',
            "    if score is None:",
            "        return None",
            "    s = float(score)",
            f"    if not {least!r} <= s <= {most!r}:",
            f'        raise ValueError(f"expected a {given} {words}, found {{score!r}}")',
            *(f"    {line}" for line in source.body),
            f"    return {result}",
        ]
    lines = [
        f'"""Calibrated {calibrator.quantities[2]}: {calibrator._calibrator}, exported by calibrant {__version__}."""',
        "",
        "import bisect",
        "import math",
        "",
        *([f"CLASSES = {calibrator.classes_!r}"] if isinstance(calibrator, MulticlassAuto) else []),
        *source.constants,
        "",
        "",
        *function,
    ]
    return "\n".join(lines) + "\n"


def _function_of_classes(name: str, fitted: MulticlassAuto, source: _Source) -> list[str]:
    check_fitted(fitted)
    n_classes = len(fitted.classes_)
    result = write_classes(source, fitted, [f"s[{k}]" for k in range(n_classes)])
    expected = f"{n_classes} probabilities that add up to 1"
    return [
        f"def {name}(scores):",
        f'    """Return calibrated probabilities of {n_classes} CLASSES, from scores in the same order."""',
        "    s = [float(score) for score in scores]",
        "    total = math.fsum(s)",
        f"    if len(s) != {n_classes} or not min(s) >= 0.0 or not abs(total - 1.0) <= {tolerance(n_classes)!r}:",
        f'        raise ValueError(f"expected {expected}, found {{scores!r}}")',
        "    s = [score / total for score in s]",
        *(f"    {line}" for line in source.body),
        f"    return [{', '.join(result)}]",
    ]


class _Source(TextWriter):
    """Collects constants and statements; every method returns the expression of its result."""

    score = "s"
    operators = ARITHMETIC | {"And": "{} and {}", "Where": "({1} if {0} else {2})"}
    operators |= {"Log": "math.log({})", "Exp": "math.exp({})", "Min": "min({}, {})", "Max": "max({}, {})"}

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.body: list[str] = []
        self._codes: dict[str, str] = {}  # name of a column -> variable that holds the number of the segment
        self._named: dict[str, str] = {}  # values of a constant -> its name

    def literal(self, value: float) -> str:
        return repr(value)

    def lines(self, lines: Lines) -> str:
        if not len(lines.start):
            return repr(float(lines.value[0]))
        start = self.constant("START", lines.start.tolist())
        value = self.constant("VALUE", lines.value.tolist())
        piece = self.named("piece", f"bisect.bisect_right({start}, {self.score})")
        if not lines.slope.any():
            return f"{value}[{piece}]"
        origin = self.constant("ORIGIN", [0.0, *lines.start.tolist()])
        slope = self.constant("SLOPE", lines.slope.tolist())
        return f"{slope}[{piece}] * ({self.score} - {origin}[{piece}]) + {value}[{piece}]"

    def curve(self, logit: str) -> str:
        logit = self.named("logit", logit)
        small = self.named("small", f"math.exp(-abs({logit}))")
        return self.inside(f"(1.0 if {logit} >= 0.0 else {small}) / (1.0 + {small})")

    def any_of(self, column: SegmentColumn, segments: Sequence[int]) -> str:
        return f"{self.code(column)} in {set(segments) or ()}"

    def known(self, column: SegmentColumn) -> str:
        return f"{self.code(column)} >= 0"

    def listed(self, columns: Sequence[SegmentColumn], table: OffsetTable, values: FloatArray) -> str:
        added = self.constant("ADDED", dict(zip(map(tuple, table.codes.tolist()), values.tolist(), strict=True)))
        return f"{added}.get(({', '.join(map(self.code, columns))},), 0.0)"

    def code(self, column: SegmentColumn) -> str:
        """Return the variable that holds the number of a row's segment."""
        if column.name not in self._codes:
            if not self._codes:
                self.constants.append(_SEGMENT)
            levels = self.constant("LEVELS", {level: number for number, level in enumerate(column.levels)})
            other, missing = (len(column.levels) if column.pooled else -1), (len(column) - 1 if column.missing else -1)
            number = f"_segment(segments[{column.name!r}], {levels}, {column.cuts!r}, {other}, {missing})"
            self._codes[column.name] = self.named("segment", number)
        return self._codes[column.name]

    def constant(self, name: str, values: object) -> str:
        written = repr(values)
        if written not in self._named:  # a map of all classes would repeat its own
            self._named[written] = f"_{name}_{len(self.constants)}"
            self.constants.append(f"{self._named[written]} = {written}")
        return self._named[written]

    def named(self, name: str, value: str) -> str:
        name = f"{name}_{len(self.body)}"
        self.body.append(f"{name} = {value}")
        return name
