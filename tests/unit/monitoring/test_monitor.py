"""Updates: their order, ages, blocks and errors; and what is said at an alarm."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, DataError
from calibrant.monitoring.rows import batch_digest
from calibrant.monitoring.sums import Read, StoredSums, Sums


def stream(n, change, seed=0, power=0.6):
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=n)
    rate = np.where(np.arange(n) < change, score, score**power)
    return (rng.uniform(size=n) < rate).astype(int), score


def test_the_same_rows_again_are_refused_where_nothing_tells_rows_apart():
    """A job of cron that ran twice."""
    rng = np.random.default_rng(5)
    score = rng.uniform(size=400).round(2)
    label = rng.uniform(size=400) < score
    monitor = cal.Monitor(tolerance=0.02)
    monitor.update(label, score)
    monitor.update(label[::-1], score[::-1])  # other rows, as far as anyone can tell
    restored = cal.Monitor.from_json(monitor.to_json())
    for one in (monitor, restored):
        with pytest.raises(DataError, match="the same 400 labels and scores in the same order"):
            one.update(label, score)
        assert one.state.rows == 800
    assert monitor.update(label, score, again=True).rows == 1200
    assert restored.update(label, score, id=np.arange(400)).rows == 1200


def test_times_and_blocks_tell_updates_apart_where_their_order_does_not():
    rng = np.random.default_rng(5)
    score = rng.uniform(size=400).round(2)
    label, place = rng.uniform(size=400) < score, np.arange(400) // 40
    for settings, column in (({"delay": "independent"}, "time"), ({"blocks": True}, "block")):
        monitor = cal.Monitor(tolerance=0.02, **settings)
        monitor.update(label, score, **{column: place})
        with pytest.raises(DataError, match="the same 400 labels and scores in the same order"):
            monitor.update(label, score, **{column: place})
        assert monitor.update(label, score, **{column: place + 100}).rows == 800


def test_short_or_uniform_updates_may_be_alike():
    monitor = cal.Monitor(tolerance=0.02)
    for _ in range(3):
        monitor.update([0, 1, 0, 1, 1], [0.1, 0.9, 0.2, 0.8, 0.7])
        monitor.update(np.zeros(1000), np.full(1000, 0.001))
    assert monitor.state.rows == 3015
    # By chance, rows of few kinds come in one order again less often than once in a million orders.
    rng = np.random.default_rng(0)
    rows = np.repeat([0.2, 0.8], 4)
    assert batch_digest(np.zeros(8), rng.permutation(rows)) is None  # 70 orders
    assert batch_digest(np.zeros(24), np.repeat([0.2, 0.8], 12)) is not None  # 2.7 million


@pytest.mark.parametrize("parts", [[[1, 2], 3], [(1, 2), 3], [np.arange(2), 3]], ids=["list", "tuple", "array"])
def test_names_of_rows_that_have_several_parts_are_refused(parts):
    parts = np.array(parts, dtype=object)
    with pytest.raises(DataError, match="blocks that are whole numbers or text, found lists; join their parts"):
        cal.Monitor(tolerance=0.1, blocks=True).update([0, 1], [0.2, 0.7], block=parts)
    with pytest.raises(DataError, match="found lists; join their parts"):
        cal.Monitor(tolerance=0.02).update([0, 1], [0.2, 0.7], id=parts)


def test_a_text_in_place_of_rows_is_refused():
    with pytest.raises(DataError, match="scores in one column"):
        cal.Monitor(tolerance=0.02).update("labels", "scores")


@pytest.mark.parametrize("given", [([0, np.nan], [0.2, 0.7]), ([0, 1, 1], [0.2, 0.7, 99.0])], ids=["gap", "code"])
def test_no_hint_says_that_an_update_leaves_rows_out(given):
    with pytest.raises(DataError) as caught:
        cal.Monitor(tolerance=0.02).update(*given)
    assert "missing=" not in caught.value.remedy


def test_threads_may_share_a_monitor():
    rng = np.random.default_rng(1)
    score = rng.uniform(size=(60, 50))
    label = rng.uniform(size=(60, 50)) < score
    monitor = cal.Monitor(tolerance=0.02)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(monitor.update, label, score))
    finally:
        sys.setswitchinterval(before)
    assert monitor.state.rows == 3000
    assert cal.Monitor.from_json(monitor.to_json()).state.rows == 3000
    one = cal.Monitor(tolerance=0.02).update(label.ravel(), score.ravel())
    assert monitor.state.bias == pytest.approx(one.bias)


def test_monitors_can_be_copied_and_pickled():
    monitor = cal.Monitor(tolerance=0.02)
    monitor.update([0, 1], [0.2, 0.7])
    for other in (copy.copy(monitor), copy.deepcopy(monitor), pickle.loads(pickle.dumps(monitor))):
        assert other.update([0, 1], [0.3, 0.9]).rows == 4
    assert monitor.state.rows == 2


def test_a_monitor_is_copied_between_updates():
    """A copy has seen all of an update or nothing, though threads go on."""
    monitor, score = cal.Monitor(tolerance=0.02), np.random.default_rng(2).uniform(size=(40, 50))
    with ThreadPoolExecutor(2) as pool:
        updates = [pool.submit(monitor.update, rows > 0.5, rows) for rows in score]
        while not all(update.done() for update in updates):
            cal.Monitor.from_json(pickle.loads(pickle.dumps(monitor)).to_json())
    assert max(update.result().rows for update in updates) == monitor.state.rows == 40 * 50


def test_an_alarm_says_since_when_where_and_what_repairs():
    y, score = stream(9000, 6000)
    state = cal.Monitor(tolerance=0.01).update(y, score, time=np.arange(9000) / 10)
    found = state.departure
    assert state.alarm
    assert 6000 < state.alarm_row < 6600
    assert state.alarm_time == (state.alarm_row - 1) / 10
    assert found.row_lower <= 6001 <= found.row_upper
    assert found.row_upper - found.row_lower < 2000
    assert abs(found.time - 600) < 60
    assert found.bias == pytest.approx(1 / 1.6 - 0.5, abs=0.03)
    assert state.bias_lower < state.bias < state.bias_upper
    assert len(str(state).splitlines()) <= 9
    assert "ALARM" in str(state)
    assert state.to_dict()["departure"]["repair"] == found.repair


def test_times_of_a_departure_are_those_of_rows_before_it():
    y, score = stream(400, 0, power=0.2)
    found = cal.Monitor(tolerance=0.01).update(y, score, time=np.arange(400)).departure
    assert (found.row, found.time, found.row_lower, found.time_lower) == (1, None, 1, None)
    y, score = stream(9000, 6000)
    found = cal.Monitor(tolerance=0.01).update(y, score, time=np.arange(9000)).departure
    for row, time in ((found.row, found.time), (found.row_upper, found.time_upper)):
        assert row - 1 - 1000 < time <= row - 1


@pytest.mark.parametrize("settings", [{"tolerance": 0.01}, {"odds_tolerance": 1.1}, {"tolerance": 0, "blocks": True}])
def test_updates_and_states_in_between_change_nothing(settings):
    y, score = stream(6000, 3000, seed=1)
    block = np.arange(6000) // 40
    states = []
    for size in (6000, 999):
        monitor = cal.Monitor(**settings)
        for i in range(0, 6000, size):
            part = slice(i, i + size)
            named = block[part] if "blocks" in settings else None
            state = monitor.update(y[part], score[part], time=np.arange(6000)[part], block=named)
            monitor = cal.Monitor.from_json(monitor.to_json())
        history = monitor.history()
        states.append((state, history))
    (whole, whole_history), (parts, history) = states
    assert whole.alarm
    assert parts.alarm_row == whole.alarm_row
    assert parts.alarm_time == whole.alarm_time
    for name in ("row", "row_lower", "row_upper", "low", "high", "repair", "time"):
        assert getattr(parts.departure, name) == getattr(whole.departure, name)
    assert parts.bias_lower == pytest.approx(whole.bias_lower, rel=1e-9)
    assert history.row.tolist() == whole_history.row.tolist()
    assert history.log_evidence == pytest.approx(whole_history.log_evidence, abs=1e-4)
    assert history.upper == pytest.approx(whole_history.upper, abs=1e-4)


def test_an_alarm_names_the_files_of_its_rows():
    """Who asks which month it was looks for no row number; the repair is fitted on all files since then."""
    y, score = stream(9000, 5000)
    monitor = cal.Monitor(tolerance=0.01)
    for month in range(9):
        part = slice(1000 * month, 1000 * month + 1000)
        state = cal.Monitor.from_json(monitor.to_json()).update(y[part], score[part], file=f"in/{month}.csv")
        monitor.update(y[part], score[part], file=Path(f"in/{month}.csv"))
    found = state.departure
    assert state.alarm_file == f"in/{(state.alarm_row - 1) // 1000}.csv"
    assert found.file == "in/5.csv"
    assert (found.file_lower, found.file_upper) == tuple(
        f"in/{(row - 1) // 1000}.csv" for row in (found.row_lower, found.row_upper)
    )
    assert state.repair_files == [f"in/{month}.csv" for month in range(5, 9)]
    assert f"row {state.alarm_row:,} ({state.alarm_file[3:]}): the calibration" in str(state)
    assert f"about row {found.row:,} (5.csv); approximate" in str(state)
    at_once = cal.Monitor(tolerance=0.01).update(y, score, file=[f"in/{i // 1000}.csv" for i in range(9000)])
    assert (at_once.alarm_file, at_once.repair_files) == (state.alarm_file, state.repair_files)


def test_files_that_take_turns_are_named_together():
    y, score = stream(4000, 2000)
    names = np.where(np.arange(4000) % 2 == 0, "north", "south")
    state = cal.Monitor(tolerance=0.01).update(y, score, file=names)
    assert state.alarm_file == "north and 1 more"
    assert cal.Monitor(tolerance=0.01).update(y, score).repair_files == []


def test_of_many_files_the_latest_are_kept():
    monitor, name = cal.Monitor(tolerance=0), "x" * 90
    for i in range(60):
        state = monitor.update([1], [0.0], file=f"{i:010d}{name}")
    assert [file[:10] for file in state.repair_files] == [f"{i:010d}" for i in range(10, 60)]
    assert state.alarm_file.startswith("0000000000")
    longest = cal.Monitor(tolerance=0).update([1], [0.0], file=name * 100)
    assert (longest.alarm_file, longest.repair_files) == (None, [])
    with pytest.raises(DataError, match="as many files as scores, found 1 files and 2 scores"):
        monitor.update([0, 1], [0.5, 0.5], file=["x"])


def test_a_file_of_which_most_came_before_the_change_is_left_to_no_repair():
    y, score = stream(6000, 3400)
    found = cal.Monitor(tolerance=0.01).update(y, score, file=np.arange(6000) // 1000)
    assert found.departure.file == "3"
    assert found.repair_files == (["3", "4", "5"] if found.departure.row <= 3501 else ["4", "5"])
    y, score = stream(6000, 3800)
    found = cal.Monitor(tolerance=0.01).update(y, score, file=np.arange(6000) // 1000)
    assert found.departure.row > 3501
    assert found.repair_files == ["4", "5"]


def months_of_drift(months=24, n=500, first=12):
    """A portfolio month by month, of which 1.5 times as many loans default as predicted from month 13 on."""
    rng = np.random.default_rng(1)
    for month in range(months):
        score = rng.beta(0.8, 30, n)
        y = rng.uniform(size=n) < score * (1.5 if month >= first else 1.0)
        yield str(np.datetime64("2024-01") + month), y, score


@pytest.mark.parametrize("mode", ["total", "rate"])
def test_the_month_of_an_alarm_is_named_in_every_later_month(mode):
    monitor, alarm = cal.Monitor(odds_tolerance=1.1, mode=mode), None
    for month, y, score in months_of_drift():
        state = monitor.update(y, score, time=np.full(len(y), month), file=f"{month}.csv")
        if state.alarm and alarm is None:
            alarm = f"row {state.alarm_row:,} ({month}.csv, {month}-01)"
            assert "from then to the alarm" in state.lines()["Where"]
        assert state.alarm == str(state).startswith("ALARM")
        if alarm is not None and state.number_of_alarms == 1:
            assert alarm in str(state).splitlines()[0]
            evidence = state.lines()["Evidence"]
            assert ("at the alarm" if state.evidence >= state.threshold else "since the latest alarm") in evidence
    assert "2025-" in str(alarm)
    assert state.lines()["Bias"].startswith("observed rate minus mean predicted from row 1 on 0.")


def test_rows_since_a_change_are_not_left_out_with_a_file_that_began_before():
    """With times, by which they can be chosen, the repair has the same rows whether they came at once or in turn."""
    past, recent = list(months_of_drift())[:17], list(months_of_drift())[17:]
    months, labels, scores = ([rows[i] for rows in past] for i in range(3))
    monitor = cal.Monitor(odds_tolerance=1.1)
    state = monitor.update(np.concatenate(labels), np.concatenate(scores), np.repeat(months, 500), file="past.csv")
    assert state.alarm
    assert 2 * state.departure.row > state.rows + 1  # most of its rows came before
    for month, y, score in recent:
        state = monitor.update(y, score, time=np.full(len(y), month), file=f"{month}.csv")
    assert state.repair_files == ["past.csv", *(f"{month}.csv" for month, _, _ in recent)]


def test_a_slope_is_not_told_as_one_error_of_all_scores():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=4000)
    score = 1 / (1 + np.exp(-odds))
    state = cal.Monitor(tolerance=0).update(rng.uniform(size=4000) < 1 / (1 + np.exp(-0.6 * odds)), score)
    assert state.departure.repair == "slope"
    assert state.lines()["Where"].startswith("all scores, by amounts that change with the score: predictions too ")


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        (
            ["2025-12-30", "31.12.2025"],
            r"'31\.12\.2025'; write dates as 2026-11-23: .*dateformat='%d\.%m\.%Y'\)[^/]*$",
        ),
        (["01.02.25"], r"'%d\.%m\.%y'"),
        (["03/04/2025"], r"'%d/%m/%Y'.*, or '%m/%d/%Y' if the month comes first$"),
        (["Jan 2025"], "write dates as 2026-11-23$"),
    ],
)
def test_dates_in_another_order_are_refused_with_the_way_to_write_them(dates, said):
    with pytest.raises(DataError, match=said):
        cal.Monitor(tolerance=0.1).update([0] * len(dates), [0.5] * len(dates), time=dates)


def test_an_interval_of_scores_is_found():
    rng = np.random.default_rng(2)
    score = rng.uniform(size=20_000)
    rate = score + np.where((score > 0.4) & (score < 0.6) & (np.arange(20_000) > 8000), 0.15, 0.0)
    found = cal.Monitor(odds_tolerance=1.05).update(rng.uniform(size=20_000) < rate, score).departure
    assert found.repair == "refit"
    assert found.low == pytest.approx(0.4, abs=0.07)
    assert found.high == pytest.approx(0.6, abs=0.07)
    assert found.bias > 0


def test_a_slope_is_found():
    rng = np.random.default_rng(3)
    score = rng.uniform(size=8000)
    odds = score / (1 - score)
    y = rng.uniform(size=8000) < odds**0.6 / (1 + odds**0.6)
    found = cal.Monitor(tolerance=0).update(y, score).departure
    assert found.repair == "slope"
    assert found.row_lower == 1
    assert "perhaps never calibrated" in str(cal.Monitor(tolerance=0).update(y, score))


def test_rows_are_read_in_the_order_of_time_and_identifier():
    y, score = stream(800, 400, seed=4, power=0.3)
    day, name = np.arange(800) // 20, np.array([f"{i:04d}" for i in range(800)])
    mixed = np.random.default_rng(5).permutation(800)
    straight = cal.Monitor(tolerance=0.01).update(y, score, day, name)
    other = cal.Monitor(tolerance=0.01).update(y[mixed], score[mixed], day[mixed], name[mixed])
    assert straight.alarm_row == other.alarm_row is not None
    assert straight.evidence == other.evidence
    sorted_by_label = np.argsort(y, kind="stable")
    again = cal.Monitor(tolerance=0.01).update(
        y[sorted_by_label], score[sorted_by_label], day[sorted_by_label], name[sorted_by_label]
    )
    assert again.evidence == straight.evidence


def test_no_row_is_read_twice_and_nothing_is_read_if_one_was():
    monitor = cal.Monitor(tolerance=0.01)
    monitor.update([0, 1], [0.2, 0.7], time=["2026-01-01", "2026-01-02"], id=[5, 3])
    before = monitor.to_json()
    for time, name in (
        (["2026-01-02", "2026-01-03"], [3, 9]),
        (["2026-01-02", "2026-01-03"], [2, 9]),
        (["2026-01-01", "2026-01-03"], [8, 9]),
    ):
        with pytest.raises(DataError, match="rows after the last one read"):
            monitor.update([0, 1], [0.2, 0.7], time=time, id=name)
        assert monitor.to_json() == before
    assert monitor.update([0, 1], [0.2, 0.7], time=["2026-01-02", "2026-01-02"], id=[4, 9]).rows == 4
    with pytest.raises(DataError, match="every identifier once, found 12 twice; drop rows that were read twice"):
        monitor.update([0, 1], [0.2, 0.7], time=["2026-01-05", "2026-01-05"], id=[12, 12])
    only_time = cal.Monitor(tolerance=0.01)
    only_time.update([0, 1], [0.2, 0.7], time=[1, 2])
    with pytest.raises(DataError, match="read every row at the same age"):
        only_time.update([0, 1], [0.2, 0.7], time=[2, 3])
    only_id = cal.Monitor(tolerance=0.01)
    only_id.update([0, 1], [0.2, 0.7], id=["b", "a"])
    with pytest.raises(DataError, match="identifiers have to increase"):
        only_id.update([0, 1], [0.2, 0.7], id=["b", "c"])


def test_columns_stay_the_same_from_update_to_update():
    monitor = cal.Monitor(tolerance=0.01)
    monitor.update([0, 1], [0.2, 0.7], time=[1, 2])
    with pytest.raises(ArgumentError, match="time in numbers, as before"):
        monitor.update([0, 1], [0.2, 0.7])
    with pytest.raises(ArgumentError, match="id in all updates or in none"):
        monitor.update([0, 1], [0.2, 0.7], time=[3, 4], id=[1, 2])
    with pytest.raises(DataError, match="no block"):
        monitor.update([0, 1], [0.2, 0.7], time=[3, 4], block=[1, 2])
    with pytest.raises(DataError, match="block in every update"):
        cal.Monitor(tolerance=0.01, blocks=True).update([0, 1], [0.2, 0.7])
    with pytest.raises(DataError, match="times that are numbers or dates"):
        cal.Monitor(tolerance=0.01).update([0, 1], [0.2, 0.7], time=["Monday", "Tuesday"])
    for date in ("20260131", "12026-01-31", "-0001-01-31"):
        with pytest.raises(DataError, match=f"dates in years 1 to 9999, found {date} in row 1; write dates as 2026-"):
            cal.Monitor(tolerance=0.01).update([0, 1], [0.2, 0.7], time=["2026-01-30", date])
    with pytest.raises(DataError, match="dates in years 1 to 9999, found 20260131 in row 0"):
        cal.Monitor(tolerance=0.01).update([0], [0.2], time=np.array([20260131 - 1970]).astype("datetime64[Y]"))
    with pytest.raises(DataError, match="times whose differences are ages, found dates as numbers, 20260131"):
        cal.Monitor(tolerance=0.01, maturity=30).update([0, 1], [0.2, 0.7], time=[20260131, 20260301])
    with pytest.raises(DataError, match="a time in every row, found none in row 1"):
        cal.Monitor(tolerance=0.01).update([0, 1], [0.2, 0.7], time=[1.0, np.nan])


def test_rows_are_read_at_a_fixed_age():
    y, score = stream(3000, 0, seed=6, power=1.0)
    day = np.arange(3000)
    monitor = cal.Monitor(tolerance=0.01, maturity=1000)
    label = np.where(day > 2000, np.nan, y)
    first = monitor.update(label[:2500], score[:2500], time=day[:2500])
    assert (first.rows, first.waiting, first.earlier) == (1500, 1000, 0)
    second = monitor.update(y[500:].astype(float), score[500:], time=day[500:])
    assert (second.rows, second.waiting, second.earlier) == (2000, 1000, 1000)
    at_once = cal.Monitor(tolerance=0.01).update(y[:2000], score[:2000], time=day[:2000])
    assert second.evidence == pytest.approx(at_once.evidence, rel=1e-9)
    with pytest.raises(DataError, match="a label in every row that is old enough, found none in 1 of 1000 rows"):
        monitor.update(np.where(day == 1500, np.nan, y), score, time=day + 1000)
    counted = cal.Monitor(tolerance=0.01, maturity=1000, missing="negative")
    assert counted.update(np.where(y == 1, 1.0, np.nan), score, time=day).unlabelled == int((y[:2000] == 0).sum())
    dates = np.datetime64("2026-01-01") + np.arange(30)
    dated = cal.Monitor(tolerance=0.01, maturity=10).update([0, 1] * 15, [0.2, 0.7] * 15, time=dates)
    assert (dated.rows, dated.waiting) == (20, 10)


def test_a_class_may_have_any_name_though_labels_may_be_missing():
    """The text None is a label, and the value None is not."""
    for none, waiting in (("None", 0), ("NaT", 0), (None, 1), (np.nan, 1), (np.datetime64("NaT"), 1), ("", 1)):
        label = np.array(["yes", none, "yes"], dtype=object)
        monitor = cal.Monitor(tolerance=0.01, maturity=0, missing="negative")
        assert monitor.update(label, [0.2, 0.7, 0.6], time=[1, 2, 3], pos_label="yes").unlabelled == waiting


def test_the_last_block_waits():
    monitor = cal.Monitor(tolerance=0, blocks=True)
    monitor.update([0, 1, 1], [0.2, 0.7, 0.6], block=["a", "a", "b"])
    whole = cal.Monitor(tolerance=0, blocks=True).update([0, 1, 1, 0, 1], [0.2, 0.7, 0.6, 0.4, 0.5], block=[*"aabbc"])
    assert monitor.update([0, 1], [0.4, 0.5], block=["b", "c"]).evidence == whole.evidence
    before = monitor.to_json()
    with pytest.raises(DataError, match="block 'a' again after another"):
        monitor.update([0, 1, 1], [0.2, 0.7, 0.6], block=["a", "b", "a"])
    assert monitor.to_json() == before
    with pytest.raises(DataError, match="block 'c' again after another"):
        monitor.update([0, 1], [0.2, 0.7], block=["d", "c"])
    timed = cal.Monitor(tolerance=0, blocks=True)
    with pytest.raises(DataError, match="block 'a' again after another"):
        timed.update([0, 1, 1], [0.2, 0.7, 0.6], time=[1, 2, 3], block=["a", "b", "a"])
    assert timed.update([0, 1, 1], [0.2, 0.7, 0.6], time=[1, 2, 3], block=["a", "a", "b"]).rows == 3


@pytest.mark.parametrize("delay", ["in order", "independent"])
def test_an_alarm_of_a_block_is_the_same_if_the_next_block_comes_later(delay):
    y, score = stream(4000, 0)
    block, day = np.arange(4000) // 50, np.datetime64("2026-01-01") + np.arange(4000)
    whole = cal.Monitor(tolerance=0, blocks=True, delay=delay).update(y, score, day, block=block)
    end = whole.alarm_row
    monitor = cal.Monitor(tolerance=0, blocks=True, delay=delay)
    assert not monitor.update(y[:end], score[:end], day[:end], block=block[:end]).alarm
    later = monitor.update(y[end:], score[end:], day[end:], block=block[end:])
    assert (later.alarm_row, later.departure) == (end, whole.departure)
    assert later.alarm_time == whole.alarm_time == str(day[end - 1])


def test_expecting_the_right_departure_is_faster():
    y, score = stream(6000, 2000, seed=8, power=0.8)
    firsts = {}
    for expect in (None, "shift", 0.3):
        monitor = cal.Monitor(tolerance=0, expect=expect, mode="rate")
        state = monitor.update(y, score)
        assert state.number_of_alarms < 20
        firsts[expect] = monitor.history().alarms[0]
    assert firsts[0.3] <= firsts["shift"] <= firsts[None]
    states = [cal.Monitor(tolerance=0, expect=size).update(y, score) for size in (1, 1.0)]
    assert states[0].by_kind == states[1].by_kind
    assert states[0].by_kind["slope"] == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {"tolerance": 0, "expect": 1, "horizon": 500.0},
        {"tolerance": np.float32(0.125), "horizon": np.int64(500), "blocks": np.bool_(False)},
        {"odds_tolerance": np.float32(1.25), "expect": np.float32(0.5), "confidence_level": np.float32(0.75)},
        {
            "odds_tolerance": np.int8(2),
            "maturity": np.float64(3),
            "mode": np.str_("rate"),
            "delay": np.str_("in order"),
        },
    ],
)
def test_settings_of_any_type_of_number_are_those_of_plain_numbers(settings):
    monitor = cal.Monitor(**settings)
    assert cal.Monitor.from_json(monitor.to_json()).settings == monitor.settings
    for value in monitor.settings.to_dict().values():
        assert type(value) in (float, int, str, bool, type(None))
    if "expect" in settings:
        monitor.update([0, 1], [0.2, 0.7])
        assert monitor.state.by_kind["slope"] == monitor.state.by_kind["interval"] == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tolerance": 0, "blocks": np.arange(9) // 3}, "blocks to be True or False, found ndarray"),
        ({}, "either tolerance or odds_tolerance, found neither"),
        ({"tolerance": 0.1, "odds_tolerance": 1.2}, "found both"),
        ({"tolerance": 0.25}, r"tolerance in \[0, 0.25\)"),
        ({"odds_tolerance": 0.9}, r"odds_tolerance in \[1, 10\]"),
        ({"tolerance": 0.1, "mode": "monthly"}, "mode to be one of"),
        ({"tolerance": 0.1, "expect": "slope"}, "bets on residuals"),
        ({"tolerance": 0, "expect": "bump"}, "expect to be one of"),
        ({"tolerance": 0, "expect": -0.3}, r"expect in \(0, 5\)"),
        ({"tolerance": 0, "horizon": 10}, "horizon to be a whole number"),
        ({"tolerance": 0, "maturity": -1}, r"maturity in \[0, inf\)"),
        ({"tolerance": 0, "maturity": 9, "delay": "independent"}, "a fixed age or as labels arrive"),
        ({"tolerance": 0, "missing": "negative"}, "expected maturity together with missing='negative', found none"),
        ({"tolerance": 0, "confidence_level": 1.0}, "confidence_level"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ArgumentError, match=message):
        cal.Monitor(**settings)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_row_without_an_identifier_is_refused(missing):
    with pytest.raises(DataError, match="an identifier in every row, found none in row 1"):
        cal.Monitor(tolerance=0).update([0, 1], [0.2, 0.7], id=np.array(["a", missing], dtype=object))


def test_maturity_needs_times():
    with pytest.raises(ArgumentError, match="time together with maturity"):
        cal.Monitor(tolerance=0, maturity=9).update([0, 1], [0.2, 0.7])
    late = cal.Monitor(tolerance=0, delay="independent")
    assert late.update([0, 1], [0.2, 0.7], time=[5, 1]).rows == 2
    assert late.update([0, 1], [0.2, 0.7], time=[3, 2]).rows == 4


@pytest.mark.parametrize("name", ["number {}".format, int])
def test_rows_read_as_labels_arrive_are_recognised_by_a_sample_of_their_identifiers(name):
    """With 128 of 3,000 identifiers kept, 300 rows that come again are recognised but in 2 of a million cases."""
    y, score = stream(3000, 3000)
    names = np.array([name(i) for i in np.random.default_rng(0).permutation(3000)])
    monitor = cal.Monitor(tolerance=0.02, delay="independent")
    for i in range(0, 3000, 500):
        part = slice(i, i + 500)
        monitor.update(y[part], score[part], id=names[part])
    monitor = cal.Monitor.from_json(monitor.to_json())
    before = monitor.to_json()
    with pytest.raises(DataError, match="rows that were not read before"):
        monitor.update(y[::10], score[::10], id=names[::10])
    few = np.array([name(i) for i in (5000, 5001)])
    with pytest.raises(DataError, match="every identifier once"):
        monitor.update([0, 1], [0.2, 0.7], id=few[[0, 0]])
    assert monitor.to_json() == before
    assert monitor.update([0, 1], [0.2, 0.7], id=few).rows == 3002
    with pytest.raises(DataError, match=r"the same identifiers as in an earlier update|again; pass every row once"):
        monitor.update([1, 0], [0.7, 0.2], id=few[::-1])
    with pytest.raises(ArgumentError, match="id in all updates or in none"):
        monitor.update([0, 1], [0.2, 0.7])
    assert cal.Monitor(tolerance=0.02, delay="independent").update([0], [0.2], id=["\ud800"]).rows == 1


def test_labels_by_name_and_one_class():
    named = cal.Monitor(tolerance=0).update(["no", "yes", "no"], [0.2, 0.7, 0.1], pos_label="yes")
    assert named.evidence == cal.Monitor(tolerance=0).update([0, 1, 0], [0.2, 0.7, 0.1]).evidence
    assert cal.Monitor(tolerance=0).update([0, 0, 0], [0.2, 0.7, 0.1]).rows == 3
    with pytest.raises(DataError, match="as many labels as scores"):
        cal.Monitor(tolerance=0).update([0, 1], [0.2])


def test_kept_rows_depend_on_their_number_alone():
    kept = []
    for sizes in ((5000,), (1, 999, 2500, 1500)):
        sums = Sums(StoredSums())
        for n in sizes:
            column = np.full(n, 0.5)
            sums.add(Read(column, column, None, column, column, column, None), 0, None)
        kept.append(list(sums.moments))
    assert kept[0] == kept[1]
    assert len(kept[0]) < 140
    assert kept[0] == sorted(kept[0])
    assert kept[0][-1] == 4992


def test_monitors_are_combined_by_their_means_and_sums():
    y, score = stream(4000, 0, seed=9, power=0.5)
    parts = [cal.Monitor(tolerance=0.01) for _ in range(2)]
    states = [one.update(y[i::2], score[i::2]) for i, one in enumerate(parts)]
    whole, both = cal.Monitor(tolerance=0.01).update(y, score), cal.monitoring.combine(parts)
    assert both.evidence == pytest.approx((states[0].evidence + states[1].evidence) / 2)
    assert both.rows == whole.rows
    assert both.bias_lower == pytest.approx(whole.bias_lower, rel=1e-12)
    assert both.alarm
    assert "ALARM     all streams together: the calibration error is more than 0.01" in str(both)
    with pytest.raises(ArgumentError, match="found none"):
        cal.monitoring.combine([])
    with pytest.raises(ArgumentError, match="the same settings"):
        cal.monitoring.combine([*parts, cal.Monitor(tolerance=0.02)])
    with pytest.raises(ArgumentError, match="monitors of mode 'total'"):
        cal.monitoring.combine([cal.Monitor(tolerance=0.02, mode="rate")])


def test_an_update_that_is_refused_leaves_the_state_as_it_was():
    monitor = cal.Monitor(tolerance=0.02, blocks=True)
    before = monitor.to_json()
    with pytest.raises(DataError, match="block 'a' again after another"):
        monitor.update([0, 1, 0], [0.2, 0.7, 0.2], block=["a", "b", "a"], file="january.csv")
    assert monitor.to_json() == before


@pytest.mark.parametrize("more", [{}, {"maturity": 2.0}, {"blocks": True}, {"mode": "rate"}])
def test_an_update_without_rows_changes_nothing(more):
    monitor = cal.Monitor(0.02, **more)
    columns = {"time": [1.0, 2.0, 3.0]} | ({"block": ["a", "a", "b"]} if more.get("blocks") else {})
    before = monitor.update([0, 1, 0], [0.2, 0.6, 0.4], **columns)
    after = monitor.update([], [], **{name: [] for name in columns})
    assert (after.rows, after.evidence, after.alarm, after.waiting) == (before.rows, before.evidence, False, 0)
    with pytest.raises(ValueError, match="expected"):
        monitor.update([], [0.5])
