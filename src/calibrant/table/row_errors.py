"""What errors say about rows that cannot be used, and what scores outside of 0 and 1 seem to be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from reprlib import Repr
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant.errors import COLUMN, FILES, ROWS, DataError
from calibrant.table.missing import NOT_KNOWN, is_code, is_missing, words_for_missing
from calibrant.table.parameters import is_number
from calibrant.table.pooling import IndexArray

# Scores this far outside of 0 and 1 are what rounding leaves, as of 1 less the sum of others in single precision.
OFF_BY_ROUNDING = 1e-6
_HUGE = 1e10  # from here on a number that stands alone is what formats fill gaps with
_MOST_RATING, _LEAST_PERCENT = 10.0, 2.0

_READ = f"read them so: `query=SELECT * REPLACE ({{}} AS {COLUMN}) FROM {ROWS}`"
_ROUNDED = (
    "these are off by rounding alone: take 0 for those below 0, 1 for those above 1; pass `numpy.clip(scores, 0, 1)`; "
    + _READ.format(f"least(greatest({COLUMN}, 0), 1)")
)
_LOGIT = (
    "these look like logits or margins, not probabilities: pass 1 / (1 + exp(-score)) if they are log-odds, "
    "or calibrate them first"
)
_PERCENT = f"divide them by 100; {_READ.format(f'{COLUMN} / 100')}"
_TWO_SCALES = (
    "some scores are between 0 and 1, others at least {above:g}, as if two scales were in one column: find out which "
    "rows have which, and divide by 100 those that are percentages"
)
_RATINGS = (
    "these look like ratings or classes from {low:g} to {high:g}, not probabilities: divide them by {high:g}, and fit "
    "a calibrator such as AutoCalibrator to the quotients first"
)
_CODE = (
    "{code:g} seems to stand for a missing score: drop those rows; or make it NaN, and leave it out by "
    f"`missing='drop'`; {_READ.format(f'nullif({COLUMN}, {{code!r}})')} and `missing='drop'`"
)
_RANGE = "pass the predicted probability of the positive class"


class ScoreRange(NamedTuple):
    """What is known of finite scores: how many there are of some kinds, and where they lie.

    Attributes
    ----------
    n, inside, between, whole : int
        All of them; those from 0 to 1, but for rounding; those above 0 and below 1; and whole numbers.
    low, below, above, high : float
        The least, the largest below 0, the least above 1, and the largest; the two in the middle but for rounding, and
        anything where there are none.
    """

    n: int
    inside: int
    between: int
    whole: int
    low: float
    below: float
    above: float
    high: float

    @classmethod
    def of(cls, score: npt.NDArray[Any]) -> Self:
        """Look at finite scores in memory."""
        below, above = score[score < -OFF_BY_ROUNDING], score[score > 1.0 + OFF_BY_ROUNDING]
        between, whole = (score > 0.0) & (score < 1.0), score == np.floor(score)
        inside = len(score) - len(below) - len(above)
        ends = (score.min(), below.max(initial=-math.inf), above.min(initial=math.inf), score.max())
        return cls(len(score), inside, int(between.sum()), int(whole.sum()), *map(float, ends))

    def remedy(self) -> str:
        """Return what to do about the scores that are no probabilities."""
        low, high = bool(self.low < -OFF_BY_ROUNDING), bool(self.high > 1.0 + OFF_BY_ROUNDING)
        ends = [float(end) for end in [self.low, self.below] * low + [self.above, self.high] * high]
        most = 2 * self.inside > self.n
        if not ends:
            return _ROUNDED
        if most and all(is_code(end) or abs(end) > _HUGE for end in ends):
            return _CODE.format(code=ends[0])
        if low:
            return _RANGE if most else _LOGIT
        if self.above > _MOST_RATING and self.between > self.n / 10:
            return _TWO_SCALES.format(above=self.above)
        if not _LEAST_PERCENT <= self.high <= 100.0:
            return _RANGE
        if self.high > _MOST_RATING:
            return f"these look like percentages: {_PERCENT}"
        if self.whole == self.n:
            return _RATINGS.format(low=self.low, high=self.high)
        return f"{_RANGE}; if these are percentages, {_PERCENT}"


# One rule wherever there are more than two classes.
_ONE_AT_A_TIME = "assess one class at a time, against the rest"
ONE_CLASS = f"{_ONE_AT_A_TIME}: name it as `pos_label`, and take its probability as the score"
_ALL_CLASSES = "or audit the probabilities of all classes together"
_MEANS = (
    "`calibrant.audit` with `kind='amount'` judges predicted means of {}, and `calibrant.AutoMeanCalibrator` repairs "
    "them"
)
_DROP = "drop those rows"
REPAIR = "drop or repair these rows"
MISSING = f"{REPAIR}; or leave them out, counted, with `missing='drop'`"

_PERCENT_SIGN = (
    f"write 0.87, not 87%; read them so, and what is no number as missing: `query=SELECT * REPLACE (TRY_CAST(trim("
    f"{COLUMN}::VARCHAR, ' \"%') AS DOUBLE) / if(contains({COLUMN}::VARCHAR, '%'), 100, 1) AS {COLUMN}) FROM {ROWS}`"
)
_DECIMAL_COMMA = (
    "write a point, not a comma, before the decimals; read the file with `query=SELECT * FROM read_csv("
    f"{FILES}, decimal_separator=',')`, and encoding='latin-1' if it is so"
)
_NAMED = 5  # label values that a message names
OTHERS = _NAMED + 1  # that are looked at: one more tells that there are others
_LONGEST = 60  # characters of a value that are shown
_CLASSES = 20  # whole numbers below it are taken for classes


class NoRowsError(DataError):
    """There are no rows at all, which is a fault to most that read some."""


def describe_no_rows(place: str = "") -> NoRowsError:
    """Phrase the error for data without rows; `place` names the source."""
    no_rows = f"no rows in {place}" if place else "no rows"
    return NoRowsError("at least one row", no_rows, "check the filter or the file that should have produced them")


def describe_all_left_out(account: str, place: str = "") -> DataError:
    """Phrase the error for rows of which each lacks a value."""
    left_out = f"every row left out{f' of {place}' if place else ''} ({account})"
    return DataError("a row with all values", left_out, "check the names of the columns")


def all_of(errors: Sequence[DataError]) -> DataError:
    """Return one error about one or more faults; several are numbered, and each advice is given once."""
    faults = tuple(fault for error in errors for fault in error.faults or (error,))
    if len(faults) == 1:
        return faults[0]
    expected, actual, remedies = zip(*(fault.args for fault in faults), strict=True)
    listed = [", ".join(f"({i}) {part}" for i, part in enumerate(parts, 1)) for parts in (expected, actual)]
    error = DataError(listed[0], listed[1], "; ".join(dict.fromkeys(remedies)))
    error.faults = faults
    return error


def in_column(error: DataError, name: str) -> DataError:
    """Return an error about an array with the name of the column that it was."""

    def located(text: str) -> str:
        with_row, rows = re.subn(r"\brow \d+", lambda row: f"{row[0]} of column {name}", text, count=1)
        return with_row if rows else f"{text} in column {name}"

    return _reworded(error, located)


def renumbered(error: DataError, rows: Sequence[int] | IndexArray) -> DataError:
    """Return an error about some of the rows, of which `rows` has the numbers, with these in place of their places."""
    return _reworded(error, lambda text: re.sub(r"(?<=\brow )\d+", lambda row: str(rows[int(row[0])]), text))


def _reworded(error: DataError, change: Callable[[str], str]) -> DataError:
    """Change what was found of every fault."""
    return all_of([fault.but(found=change(fault.found)) for fault in error.faults or (error,)])


def describe_not_numbers(what: str, value: Any, place: str, count: int = 1, missing: str = MISSING) -> DataError:
    """Phrase the error for `what` ("scores", "weights") that are no numbers, of which `value` is one.

    `missing` is what to do if it stands for none.
    """
    advice = "convert or drop the rows that are not numeric" if what == "scores" else "convert or drop those rows"
    remedy = _remedy_for_text(value, missing) or advice
    return DataError(f"numbers as {what}", and_more(_shown(value), place, count), remedy)


def _remedy_for_text(value: Any, missing: str = MISSING) -> str | None:
    """What to do about text in place of a number, or about none, if that shows."""
    text = str(value).strip(" '\"")
    if is_missing(value) or text.lower() in NOT_KNOWN:
        return missing
    if text.endswith("%") and is_number(text[:-1]):
        return _PERCENT_SIGN
    return _DECIMAL_COMMA if "," in text and is_number(text.replace(",", ".")) else None


def swapped_columns(error: DataError) -> DataError:
    """Return the error about labels with the advice for columns given in the wrong order."""
    return error.but(remedy="the label and score columns look swapped: exchange them")


_IN_EVERY_ROW = {"label": "a label in every row", "cluster": "a cluster in every row"}


def describe_missing(what: str, place: str, count: int, value: str = "an empty value") -> DataError:
    """Phrase the error for rows without a "score", "label", "cluster" or "weight"; `value` stands in its place."""
    if what in _IN_EVERY_ROW:
        return DataError(_IN_EVERY_ROW[what], and_more(value, place, count), MISSING)
    return DataError(f"numbers as {what}s", and_more(value, place, count), MISSING)


def describe_bad_labels(
    values: Sequence[Any], pos_label: Any = None, *, met: bool = False, place: str = "", count: int = 1
) -> DataError:
    """Phrase the error for labels that are not two classes, given in order of appearance; a few are named.

    `met` says whether any row has `pos_label`. The first that is none of -1, 0 and 1 is at `place`, one of a `count`.
    """
    if any(map(is_nested, values)):
        return describe_nested_labels(f" in {place}" if place else "")
    different = _different(values)
    listed = f"the values {', '.join(map(_shown, different[:_NAMED]))}" + (" and others" if different[_NAMED:] else "")
    listed = and_more(listed, place, count) if place else listed
    if pos_label is not None and not met:
        expected = f"some rows with the positive label {_shown(pos_label)}"
        return DataError(expected, listed, "check the spelling of `pos_label`")
    not_known = [value for value in different if str(value).strip().lower() in NOT_KNOWN]
    classes = [value for value in different if value not in not_known]
    if not_known and (met or len(classes) == 2 or classes in ([0], [1], ["0"], ["1"])):
        dropped = str(not_known[0]).strip().lower() in words_for_missing(pos_label)
        return DataError("two label values", listed, _unknown(not_known[0], MISSING if dropped else _DROP))
    if codes := _codes(classes):
        others = " AND ".join(f"{COLUMN} IS DISTINCT FROM '{code}'" for code in codes)
        remedy = f"{_DROP}; read the others alone: `query=SELECT * FROM {ROWS} WHERE {others}`"
        one = next(value for value in classes if value not in codes)
        several = f"if it is a class, take one against the rest, as a column of {one!r} or not"
        return DataError("two label values", listed, f"{_unknown(codes[0], remedy)}; {several}, {_ALL_CLASSES}")
    classes = different if len(different) == 2 else classes  # such as "none" and "relapse"
    names = all(isinstance(value, str) and len(value) <= _LONGEST for value in classes)
    choices = [f"`pos_label={value!r}`" for value in classes[:_NAMED]]
    if len(classes) > 2:
        against = f"{_ONE_AT_A_TIME}: {', '.join(choices[:-1])} or {'another' if classes[_NAMED:] else choices[-1]}"
        return DataError("two label values", listed, f"{against}; {_ALL_CLASSES}" if names else _no_classes(classes))
    if any(isinstance(value, float) and value % 1.0 for value in classes):
        return DataError("labels 0 and 1", listed, _no_classes(classes))
    short = all(len(str(value)) <= _LONGEST for value in classes)
    choice = " or ".join(choices) if short else "name it as `pos_label`"
    return DataError("labels 0 and 1", listed, f"say which value is the positive class: {choice}")


def _codes(classes: Sequence[Any]) -> list[Any]:
    """Return the numbers among labels that seem to stand for unknown outcomes beside two classes; mostly none."""
    codes = [value for value in classes if is_code(value)]
    others = [value for value in classes if value not in codes]
    few = all(float(value) in (0.0, 1.0, 2.0) if is_number(value) else isinstance(value, str) for value in others)
    return codes if len(others) == 2 and few else []


def _unknown(value: Any, remedy: str) -> str:
    return f"{_shown(value)} seems to stand for an unknown outcome: {remedy}"


def refuse_unknown(others: Sequence[str], pos_label: Any, place: str = "") -> None:
    """Raise a `DataError` if a word or code for a missing outcome is among several labels that would count as 0."""
    unknown = {label for label in others if label.strip().lower() in words_for_missing(pos_label)}
    if len(others) == 2:  # -1 may well be the third of three classes
        unknown |= {code for code in _codes([pos_label, *others]) if code in others and float(code) != -1.0}
    if others[1:] and unknown:
        met = [pos_label, *sorted(others, key=lambda label: label not in unknown)]
        raise describe_bad_labels(met, pos_label, met=True, place=place)


def is_nested(label: Any) -> bool:
    """Whether a label is several values, as columns of lists or records have them."""
    return isinstance(label, list | tuple | dict)


def describe_nested(name: str, values: str) -> DataError:
    """Phrase the error for a column of which a value is several."""
    return DataError(f"single values in column {name}", values, "turn them into one number or one text per row")


def describe_nested_labels(place: str = "") -> DataError:
    """Phrase the error for labels that are lists or records."""
    return DataError("one label per row", f"nested values{place}", "pass a flat column of labels")


def _no_classes(values: list[Any]) -> str:
    """What to do about labels that are more than two classes, counts, probabilities or measurements."""
    numbers = [float(value) for value in values if isinstance(value, (int, float)) and is_number(value)]
    if len(numbers) < len(values):
        return f"{ONE_CLASS}; {_ALL_CLASSES}"
    if all(number.is_integer() and abs(number) < _CLASSES for number in numbers):
        return f"{ONE_CLASS}; {_ALL_CLASSES}; {_MEANS.format('counts')}"
    if all(0.0 <= number <= 1.0 for number in numbers):
        return (
            "these look like probabilities or rates: pass the observed outcome of each row, 0 or 1; of a group of rows "
            f"pass two, one for each outcome, with the numbers of rows as `count`; {_MEANS.format('shares')}"
        )
    return (
        f"these look like measurements: {_MEANS.format('such outcomes')}; or turn them into a yes-or-no outcome, such "
        "as whether they exceed a limit, and take the predicted probability of that as the score"
    )


def describe_one_outcome(found: str) -> DataError:
    """Phrase the error for rows of which all are positive, or all negative."""
    remedy = (
        "check which value is the positive class (`pos_label`) and how the rows were selected; if no more than these "
        "happened, `calibrant.audit` tells what they show, and Monitor reads on"
    )
    return DataError("rows of both classes", found, remedy)


def need_two_classes(classes: Sequence[Any]) -> None:
    """Raise a `DataError` if a classifier is to be fitted to one class, or to more than two."""
    if len(classes) == 1:
        raise DataError("labels of two classes", f"one class only, {classes[0]!r}", "pass rows of the other class too")
    if len(classes) > 2:
        listed = f"{len(classes)}: {', '.join(map(str, classes[:_NAMED]))}{', ...' if len(classes) > _NAMED else ''}"
        # scikit-learn's checks look for the first sentence.
        remedy = (
            "Only binary classification is supported. For one class c against the rest pass y == c, and where scores "
            "are asked for its column p[:, c]. MulticlassAutoCalibrator maps the probabilities of several classes "
            "together; one map for each, put back to a sum of 1, can cost accuracy"
        )
        raise DataError("labels of two classes", listed, remedy)


def describe_too_many_rows(total: float) -> DataError:
    """Phrase the error for more rows than can be added up exactly."""
    return DataError("no more rows than can be counted exactly", f"{total:g}", "check that these are numbers of rows")


def describe_zero_weights() -> DataError:
    """Phrase the error for weights of which none is positive."""
    return DataError("some positive weight", "only zeros", "check that this is the column of weights")


def describe_other_rows(found: str) -> DataError:
    """Phrase the error for rows that are not those of an earlier reading."""
    remedy = "let nothing change the rows while they are read; a function of chunks has to open the source anew"
    return DataError("the same rows at every reading", found, remedy)


def _shown(value: Any) -> str:
    """Write a value, the middle of a long one left out."""
    writer = Repr()
    writer.maxstring = writer.maxlong = writer.maxother = _LONGEST
    return writer.repr(value)


def and_more(value: str, location: str, count: int) -> str:
    """Write a value with its place, and how many are like it."""
    return f"{value} in {location}" + (f" and {count - 1:,} more like it" if count > 1 else "")


def _different(values: Sequence[Any]) -> list[Any]:
    """Return a few of the distinct values met, in order of appearance; one more than is named, if there is one."""
    return list(dict.fromkeys(values))[: _NAMED + 1]
