"""`CalibratedClassifier` in ONNX models that skl2onnx makes.

skl2onnx converts the classifier inside, and some of its operators add up in single precision, in which a score may fall
on the other side of a step of a calibrator: steps are then a little wider, by what that rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.classes import LINEAR, RATE, Margins
from calibrant.errors import ArgumentError
from calibrant.export.class_writer import write_classes
from calibrant.export.layouts import formula_of
from calibrant.export.onnx_graph import DOUBLE, Graph
from calibrant.fits.pool import MulticlassAuto

if TYPE_CHECKING:
    from calibrant.calibrators.classifier import CalibratedPair

# Operators that compute in single precision, whatever their inputs are.
_SINGLE = {"LinearClassifier", "Normalizer", "Scaler", "SVMClassifier", "TreeEnsembleClassifier"}
# Operators that ONNX Runtime has in single precision only.
_NOT_DOUBLE = {"Imputer"}
# How much rounding may part scores, as a share of them: as where calibrators are fitted, and in single precision.
_DOUBLE_ROUNDING, _SINGLE_ROUNDING = 1e-12, 1e-6


def converter_of(kind: type) -> Callable[[Any, Any, Any], None]:
    """Return what converts a `CalibratedClassifier`, with the option of skl2onnx for one matrix, as it gives."""
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common._registration import register_converter

    # Options are looked up under the name that a class is registered by.
    name = sklearn_operator_name_map.setdefault(kind, f"Calibrant{kind.__name__}")
    register_converter(name, convert_classifier, overwrite=True, options={"zipmap": [False]})
    return convert_classifier


def convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a `CalibratedClassifier` to what skl2onnx converts."""
    model = operator.raw_operator
    graph = Graph(dict.fromkeys(operator.input_full_names, DOUBLE), prefix=scope.get_unique_operator_name("calibrated"))
    versions: set[tuple[str, int]] = set()
    of_pairs = []
    for pair in model.pairs_:
        response, precise = _response(graph, pair, operator, container, versions)
        graph.rounding = _DOUBLE_ROUNDING if precise else _SINGLE_ROUNDING
        of_pairs.append(_calibrated(graph, pair, response, model.classes_))
    n_pairs = graph.literal(len(of_pairs))
    mean = [graph.apply("Div", graph.sum(values), n_pairs) for values in zip(*of_pairs, strict=True)]
    if len(mean) == 1:
        mean = [graph.apply("Sub", graph.literal(1.0), mean[0]), *mean]
    finish(graph, operator, container, graph.joined(mean), versions)


def _response(
    graph: Graph, pair: CalibratedPair, operator: Any, container: Any, versions: set[tuple[str, int]]
) -> tuple[str, bool]:
    """Add the classifier of a pair, and return what it gives, of shape (n, K) or (n, 1), and if in double precision."""
    from onnx import checker, compose
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    estimator = pair.estimator
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if type(last).__name__ == "LinearDiscriminantAnalysis" and len(last.classes_) == 2:
        given = "a linear discriminant of two, whose log odds skl2onnx doubles"
        raise ArgumentError("a classifier that skl2onnx converts rightly", given, "fit LogisticRegression")
    numbers = FloatTensorType | DoubleTensorType | Int64TensorType

    def converted(*, in_double: bool) -> tuple[Any, str]:
        given = {variable.raw_name: variable.type for variable in operator.inputs}  # as the estimator names columns
        number = DoubleTensorType if in_double else FloatTensorType
        types = {name: number(of.shape) if isinstance(of, numbers) else of for name, of in given.items()}
        nested = convert_sklearn(
            estimator,
            initial_types=list(types.items()),
            target_opset=container.target_opset_all,
            options={id(last): {"raw_scores": True}} if pair.margins is not None else None,
        )
        response = nested.graph.output.pop().name
        for node in [node for node in nested.graph.node if node.op_type == "ZipMap"]:  # makes dictionaries of them
            response = node.input[0]
            nested.graph.node.remove(node)
        if in_double:
            checker.check_model(nested, full_check=True)
        return nested, response

    try:
        nested, response = converted(in_double=True)
        in_double = not _NOT_DOUBLE & {node.op_type for node in nested.graph.node}
    except Exception:  # of whatever kind: skl2onnx has some classifiers in single precision only
        in_double = False
    if not in_double:
        nested, response = converted(in_double=False)
    versions.update((opset.domain, opset.version) for opset in nested.opset_import)
    prefix = f"{graph.prefix}_{len(graph.nodes)}_"
    part = compose.add_prefix(nested, prefix).graph
    for variable, given in zip(operator.inputs, part.input, strict=True):
        graph.apply("Cast", variable.full_name, output=given.name, to=given.type.tensor_type.elem_type)
    graph.nodes += part.node
    graph.constants += part.initializer
    precise = in_double and not _SINGLE & {node.op_type for node in part.node}
    return graph.apply("Cast", prefix + response, to=DOUBLE), precise


def _calibrated(graph: Graph, pair: CalibratedPair, response: str, classes: npt.NDArray[Any]) -> list[str]:
    """Return calibrated probabilities: of the second class alone, or of all."""
    known = list(pair.estimator.classes_)
    columns = [known.index(of) for of in classes]
    if isinstance(pair.calibrator, MulticlassAuto):
        scores = _class_scores(graph, response, pair.margins, columns)
        return write_classes(graph, pair.calibrator, scores)
    if pair.margins is None:
        positive = graph.column(response, columns[1])
        graph.score = graph.least(graph.greatest(positive, 0.0), 1.0)
    else:
        graph.score = graph.curve(_log_odds(graph, _margin(graph, response, columns), pair.margins))
    return [graph.formula(formula_of(pair.calibrator))]


def _margin(graph: Graph, response: str, columns: Sequence[int]) -> str:
    """Return the margin of the second of two classes, where the estimator may have them in another order."""
    margin = graph.column(response, -1)
    return margin if columns[1] else graph.apply("Neg", margin)


def _log_odds(graph: Graph, margin: str, margins: Margins) -> str:
    """Return what `Margins.log_odds` does."""
    value = graph.apply("Div", graph.apply("Sub", margin, graph.literal(margins.centre)), graph.literal(margins.scale))
    size, linear = graph.apply("Abs", value), graph.literal(LINEAR)
    logarithm = graph.apply("Log", graph.apply("Div", graph.apply("Max", size, linear), linear))
    far = graph.apply("Add", linear, graph.apply("Mul", graph.literal(RATE), logarithm))
    far = graph.apply("Mul", graph.apply("Sign", value), far)
    return graph.apply("Where", graph.apply("Greater", size, linear), far, value)


def _class_scores(graph: Graph, response: str, margins: Margins | None, columns: Sequence[int]) -> list[str]:
    """Return scores of all classes that add up to 1, as `class_scores` does."""
    if margins is None:
        values = [graph.greatest(graph.column(response, k), 0.0) for k in columns]
    else:
        if len(columns) == 2:
            half = graph.apply("Mul", _margin(graph, response, columns), graph.literal(0.5))
            of_classes = [graph.apply("Neg", half), half]
        else:
            of_classes = [graph.column(response, k) for k in columns]
        logits = graph.joined([_log_odds(graph, margin, margins) for margin in of_classes])
        softmax = graph.apply("Softmax", logits, axis=1)
        values = [graph.column(softmax, k) for k in range(len(columns))]
    total = graph.sum(values)
    return [graph.apply("Div", value, total) for value in values]


def finish(graph: Graph, operator: Any, container: Any, proba: str, versions: set[tuple[str, int]]) -> None:
    """Name the outputs of a classifier, labels and probabilities of shape (n, K), and hand over the graph."""
    from skl2onnx.common.data_types import guess_proto_type

    classes = operator.raw_operator.classes_
    label, probabilities = operator.outputs
    likeliest = graph.apply("ArgMax", proba, axis=1, keepdims=0)
    labels = graph.constant(classes, np.int64 if classes.dtype.kind in "biuf" else np.object_)
    graph.apply("Gather", labels, likeliest, output=label.full_name)
    graph.apply("Cast", proba, output=probabilities.full_name, to=guess_proto_type(probabilities.type))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.update(versions | {("", container.target_opset_any_domain(""))})


def set_shapes(operator: Any) -> None:
    """Tell skl2onnx what the outputs of a classifier are: labels, and probabilities as exact as its features."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    classes, rows = operator.raw_operator.classes_, operator.inputs[0].get_first_dimension()
    label, probabilities = operator.outputs
    label.type = (Int64TensorType if classes.dtype.kind in "biuf" else StringTensorType)([rows])
    probabilities.type = type(guess_tensor_type(operator.inputs[0].type))([rows, len(classes)])
