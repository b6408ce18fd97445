"""A fitted calibrator as an ONNX model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.errors import need_package
from calibrant.export.formula import LEAST, MOST, Lines, Logistic, LogOdds, Mixture, Writer
from calibrant.export.layouts import formula_of
from calibrant.version import __version__

if TYPE_CHECKING:
    import onnx

__all__ = ["to_onnx"]

_OPSET, _IR_VERSION = 18, 8  # of ONNX 1.13, from 2022
_INT64 = 7  # onnx.TensorProto.INT64


def to_onnx(calibrator: Calibrator, *, as_column: bool = False) -> onnx.ModelProto:
    """Return an ONNX model that maps scores as `predict` does.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    as_column : bool, default=False
        Take scores of shape (n, 1) instead of (n,); ONNX wants the number of dimensions to be fixed.

    Returns
    -------
    onnx.ModelProto
        Input "score" and output "probability", of shape (n,), are float64. NaN, and numbers outside [0, 1], for which
        `predict` raises an error, become NaN.

    Raises
    ------
    ArgumentError
        If the package onnx is missing, or the calibrator cannot be exported.

    Notes
    -----
    Only operators of the default set, in version 18, and no training code. The piece of a map made of steps or lines is
    found by halving, as in `predict`, in memory proportional to the rows. Run by ONNX Runtime, such maps give the same
    float as `predict`; logistic maps agree to about 1e-14.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import to_onnx
    >>> model = to_onnx(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]))
    >>> model.graph.output[0].name
    'probability'
    """
    need_package("onnx", "calibrant[onnx]")
    import onnx

    graph = _Graph(as_column=as_column)
    score = graph.score
    mapped = graph.formula(formula_of(calibrator))
    inside = graph.add(
        "And",
        graph.add("GreaterOrEqual", score, graph.real(0.0)),
        graph.add("LessOrEqual", score, graph.real(1.0)),
    )
    graph.nodes.append(onnx.helper.make_node("Where", [inside, mapped, graph.real(math.nan)], ["probability"]))
    double = onnx.TensorProto.DOUBLE
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "calibrator",
            [onnx.helper.make_tensor_value_info("score", double, ["n", 1] if as_column else ["n"])],
            [onnx.helper.make_tensor_value_info("probability", double, ["n"])],
            graph.constants,
        ),
        producer_name="calibrant",
        producer_version=__version__,
        doc_string=f"Calibrated probabilities: {type(calibrator).__name__}",
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


class _Graph(Writer):
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, *, as_column: bool) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.score = self.add("Reshape", "score", self.whole([-1])) if as_column else "score"

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        import onnx

        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, dtype: type) -> str:
        import onnx

        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def real(self, values: Any) -> str:
        return self.constant(values, np.float64)

    def whole(self, values: Any) -> str:
        return self.constant(values, np.int64)

    def mixture(self, mixture: Mixture) -> str:
        parts = [self.add("Mul", self.real(weight), self.formula(part)) for weight, part in mixture.parts]
        return self.limited(self.sum(parts))

    def limited(self, value: str) -> str:
        return self.add("Clip", value, self.real(LEAST), self.real(MOST))

    def sum(self, parts: list[str]) -> str:
        total = parts[0]
        for part in parts[1:]:
            total = self.add("Add", total, part)
        return total

    def lines(self, lines: Lines) -> str:
        piece = self.piece(lines)
        value = self.add("Gather", self.real(lines.value), piece)
        if not lines.slope.any():
            return value
        slope = self.add("Gather", self.real(lines.slope), piece)
        origin = self.add("Gather", self.real(np.append(0.0, lines.start)), piece)
        return self.add("Add", self.add("Mul", slope, self.add("Sub", self.score, origin)), value)

    def piece(self, lines: Lines) -> str:
        """Count the starts that are not above each score, from the highest binary digit of the count to the lowest."""
        count = self.add("Cast", self.add("Less", self.score, self.real(-math.inf)), to=_INT64)  # zeros
        if not len(lines.start):
            return count
        digits = len(lines.start).bit_length()
        never = np.full(2**digits - 1 - len(lines.start), np.nan)  # which no number is at or above
        start = self.real(np.append(lines.start, never))
        for digit in reversed(range(digits)):
            next_start = self.add("Gather", start, self.add("Add", count, self.whole(2**digit - 1)))
            passed = self.add("Cast", self.add("GreaterOrEqual", self.score, next_start), to=_INT64)
            count = self.add("Add", count, self.add("Mul", passed, self.whole(2**digit)))
        return count

    def logistic(self, logistic: Logistic) -> str:
        logit = self.logit(logistic)
        small = self.add("Exp", self.add("Neg", self.add("Abs", logit)))
        one = self.real(1.0)
        above = self.add("Where", self.add("GreaterOrEqual", logit, self.real(0.0)), one, small)
        return self.limited(self.add("Div", above, self.add("Add", one, small)))

    def log_odds(self, logit: LogOdds) -> str:
        parts = []
        for term in logit.terms:
            argument = self.add("Sub", self.real(1.0), self.score) if term.of_rest else self.score
            logarithm = self.add("Log", self.add("Max", argument, self.real(term.least)))
            if term.most is not None:
                logarithm = self.add("Min", logarithm, self.real(term.most))
            parts.append(self.add("Mul", self.real(term.coefficient), logarithm))
        if not parts:
            parts = [self.add("Mul", self.score, self.real(0.0))]
        return self.add("Add", self.sum(parts), self.real(logit.constant))
