"""Rows that come in chunks: the same table as from all rows, and errors that name the chunk."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.cells import gathering, slices
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics import cutoff_calibration_error
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support import score_distributions
from support.strategies import Rows, small_rows


def same(one: ScoreTable, two: ScoreTable) -> bool:
    pairs = ((getattr(one, name), getattr(two, name)) for name in ("score", "n", "k"))
    return one.cells is None and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def cut(rows: Rows, size: int):
    columns = [rows.y, rows.s] if rows.w is None else [rows.y, rows.s, rows.w]
    return [tuple(column[i : i + size] for column in columns) for i in range(0, len(rows.y), size)]


@given(small_rows(weighted=("none", "whole")), st.integers(1, 9), st.sampled_from([1, 2, 1 << 20]))
def test_few_scores_give_the_table_of_all_rows(rows, size, batch):
    exact = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "_BATCH", batch)
        assert same(ScoreTable.from_chunks(cut(rows, size), counted=True), exact)
        assert same(ScoreTable.from_chunks(lambda: cut(rows, size), counted=True), exact)
        assert same(ScoreTable.from_chunks(iter(cut(rows, size)), counted=True), exact)


@given(small_rows(weighted=("float",)), st.integers(1, 9))
def test_other_weights_give_it_up_to_rounding(rows, size):
    exact = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    table = ScoreTable.from_chunks(cut(rows, size))
    assert table.score.tolist() == exact.score.tolist()
    assert table.n == pytest.approx(exact.n, rel=1e-14)
    assert table.k == pytest.approx(exact.k, rel=1e-14)


def test_kinds_of_columns_may_differ_between_chunks():
    chunks = [
        ([True, False], [0.5, 0.25]),
        (np.array([1, 0]), np.array([0.5, 0.75], dtype=np.float32), [2, 1]),
        ([], []),
        ([1.0], [[0.75, 0.25]], [0.5]),
        ([0, 1], [0.1, 0.2], [0.0, 0.0]),
        ([], [], []),
        ((1,), (0.5,), None),
    ]
    table = ScoreTable.from_chunks(chunks)
    assert table.score.tolist() == [0.25, 0.5, 0.75]
    unit = 8.25 / 6.5  # sum w**2 / sum w of 1, 1, 2, 1, .5, 1, where rows without weights have a weight of 1
    assert table.n == pytest.approx(np.array([1.5, 4.0, 1.0]) / unit, rel=1e-15)
    assert table.k == pytest.approx(np.array([0.5, 4.0, 0.0]) / unit, rel=1e-15)


def test_one_class_in_a_chunk_is_fine():
    table = ScoreTable.from_chunks([([1, 1], [0.5, 0.6]), ([0, 0], [0.5, 0.7])])
    assert table.k.tolist() == [1, 1, 0]


def test_labels_minus_one_and_one():
    chunks = [([1, 1], [0.5, 0.6]), ([-1, -1], [0.5, 0.7]), ([-1.0, 1.0], [0.1, 0.2])]
    table = ScoreTable.from_chunks(chunks)
    assert (table.total, table.positives) == (6, 3)


@pytest.mark.parametrize("pos_label", ["yes", np.str_("yes")])
def test_named_labels(pos_label):
    chunks = [(["no", "no"], [0.1, 0.2]), (np.array(["yes", "no"], dtype=object), [0.3, 0.4]), (["yes"], [0.5])]
    table = ScoreTable.from_chunks(chunks, pos_label=pos_label)
    assert table.k.tolist() == [0, 0, 1, 0, 1]


GOOD = ([0, 1], [0.2, 0.4])


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        (([0, 1, 0, 1], [0.1, 0.2, 0.3, np.nan]), "finite scores, found in chunk 1: nan in row 3; drop"),
        (([0, 1], [0.1, 1.5]), "scores between 0 and 1, found in chunk 1: 1.5 in row 1; pass the predicted"),
        (
            ([0, 2], [0.1, 0.5]),
            "labels 0 and 1, found in chunk 1: the values 0, 2 in row 1; say which value is the positive",
        ),
        (([0, None], [0.1, 0.5]), "a label in every row, found in chunk 1: None in row 1"),
        (([0, 1], [0.1]), "as many labels as scores, found in chunk 1: 2 labels and 1 scores"),
        (([0, 1], []), "at least one row, found in chunk 1: no rows"),
        (([0, 1], [0.1, 0.2], [1]), "one weight per row .2 rows., found in chunk 1: weights of shape"),
        (([0, 1], [0.1, 0.2], [1, -2]), "finite weights that are not negative, found in chunk 1: -2.0 in row 1"),
        (([0, 1], [0.1, 0.2], [1e308, 1e308]), "weights that add up to at most .*, found in chunk 1: a total of inf"),
        (([0, 1],), "two columns, labels and scores, .* found in chunk 1: a tuple of length 1; let every chunk be"),
        (np.zeros((2, 2)), "two columns, labels and scores, .* found in chunk 1: a ndarray of length 2"),
        (7, "two columns, labels and scores, .* found in chunk 1: a int;"),
        (
            ([0.1, 0.9], [0, 1]),
            "labels 0 and 1, found in chunk 1: the values 0.1, 0.9 in row 0 and 1 more like it; the label",
        ),
        (([-1, 1], [0.1, 0.5]), "two label values, found in chunk 1: the values 0, -1, 1; -1 seems to stand"),
    ],
)
def test_errors_name_the_chunk(chunk, message):
    for chunks in ([GOOD, chunk], iter([GOOD, chunk]), lambda: iter([GOOD, chunk])):
        with pytest.raises(DataError, match="expected " + message):
            ScoreTable.from_chunks(chunks)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([(["no"], [0.1]), (["yes", "NA"], [0.2, 0.3])], "two label values, found in chunk 1: .*'NA'"),
        ([(["no", "NA"], [0.2, 0.3]), (["yes"], [0.1])], "two label values, found in chunk 0: .*'NA'"),
        ([(["no"], [0.1]), (["no"], [0.2])], "some rows with the positive label 'yes', found the values 'no'; check"),
    ],
)
def test_named_labels_that_do_not_belong_together(chunks, message):
    with pytest.raises(DataError, match=message):
        ScoreTable.from_chunks(chunks, pos_label="yes")


def test_a_named_label_stands_against_the_others_of_all_chunks():
    found = ScoreTable.from_chunks([(["no"], [0.1]), (["yes", "maybe"], [0.2, 0.3])], pos_label="yes")
    assert found.k.tolist() == [0, 1, 0]


@pytest.mark.parametrize("chunks", [[], iter([]), list, [([], [])], [([], [], []), ([], [])]])
def test_no_rows(chunks):
    with pytest.raises(DataError, match="expected at least one row, found no rows"):
        ScoreTable.from_chunks(chunks)


def test_a_generator_that_is_used_up():
    chunks = iter([GOOD])
    assert len(ScoreTable.from_chunks(chunks)) == 2
    with pytest.raises(DataError, match="no rows"):
        ScoreTable.from_chunks(chunks)


def test_weights_that_are_all_zero():
    with pytest.raises(DataError, match="expected some positive weight, found only zeros"):
        ScoreTable.from_chunks([([0, 1], [0.2, 0.4], [0, 0]), ([1], [0.3], [0.0])])


def test_tiny_weights_are_judged_together():
    tiny = ([0, 1], [0.2, 0.4], [1e-300, 1e-300])
    assert ScoreTable.from_chunks([tiny, GOOD]).n.tolist() == [1.0, 1.0]
    with pytest.raises(DataError, match="some weight of at least 1e-140"):
        ScoreTable.from_chunks([tiny, tiny])


@pytest.mark.parametrize("chunks", [7, None, 0.5])
def test_what_is_no_source_of_chunks(chunks):
    with pytest.raises(ArgumentError, match=r"an iterable of \(labels, scores\) chunks, or a function"):
        ScoreTable.from_chunks(chunks)


def test_an_error_of_the_source_passes_through():
    def chunks():
        yield GOOD
        raise OSError("the disk is gone")

    for source in (chunks, chunks()):
        with pytest.raises(OSError, match="the disk is gone"):
            ScoreTable.from_chunks(source)


def test_a_source_that_changes_is_noticed(monkeypatch):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 100)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 64)
    s = score_distributions.scores("beta", 2_000)
    y = score_distributions.outcomes(s, "calibrated")
    used_up = iter([(y, s)])
    with pytest.raises(
        DataError, match=f"the same rows at every reading, found 2000 rows with {y.sum()} positives at fi"
    ):
        ScoreTable.from_chunks(lambda: used_up)
    turns = iter([y, 1 - y])
    with pytest.raises(
        DataError, match=f"then 2000 with {2000 - y.sum()}; let nothing change the rows while they are read"
    ):
        ScoreTable.from_chunks(lambda: [(next(turns), s)])


def test_masked_columns_are_refused():
    with pytest.raises(DataError, match="labels in every row, found in chunk 0: 1 masked values"):
        ScoreTable.from_chunks([(np.ma.masked_array([0, 1], mask=[0, 1]), [0.1, 0.2])])


def test_arrays_may_be_filled_again():
    """As readers of sockets and files do that make an array only once."""
    s = score_distributions.scores("beta", 5_000)
    y = score_distributions.outcomes(s, "shifted")

    def chunks():
        label, score, weight = np.empty(100, dtype=np.int8), np.empty(100), np.empty(100)
        for i in range(0, 5_000, 100):
            label[:], score[:], weight[:] = y[i : i + 100], s[i : i + 100], 0.5
            yield label, score, weight

    table, exact = ScoreTable.from_chunks(chunks), ScoreTable.from_scores(y, s, sample_weight=np.full(5_000, 0.5))
    assert (table.score.tolist(), table.k.tolist()) == (exact.score.tolist(), exact.k.tolist())


def test_one_reading_ends_before_the_next_begins(monkeypatch):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 100)
    monkeypatch.setattr(slices, "_BATCH", 200)
    s = score_distributions.scores("beta", 2_000)
    y = score_distributions.outcomes(s, "calibrated")
    log = []

    def chunks():
        log.append("open")
        try:
            for i in range(0, 2_000, 250):
                yield y[i : i + 250], s[i : i + 250]
        finally:
            log.append("close")

    ScoreTable.from_chunks(chunks)
    assert log == ["open", "close"] * (len(log) // 2)
    assert len(log) >= 6


def test_other_scores_at_a_later_reading_are_noticed(monkeypatch):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 100)
    monkeypatch.setattr(gathering, "CELL_BITS", 7)
    monkeypatch.setattr(gathering, "FINE_BITS", 12)
    s = score_distributions.scores("beta", 20_000)
    y = score_distributions.outcomes(s, "shifted")
    turns = iter([s, s, s**1.1])
    with pytest.raises(DataError, match=r"the same rows at every reading, found \d+ rows with \d+ positives at first"):
        ScoreTable.from_chunks(lambda: [(y, next(turns))])


@pytest.mark.parametrize("batch", [500, 1 << 20])
@pytest.mark.parametrize(
    ("each", "one"),
    [(2**50, 2**50), (2**37, 2**37), (2**28, 2**28), (1, 2**50), (1, 2**38 - 999), (1, 2**38 - 1_000), (2**26, 1)],
)
@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 50])
def test_very_large_whole_weights(monkeypatch, size, each, one, batch):
    """Alone, in a chunk or only together more than sums in 64 bits can take."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 100)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 10)
    monkeypatch.setattr(slices, "_BATCH", batch)
    s = score_distributions.scores("beta", 1_000)
    y = score_distributions.outcomes(s, "shifted")
    w = np.full(1_000, each)
    w[77] = one
    exact = ScoreTable.from_scores(y, s, sample_weight=w)
    total = sum(w.tolist())
    squared = math.fsum((y - s) ** 2 * w)
    log_loss = math.fsum(np.where(y == 1, -np.log(s), -np.log1p(-s)) * w)

    def chunks():
        return ((y[i : i + size], s[i : i + size], w[i : i + size]) for i in range(0, 1_000, size))

    again, once = ScoreTable.from_chunks(chunks), ScoreTable.from_chunks(chunks())
    for table in (again, once):
        unit = table.sampling.unit_weight
        assert table.whole == exact.whole == (each == one)
        assert (table.total, table.positives) == pytest.approx((exact.total, exact.positives), rel=1e-14)
        assert table.total * unit == pytest.approx(total, rel=1e-14)
        assert table.squared_total * unit == pytest.approx(squared, rel=1e-14, abs=total * 2.0**-43)
        assert table.log_loss_total * unit == pytest.approx(log_loss, rel=1e-14, abs=total * 2.0**-36)
        assert [table.rise.sum(), table.fall.sum()] == pytest.approx([exact.rise.sum(), exact.fall.sum()], rel=1e-11)
    error = cutoff_calibration_error(exact)
    found = cutoff_calibration_error(again)
    assert found == pytest.approx(error, rel=1e-11)
    limits = extremes(cumulative_residuals(once))
    assert limits.value - 1e-11 <= error <= limits.at_most + 1e-11


class Tensor:
    """Refuses to become an array, as a tensor that requires a gradient does."""

    def __array__(self, *arguments, **keywords):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __len__(self):
        return 2


def test_chunks_of_tensors_are_refused_with_a_way_on():
    with pytest.raises(DataError, match=r"detach\(\)"):
        ScoreTable.from_chunks([(Tensor(), [0.2, 0.3])])
