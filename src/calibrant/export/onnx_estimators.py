"""Classifiers of scikit-learn in ONNX with the very probabilities that they predict, which skl2onnx does not give.

The operators of ONNX for trees add up in single precision, in which a score may fall on the other side of a step of a
calibrator. Here they only say which leaf a row is in, a whole number, and the leaves are looked up and added in double
precision. Discriminants of two classes are here since skl2onnx 1.20 doubles their log odds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.export.onnx_graph import DOUBLE, FLOAT, INT64, ML, Graph


def estimators() -> list[type]:
    """Return the classes of classifiers that are converted here."""
    from sklearn import discriminant_analysis, ensemble, tree

    forests = [ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier]
    boosting = [ensemble.GradientBoostingClassifier, ensemble.HistGradientBoostingClassifier]
    return [discriminant_analysis.LinearDiscriminantAnalysis, tree.DecisionTreeClassifier, *forests, *boosting]


def convert_estimator(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of one of these classifiers to what skl2onnx converts."""
    model = operator.raw_operator
    graph = Graph({operator.inputs[0].full_name: DOUBLE}, prefix=scope.get_unique_operator_name("exact"))
    features = graph.score
    if hasattr(model, "tree_") or hasattr(model, "estimators_"):  # which round them
        features = graph.apply("Cast", features, to=FLOAT)
    features = graph.apply("Cast", features, to=DOUBLE)
    if hasattr(model, "coef_"):
        product = graph.apply("MatMul", features, graph.literal(model.coef_.T))
        proba = _from_log_odds(graph, graph.apply("Add", product, graph.literal(model.intercept_)), len(model.coef_))
    elif hasattr(model, "_loss"):
        proba = _boosted(graph, model, features)
    else:
        trees = [of.tree_ for of in getattr(model, "estimators_", [model])]
        total = _sum_of_leaves(graph, [_nodes(tree) for tree in trees], len(model.classes_), features)
        proba = graph.apply("Div", total, graph.literal(len(trees)))
    finish(graph, operator, container, proba, {(ML, 3)})


def finish(graph: Graph, operator: Any, container: Any, proba: str, versions: set[tuple[str, int]]) -> None:
    """Name the outputs of a classifier, labels and probabilities of shape (n, K), and hand over the graph."""
    from skl2onnx.common.data_types import guess_proto_type

    classes = operator.raw_operator.classes_
    label, probabilities = operator.outputs
    likeliest = graph.apply("ArgMax", proba, axis=1, keepdims=0)
    labels = graph.constant(classes, np.int64 if classes.dtype.kind in "biuf" else np.object_)
    graph.apply("Gather", labels, likeliest, output=label.full_name)
    graph.apply("Cast", proba, output=probabilities.full_name, to=guess_proto_type(probabilities.type))
    _hand_over(graph, container, versions)


def _hand_over(graph: Graph, container: Any, versions: set[tuple[str, int]]) -> None:
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.update(versions | {("", container.target_opset_any_domain(""))})


def convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a `SimpleImputer` of numbers, for which ONNX Runtime has no operator in double precision."""
    from skl2onnx.common._registration import get_converter
    from skl2onnx.common.data_types import DoubleTensorType

    model, names = operator.raw_operator, operator.input_full_names
    numbers = all(isinstance(variable.type, DoubleTensorType) for variable in operator.inputs)
    if not numbers or model.missing_values == model.missing_values or not np.isfinite(model.statistics_).all():
        get_converter("SklearnSimpleImputer")(scope, operator, container)
        return
    graph = Graph(dict.fromkeys(names, DOUBLE), prefix=scope.get_unique_operator_name("imputed"))
    features = graph.apply("Concat", *names, axis=1)
    gap = graph.apply("IsNaN", features)
    graph.apply("Where", gap, graph.literal(model.statistics_), features, output=operator.outputs[0].full_name)
    _hand_over(graph, container, set())


def set_shapes(operator: Any) -> None:
    """Tell skl2onnx what the outputs of a classifier are: labels, and probabilities as exact as its features."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    classes, rows = operator.raw_operator.classes_, operator.inputs[0].get_first_dimension()
    label, probabilities = operator.outputs
    label.type = (Int64TensorType if classes.dtype.kind in "biuf" else StringTensorType)([rows])
    probabilities.type = type(guess_tensor_type(operator.inputs[0].type))([rows, len(classes)])


def _boosted(graph: Graph, model: Any, features: str) -> str:
    """Return the probabilities of trees whose sum is a log odds, or log odds of all classes."""
    if type(model._loss).__name__ not in ("HalfBinomialLoss", "HalfMultinomialLoss"):
        raise ArgumentError("boosting by the log loss", f"loss={model.loss!r}", "fit with loss='log_loss'")
    if hasattr(model, "estimators_"):
        if model.init not in (None, "zero"):
            raise ArgumentError("boosting from a constant", f"init={model.init!r}", "fit without init")
        start = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))
        trees, factor = [_nodes(of.tree_) for of in model.estimators_.ravel()], model.learning_rate
    else:
        start, trees, factor = model._baseline_prediction, [of.nodes for each in model._predictors for of in each], 1.0
        if any(nodes["is_categorical"].any() for nodes in trees):
            raise ArgumentError("splits of numbers", "splits of categories", "encode them, with OneHotEncoder")
    log_odds = _sum_of_leaves(graph, trees, start.size, features)
    log_odds = graph.apply("Add", graph.apply("Mul", graph.literal(factor), log_odds), graph.literal(start.ravel()))
    return _from_log_odds(graph, log_odds, start.size)


def _from_log_odds(graph: Graph, log_odds: str, n_columns: int) -> str:
    """Return probabilities of all classes, given log odds of the second of two, or logits of all."""
    if n_columns > 1:
        return graph.apply("Softmax", log_odds, axis=1)
    positive = graph.apply("Sigmoid", log_odds)
    return graph.apply("Concat", graph.apply("Sub", graph.literal(1.0), positive), positive, axis=1)


def _nodes(tree: Any) -> dict[str, npt.NDArray[Any]]:
    """Return the nodes of a tree under the names that histogram boosting has for them."""
    return {
        "left": tree.children_left,
        "right": tree.children_right,
        "is_leaf": tree.children_left < 0,
        "feature_idx": tree.feature,
        "num_threshold": tree.threshold,
        "missing_go_to_left": tree.missing_go_to_left,
        "value": tree.value[:, 0, :],
    }


def _sum_of_leaves(graph: Graph, trees: list[Any], n_columns: int, features: str) -> str:
    """Return the sum of the leaves that each row is in, of shape (n, n_columns).

    A leaf has a number for every column, or the trees take turns, one for each column.
    """
    from onnx import numpy_helper

    def of_all(name: str, dtype: type) -> npt.NDArray[Any]:
        return np.concatenate([nodes[name] for nodes in trees]).astype(dtype)

    sizes = [len(nodes["left"]) for nodes in trees]
    tree, node = np.repeat(np.arange(len(trees)), sizes), np.concatenate([np.arange(size) for size in sizes])
    leaf = of_all("is_leaf", np.bool_)
    inner = {name: np.where(leaf, 0, of_all(name, np.int64)) for name in ("left", "right", "feature_idx")}
    threshold = np.where(leaf, 0.0, of_all("num_threshold", np.float64))
    tensors = {"nodes_values": threshold, "target_weights": node[leaf].astype(np.float64)}
    leaves = graph.apply(
        "TreeEnsembleRegressor",
        features,
        domain=ML,
        n_targets=len(trees),
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_modes=["LEAF" if is_leaf else "BRANCH_LEQ" for is_leaf in leaf.tolist()],
        nodes_featureids=inner["feature_idx"].tolist(),
        nodes_truenodeids=inner["left"].tolist(),
        nodes_falsenodeids=inner["right"].tolist(),
        nodes_missing_value_tracks_true=of_all("missing_go_to_left", np.int64).tolist(),
        target_treeids=tree[leaf].tolist(),
        target_nodeids=node[leaf].tolist(),
        target_ids=tree[leaf].tolist(),
        **{f"{name}_as_tensor": numpy_helper.from_array(values, name) for name, values in tensors.items()},
    )
    before = graph.constant(np.cumsum([0, *sizes[:-1]]), np.int64)
    at = graph.apply("Add", graph.apply("Cast", leaves, to=INT64), before)
    value = of_all("value", np.float64)
    shape = [-1, value.size // len(value) * len(trees) // n_columns, n_columns]
    numbers = graph.apply("Reshape", graph.apply("Gather", graph.literal(value), at), graph.constant(shape, np.int64))
    return graph.apply("ReduceSum", numbers, graph.constant([1], np.int64), keepdims=0)
