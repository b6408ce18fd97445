"""Maps of several classes, written with the operations that languages have for one score."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.export.layouts import formula_of_fit
from calibrant.export.writer import Writer
from calibrant.fits.class_maps import LEAST_SHARE, MOST_LOGIT, TAIL_CLIP, ClassMap, OneVsRest, Shared, Softmax
from calibrant.fits.pool import FLOOR, MulticlassAuto
from calibrant.fits.score_map import ScoreMap


def write_classes(writer: Writer, fitted: MulticlassAuto, scores: Sequence[str]) -> list[str]:
    """Write the probabilities of all classes, given the expressions of their scores, which add up to 1."""
    if fitted.decision_ == "left alone":
        return list(scores)
    pooled = [writer.literal(0.0)] * len(scores)
    for weight, of in zip(fitted.weights_.tolist(), fitted.maps_, strict=True):
        terms = [writer.apply("Mul", writer.literal(weight), value) for value in _mapped(writer, of, scores)]
        pooled = [writer.apply("Add", value, term) for value, term in zip(pooled, terms, strict=True)]
    return _shares(writer, [writer.greatest(value, FLOOR) for value in pooled])


def _mapped(writer: Writer, of: ClassMap, scores: Sequence[str]) -> list[str]:
    values = list(scores)
    match of:
        case Softmax():
            return _shares(writer, _exponentials(writer, of, scores))
        case Shared():
            values = [_of_score(writer, of.map_, score) for score in scores]
        case OneVsRest():
            values = _mapped(writer, of.first_, scores)
            for k, of_class in zip(of.present_, of.maps_, strict=True):
                values[k] = _of_score(writer, of_class, values[k])
        case _:
            return values
    return _shares(writer, [writer.greatest(value, LEAST_SHARE) for value in values])


def _of_score(writer: Writer, score_map: ScoreMap, score: str) -> str:
    writer.score = score
    return writer.formula(formula_of_fit(score_map))


def _shares(writer: Writer, values: Sequence[str]) -> list[str]:
    values = [writer.named("value", value) for value in values]
    total = writer.named("total", writer.sum(values))
    return [writer.named("share", writer.apply("Div", value, total)) for value in values]


def _exponentials(writer: Writer, of: Softmax, scores: Sequence[str]) -> list[str]:
    logs = [writer.named("log", writer.apply("Log", writer.greatest(score, of.floor_))) for score in scores]
    sum_of_logs = writer.group(writer.sum(logs))
    mean = writer.named("mean", writer.apply("Mul", writer.literal(1.0 / len(logs)), sum_of_logs))
    z = [writer.named("z", writer.apply("Sub", log, mean)) for log in logs]
    cross = of.cross_.reshape(-1, len(z)).tolist() or [[]] * len(z)
    exponentials = []
    for k, (slope, bias) in enumerate(zip(of.slope_.tolist(), of.bias_.tolist(), strict=True)):
        terms = [writer.apply("Mul", writer.literal(slope), z[k]), writer.literal(bias)]
        if of.tail_:
            rest = writer.greatest(writer.apply("Sub", writer.literal(1.0), scores[k]), TAIL_CLIP)
            terms.append(writer.apply("Mul", writer.literal(-of.tail_), writer.apply("Log", rest)))
        terms += [writer.apply("Mul", writer.literal(factor), z[j]) for j, factor in enumerate(cross[k]) if factor]
        logit = writer.least(writer.greatest(writer.sum(terms), -MOST_LOGIT), MOST_LOGIT)
        exponentials.append(writer.apply("Exp", logit))
    return exponentials
