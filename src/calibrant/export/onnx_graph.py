"""A fitted calibrator as an ONNX model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.segment.repair import OffsetTable
from calibrant.errors import ArgumentError, need_package
from calibrant.export.class_writer import write_classes
from calibrant.export.formula import Lines, columns_of
from calibrant.export.layouts import check_fitted, formula_of
from calibrant.export.writer import Writer, check_doubles, holds_text
from calibrant.fits.pool import MulticlassAuto
from calibrant.fits.score_map import FittedMap
from calibrant.segments.columns import SegmentColumn
from calibrant.table.class_checks import tolerance
from calibrant.table.pooling import FloatArray, score_order
from calibrant.version import __version__

if TYPE_CHECKING:
    import onnx

_OPSET, _IR_VERSION = 18, 8  # of ONNX 1.13, from 2022
ML, _ML_VERSION = "ai.onnx.ml", 3  # the operators beside the default ones, of the same release
FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11  # of onnx.TensorProto


def to_onnx(calibrator: FittedMap, *, as_column: bool = False) -> onnx.ModelProto:
    """Return an ONNX model that maps scores as `predict` does.

    Parameters
    ----------
    calibrator : Calibrator, SegmentCalibrator, MulticlassAutoCalibrator or MeanCalibrator
        Fitted.
    as_column : bool, default=False
        Take inputs of shape (n, 1) instead of (n,); ONNX wants the number of dimensions to be fixed.

    Returns
    -------
    onnx.ModelProto
        Input "score" and output "probability", of shape (n,), are float64. NaN, and numbers outside [0, 1], for which
        `predict` raises an error, become NaN. The columns of a `SegmentCalibrator` are inputs by their names: texts, of
        which the empty one is a missing value; numbers and booleans as float64, of which NaN is. Of several classes the
        input is "scores" and the output "probabilities", of shape (n, K); rows become NaN if they are no probabilities
        that add up to 1 as in `ClassScores`. Of predicted means they are "prediction" and "mean".

    Raises
    ------
    ArgumentError
        If the package onnx is missing, or the calibrator cannot be exported; also if a column of segments is called
        score or probability, has an empty text among its levels, or numbers that float64 does not hold.

    Notes
    -----
    Only operators of the default set, in version 18, and for texts `LabelEncoder`; no training code. The piece of a map
    made of steps or lines is found by halving, as in `predict`, in memory proportional to the rows. Run by ONNX
    Runtime, such maps give the same float as `predict`; logistic maps, and repairs by segment, agree to about 1e-14.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import to_onnx
    >>> model = to_onnx(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]))
    >>> model.graph.output[0].name
    'probability'
    """
    need_package("onnx", "calibrant[onnx]")
    from onnx import checker, helper

    if isinstance(calibrator, MulticlassAuto):
        graph, inputs, output = _graph_of_classes(calibrator)
    else:
        graph, inputs, output = _graph_of_score(calibrator, as_column)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "calibrator", inputs, [output], graph.constants),
        producer_name="calibrant",
        producer_version=__version__,
        doc_string=f"Calibrated {calibrator.quantities[2]}: {calibrator._calibrator}",
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(ML, _ML_VERSION)],
        ir_version=_IR_VERSION,
    )
    checker.check_model(model, full_check=True)
    return model


def _graph_of_score(calibrator: FittedMap, as_column: bool) -> tuple[Graph, list[Any], Any]:
    """Return a graph with what goes in and what comes out, for a map of one score."""
    from onnx import helper

    formula = formula_of(calibrator)
    columns = columns_of(formula)
    given, output, _ = calibrator.quantities
    kinds = {given: DOUBLE, **{column.name: STRING if holds_text(column) else DOUBLE for column in columns}}
    if len(kinds) <= len(columns) or "probability" in kinds:
        expected = "columns of segments with other names than score and probability, which the model uses itself"
        raise ArgumentError(expected, ", ".join(kinds), "rename the column, and fit again")
    graph = Graph(kinds, as_column=as_column)
    mapped = graph.formula(formula)
    limits = (("GreaterOrEqual", calibrator.domain.least), ("LessOrEqual", calibrator.domain.most))
    inside = graph.apply("And", *(graph.apply(test, graph.score, graph.literal(limit)) for test, limit in limits))
    graph.apply("Where", inside, mapped, graph.literal(math.nan), output=output)
    shape: list[str | int] = ["n", 1] if as_column else ["n"]
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name, kind in kinds.items()]
    return graph, inputs, helper.make_tensor_value_info(output, DOUBLE, ["n"])


def _graph_of_classes(fitted: MulticlassAuto) -> tuple[Graph, list[Any], Any]:
    """Return the same for a map of the scores of several classes, columns of one matrix."""
    from onnx import helper

    check_fitted(fitted)
    n_classes = len(fitted.classes_)
    graph = Graph({"scores": DOUBLE})
    columns = [graph.column("scores", k) for k in range(n_classes)]
    total, least = graph.sum(columns), reduce(partial(graph.apply, "Min"), columns)
    off = graph.apply("Abs", graph.apply("Sub", total, graph.literal(1.0)))
    limits = (("GreaterOrEqual", least, 0.0), ("LessOrEqual", off, tolerance(n_classes)))
    inside = graph.apply("And", *(graph.apply(test, value, graph.literal(limit)) for test, value, limit in limits))
    mapped = write_classes(graph, fitted, [graph.apply("Div", column, total) for column in columns])
    checked = [graph.apply("Where", inside, value, graph.literal(math.nan)) for value in mapped]
    graph.joined(checked, output="probabilities")
    names = ("scores", "probabilities")
    given, result = (helper.make_tensor_value_info(name, DOUBLE, ["n", n_classes]) for name in names)
    return graph, [given], result


class Graph(Writer):
    """Collects nodes and constants; every method returns the name of its result."""

    rounding = 0.0  # how far from the first score of a piece one may be that counts as it, as a share of it

    def __init__(self, inputs: dict[str, int], *, as_column: bool = False, prefix: str = "") -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.prefix = prefix  # of all names, where the graph is a part of another
        self._inputs = inputs
        self._as_column = as_column
        self._codes: dict[str, str] = {}  # name of a column -> the numbers of segments
        self.score = self.input(next(iter(inputs)))  # of several classes one after the other

    def input(self, name: str) -> str:
        """Return an input of one dimension."""
        return self.apply("Reshape", name, self.constant([-1], np.int64)) if self._as_column else name

    def apply(self, operator: str, *operands: str, output: str = "", **attributes: Any) -> str:
        """Add an operation, whose result has the name `output` if one is given."""
        import onnx

        name = output or self.unused(f"{self.prefix}{operator}_{len(self.nodes)}")
        # Old versions of onnxruntime name what they join after the nodes.
        self.nodes.append(onnx.helper.make_node(operator, list(operands), [name], name=name, **attributes))
        return name

    def constant(self, values: Any, dtype: type) -> str:
        """Add a constant."""
        import onnx

        name = self.unused(f"{self.prefix}constant_{len(self.constants)}")
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name

    def unused(self, name: str) -> str:
        """Return a name that no input has."""
        return self.unused(f"{name}_") if name in self._inputs else name

    def literal(self, values: npt.ArrayLike) -> str:
        """Add numbers."""
        return self.constant(values, np.float64)

    def column(self, matrix: str, k: int) -> str:
        """Return a column of a matrix."""
        return self.apply("Gather", matrix, self.constant(k, np.int64), axis=1)

    def joined(self, columns: Sequence[str], output: str = "") -> str:
        """Return the matrix of some columns."""
        axis = self.constant([1], np.int64)
        return self.apply("Concat", *(self.apply("Unsqueeze", each, axis) for each in columns), output=output, axis=1)

    def lines(self, lines: Lines) -> str:
        """Return level or straight pieces."""
        away = -self.rounding if lines.after is None else np.where(lines.after, self.rounding, -self.rounding)
        piece = self.count(lines.start * (1.0 + away), self.score)
        value = self.apply("Gather", self.literal(lines.value), piece)
        if not lines.slope.any():
            return value
        slope = self.apply("Gather", self.literal(lines.slope), piece)
        origin = self.apply("Gather", self.literal(np.append(0.0, lines.start)), piece)
        return self.sum([self.apply("Mul", slope, self.apply("Sub", self.score, origin)), value])

    def count(self, start: FloatArray, value: str) -> str:
        """Count the starts that are not above each value, from the highest binary digit of the count to the lowest."""
        count = self.apply("Cast", self.apply("Less", value, self.literal(-math.inf)), to=INT64)  # zeros
        if not len(start):
            return count
        digits = len(start).bit_length()
        never = np.full(2**digits - 1 - len(start), np.nan)  # which no number is at or above
        padded = self.literal(np.append(start, never))
        for digit in reversed(range(digits)):
            next_start = self.apply("Gather", padded, self.apply("Add", count, self.constant(2**digit - 1, np.int64)))
            passed = self.apply("Cast", self.apply("GreaterOrEqual", value, next_start), to=INT64)
            count = self.apply("Add", count, self.apply("Mul", passed, self.constant(2**digit, np.int64)))
        return count

    def look_up(self, keys: FloatArray, values: Any, other: float, value: str, dtype: type) -> str:
        """Return what belongs to each value among increasing keys, or `other` where it is none of them."""
        index = self.count(keys, value)
        is_key = self.apply("Equal", self.apply("Gather", self.literal(np.append(-np.inf, keys)), index), value)
        entry = self.apply("Gather", self.constant(np.append(other, values), dtype), index)
        return self.apply("Where", is_key, entry, self.constant(other, dtype))

    def curve(self, logit: str) -> str:
        """Return ``1 / (1 + exp(-logit))``, kept between `LEAST` and `MOST`."""
        small = self.apply("Exp", self.apply("Neg", self.apply("Abs", logit)))
        one = self.literal(1.0)
        above = self.apply("Where", self.apply("GreaterOrEqual", logit, self.literal(0.0)), one, small)
        return self.inside(self.apply("Div", above, self.sum([one, small])))

    def any_of(self, column: SegmentColumn, segments: Sequence[int]) -> str:
        """Return whether a row is in one of some segments of a column."""
        among = np.isin(np.arange(len(column) + 1), segments)  # the last, at -1, is no segment
        return self.apply("Gather", self.constant(among, np.bool_), self.code(column))

    def listed(self, columns: Sequence[SegmentColumn], table: OffsetTable, values: FloatArray) -> str:
        """Return the value of a row's segments in a table of one column or two; 0 for those that it has not."""
        first, *second = (self.code(column) for column in columns)
        keys = table.codes[:, 0]
        if second:  # one more than there are segments, so that -1 is in no key
            width = len(columns[1]) + 1
            first = self.apply("Add", self.apply("Mul", first, self.constant(width, np.int64)), second[0])
            keys = keys * width + table.codes[:, 1]
        return self.look_up(keys.astype(np.float64), values, 0.0, self.apply("Cast", first, to=DOUBLE), np.float64)

    def code(self, column: SegmentColumn) -> str:
        """Return the numbers of the segments of each row, -1 for none."""
        if column.name not in self._codes:
            self._codes[column.name] = self.number_segments(column, self.input(column.name))
        return self._codes[column.name]

    def number_segments(self, column: SegmentColumn, value: str) -> str:
        """Return the numbers of the segments of each row, of which `code` keeps those of a column."""
        other, missing = (len(column.levels) if column.pooled else -1), (len(column) - 1 if column.missing else -1)
        if holds_text(column):
            if "" in column.levels:
                raise ArgumentError(
                    f"texts that are not empty in column {column.name}",
                    "an empty one, which ONNX needs for what is missing",
                    "fit with another text",
                )
            codes: dict[str, Any] = {
                "keys_strings": [*column.levels, ""],
                "values_int64s": [*range(len(column.levels)), missing],
            }
            return self.apply("LabelEncoder", value, domain=ML, default_int64=other, **codes)
        check_doubles(column, "ONNX")
        if column.cuts:
            number = self.count(np.nextafter(np.array(column.cuts, dtype=np.float64), np.inf), value)
        else:
            numbers = np.array(column.levels, dtype=np.float64)
            order = score_order(numbers)
            number = self.look_up(numbers[order], order, other, value, np.int64)
        return self.apply("Where", self.apply("IsNaN", value), self.constant(missing, np.int64), number)
