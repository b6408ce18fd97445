"""A fitted calibrator as the source of a Python function."""

from __future__ import annotations

import builtins
import keyword

from calibrant.calibrators import SegmentCalibrator
from calibrant.errors import ArgumentError
from calibrant.export.formula import LEAST, MOST, Lines, Logistic, LogOdds, Mixture, Writer
from calibrant.export.layouts import Exported, formula_of, of_all_rows
from calibrant.export.python_segments import with_segments
from calibrant.version import __version__

__all__ = ["to_python"]

_USED = ("bisect", "math")  # by the source itself, which names its constants with a leading underscore


def to_python(calibrator: Exported, *, name: str = "calibrate") -> str:
    """Return the source of a Python module with one function, which needs the standard library only.

    Parameters
    ----------
    calibrator : Calibrator or SegmentCalibrator
        Fitted.
    name : str
        Name of the function.

    Returns
    -------
    str
        The function takes one score, and of a `SegmentCalibrator` also the segments, a dictionary of values by the
        names of their columns; it returns one probability. A score of None stays None; for other values than numbers in
        [0, 1] it raises an error, as `predict` does. Maps made of steps and lines give the same float as `predict`,
        logistic maps agree to about 1e-15.

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
    if isinstance(calibrator, SegmentCalibrator):
        return with_segments(calibrator, _module(of_all_rows(calibrator), "_everyone"), name)
    return _module(calibrator, name)


def _module(calibrator: Exported, name: str) -> str:
    """Return the source of a module with a function of the score."""
    source = _Source()
    result = source.formula(formula_of(calibrator))
    lines = [
        f'"""Calibrated probabilities: {type(calibrator).__name__}, exported by calibrant {__version__}."""',
        "",
        "import bisect",
        "import math",
        "",
        *source.constants,
        "",
        "",
        f"def {name}(score):",
        '    """Return the calibrated probability of a score in [0, 1]; None stays None."""',
        "    if score is None:",
        "        return None",
        "    s = float(score)",
        "    if not 0.0 <= s <= 1.0:",
        '        raise ValueError(f"expected a score between 0 and 1, found {score!r}")',
        *(f"    {line}" for line in source.body),
        f"    return {result}",
    ]
    return "\n".join(lines) + "\n"


class _Source(Writer):
    """Collects constants and statements; every method returns the expression of its result."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.body: list[str] = []

    def lines(self, lines: Lines) -> str:
        if not len(lines.start):
            return repr(float(lines.value[0]))
        start = self.constant("START", lines.start.tolist())
        value = self.constant("VALUE", lines.value.tolist())
        piece = self.variable("piece", f"bisect.bisect_right({start}, s)")
        if not lines.slope.any():
            return f"{value}[{piece}]"
        origin = self.constant("ORIGIN", [0.0, *lines.start.tolist()])
        slope = self.constant("SLOPE", lines.slope.tolist())
        return f"{slope}[{piece}] * (s - {origin}[{piece}]) + {value}[{piece}]"

    def logistic(self, logistic: Logistic) -> str:
        logit = self.variable("logit", self.logit(logistic))
        small = self.variable("small", f"math.exp(-abs({logit}))")
        plain = f"(1.0 if {logit} >= 0.0 else {small}) / (1.0 + {small})"
        return _limited(plain)

    def mixture(self, mixture: Mixture) -> str:
        return _limited(" + ".join([f"{weight!r} * ({self.formula(part)})" for weight, part in mixture.parts]))

    def log_odds(self, logit: LogOdds) -> str:
        terms = []
        for term in logit.terms:
            logarithm = f"math.log(max({'1.0 - s' if term.of_rest else 's'}, {term.least!r}))"
            if term.most is not None:
                logarithm = f"min({logarithm}, {term.most!r})"
            terms.append(f"{term.coefficient!r} * {logarithm}")
        return " + ".join([*terms, repr(logit.constant)])

    def constant(self, name: str, values: list[float]) -> str:
        name = f"_{name}_{len(self.constants)}"
        self.constants.append(f"{name} = ({', '.join(map(repr, values))},)")
        return name

    def variable(self, name: str, expression: str) -> str:
        name = f"{name}_{len(self.body)}"
        self.body.append(f"{name} = {expression}")
        return name


def _limited(expression: str) -> str:
    return f"min(max({expression}, {LEAST!r}), {MOST!r})"
