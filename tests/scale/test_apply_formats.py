"""`apply` loses and changes nothing: each format of input by each of output, compared with other readers.

What is written in place of values that a format cannot hold stands in docs/reference/apply.md.
"""

import codecs
import csv
import datetime as dt
import decimal
import functools
import gzip
import io
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant.calibrators import IsotonicCalibrator
from calibrant.errors import SourceError
from calibrant.export.apply import apply_to_file
from support.copied import OUTPUTS, read_copy

ROWS, LATE = 40_000, 25_000  # DuckDB looks at 20,480 rows of JSON before it decides on names and types
NOTES = [
    "",
    "a,b",
    'he said "no"',
    "two\nlines",
    "two\r\nlines",
    "back\\slash",
    " spaces ",
    "007",
    "ü\u2028;\t|",
    "NULL",
]
D = decimal.Decimal


@pytest.fixture(scope="module")
def calibrator():
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    return IsotonicCalibrator().fit(p, rng.random(2000) < p**2)


@functools.cache
def scores(rows):
    return np.random.default_rng(4).random(rows).tolist()


def objects(rows, late):
    """Keys and types that appear late, keys that differ in case, and what other formats cannot hold."""
    kinds = [1, 1.5, "x", None, True, [1, {"k": None}], {"deep": {"A": 1, "a": 2}}, 2**70, -0.0, "", "null", 1e300]
    return [
        {"y": i % 2, "p": p, "ID": i, "id": f"{i:06}", "note": NOTES[i % len(NOTES)], "a.b/c~d": i, "": "no name"}
        | ({"late": {"n": i}, "mixed": kinds[i % len(kinds)]} if i >= late else {"mixed": i})
        | ({"rare\n'\"": None} if i == rows - 1 else {})
        for i, p in enumerate(scores(rows))
    ]


def records(rows, late):
    header = ["y", "p", "ID", "id", "note", " padded", "", "late", "late"]
    return header, [
        [str(i % 2), repr(p), str(i), f"{i:06}", NOTES[i % len(NOTES)], "1.50", "-0", "x" if i >= late else "", "+1"]
        for i, p in enumerate(scores(rows))
    ]


def table(rows):
    moment = dt.datetime(2026, 3, 29, 0, 59, 59, 123456)
    each = {
        "y": (pa.int8(), [0, 1]),
        "bool": (pa.bool_(), [True, None, False]),
        "long": (pa.int64(), [2**63 - 1, -(2**63), 2**53 + 1]),
        "unsigned": (pa.uint64(), [2**64 - 1, None]),
        "single": (pa.float32(), [0.1, math.nan, math.inf, -0.0, None]),
        "double": (pa.float64(), [0.1, math.nan, -math.inf, 5e-324, 1e22, None]),
        "amount": (pa.decimal128(38, 5), [D("123456789012345678901234567890123.12345"), D("-0.10000"), None]),
        "price": (pa.decimal128(19, 4), [D("123456789012345.1234"), D("0.1000")]),
        "text": (pa.string(), [*NOTES, None]),
        "kind": (pa.dictionary(pa.int32(), pa.string()), ["a", "b", None]),
        "day": (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        "moment": (pa.timestamp("us"), [moment, dt.datetime(1, 1, 1), None]),
        "zoned": (pa.timestamp("us", "Europe/Berlin"), [moment.replace(tzinfo=dt.UTC), None]),
        "exact": (pa.timestamp("ns"), [1, 1_700_000_000_123_456_789, None]),
        "clock": (pa.time64("us"), [dt.time(23, 59, 59, 999999), dt.time(0)]),
        "list": (pa.list_(pa.float64()), [[0.1, None], [], None]),
        "nested": (pa.struct([("k", pa.list_(pa.string())), ("é", pa.int64())]), [{"k": ['"', "a,b"], "é": 2**53 + 1}]),
        "map": (pa.map_(pa.string(), pa.int64()), [[("k", 1), ("", None)], []]),
    }
    columns = {"p": pa.array(scores(rows))}
    for name, (type_, values) in each.items():
        columns[name] = pa.array([values[i % len(values)] for i in range(rows)], type_)
    return pa.table(columns)


def lines(rows, late, indent=""):
    return "".join(f"{indent}{json.dumps(each, ensure_ascii=False)}\n" for each in objects(rows, late)).encode()


def array(rows, late):
    return json.dumps(objects(rows, late), indent=1).encode()


def separated(rows, late, delimiter):
    header, body = records(rows, late)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([header, *body])
    return text.getvalue().encode()


INPUTS = {
    "s.csv": functools.partial(separated, delimiter=","),
    "s.tsv": functools.partial(separated, delimiter="\t"),
    "semicolon.csv": functools.partial(separated, delimiter=";"),
    "bar.csv.gz": lambda *of: gzip.compress(separated(*of, "|")),
    "marked.csv": lambda *of: codecs.BOM_UTF8 + separated(*of, ","),
    "s.jsonl": lines,
    "s.ndjson.gz": lambda *of: gzip.compress(lines(*of)),
    "marked.jsonl": lambda *of: codecs.BOM_UTF8 + lines(*of),
    "marked.jsonl.gz": lambda *of: gzip.compress(codecs.BOM_UTF8 + lines(*of)),
    "indented.jsonl": functools.partial(lines, indent=" \t"),
    "array.json": array,
}


def text_of(value):
    """What a JSON value is where there is only text."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def same(found, expected):
    """Compare values as Python has them; numbers as numbers, NaN with itself, and -0.0 with itself alone."""
    if isinstance(expected, float) and isinstance(found, float):
        return (math.isnan(found) and math.isnan(expected)) or (found, repr(found)) == (expected, repr(expected))
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected and isinstance(found, bool) == isinstance(expected, bool)


def assert_rows(found, expected):
    assert len(found) == len(expected)
    for row, (left, right) in enumerate(zip(found, expected, strict=True)):
        assert len(left) == len(right), row
        for i, (one, other) in enumerate(zip(left, right, strict=True)):
            assert same(one, other), (row, i, one, other)


def assert_calibrated(found, calibrator, rows):
    np.testing.assert_allclose([float(value) for value in found], calibrator.predict(scores(rows)), rtol=0, atol=1e-15)


def check_text(name, output, rows, late, calibrator, folder):
    """Copy a text file, and compare."""
    path, copy = folder / name, folder / f"o.{output}"
    path.write_bytes(INPUTS[name](rows, late))
    is_json = ".csv" not in name and ".tsv" not in name
    if is_json:
        expected = objects(rows, late)
        header = list(dict.fromkeys(key for each in expected for key in each))
        values = [[text_of(each.get(key)) for key in header] for each in expected]
    else:
        header, values = records(rows, late)
    if output == "parquet" or (output == "jsonl" and not is_json):
        with pytest.raises(SourceError, match=r"found .*'late', 'late'|found 'ID', 'id', ''"):
            apply_to_file(calibrator, path, copy, score="p")
        assert not copy.exists()
        kept = [i for i, key in enumerate(header) if key.strip() and key not in ("id", "late")]
        header, values = [header[i] for i in kept], [[row[i] for i in kept] for row in values]
        if is_json:
            expected = [{key: value for key, value in each.items() if key in header} for each in expected]
            path.write_text("".join(json.dumps(each) + "\n" for each in expected))
        else:
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([header, *values])
            values = [[value or None for value in row] for row in values]  # CSV has no missing values
    assert apply_to_file(calibrator, path, copy, score="p") == rows
    names, found = read_copy(copy)
    if output == "jsonl":
        if not is_json:
            expected = [dict(zip(header, row, strict=True)) for row in values]
        assert_calibrated([each.pop("calibrated") for each in found], calibrator, rows)
        assert [list(each) for each in found] == [list(each) for each in expected]
        assert_rows([list(each.values()) for each in found], [list(each.values()) for each in expected])
        return
    assert names == [*header, "calibrated"]
    assert_calibrated([row[-1] for row in found], calibrator, rows)
    if output != "parquet":
        values = [["" if value is None else value for value in row] for row in values]
    found = [list(row[:-1]) for row in found]
    if is_json:  # 1e-05 may be written as 0.00001, and {"a": 1} without the space
        for at in (header.index("p"), header.index("mixed")):
            for row in (*found, *values):
                row[at] = loads(row[at])
    assert_rows(found, values)


def loads(text):
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text


@pytest.mark.grid
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", INPUTS)
def test_few_rows(name, output, calibrator, tmp_path):
    check_text(name, output, 60, 30, calibrator, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", INPUTS)
def test_what_appears_late(name, output, calibrator, tmp_path):
    check_text(name, output, ROWS, LATE, calibrator, tmp_path)


def plain(value, type_):
    """What a value of Parquet is in JSON, as Python reads it."""
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return str(value)
    if pa.types.is_map(type_):
        return dict(value)
    return value


def clock(text):
    """Read the time of a day; to PyArrow 16 all are of UTC, and DuckDB says so."""
    return text.removesuffix("+00")


def from_json(value, type_):
    if value is None:
        return None
    if pa.types.is_decimal(type_):
        return D(value)
    if pa.types.is_time(type_):
        return clock(value)
    if pa.types.is_timestamp(type_) and type_.tz:
        return dt.datetime.fromisoformat(value)
    return value


@pytest.mark.parametrize("rows", [60, pytest.param(ROWS, marks=pytest.mark.slow)])
class TestParquet:
    @pytest.fixture
    def file(self, rows, tmp_path):
        original = table(rows)
        pq.write_table(original, tmp_path / "s.parquet", row_group_size=rows // 3)
        return original, tmp_path / "s.parquet"

    def test_to_parquet(self, file, rows, calibrator, tmp_path):
        original, path = file
        blobs = [None, b"\x00\xff", b"text", b""]
        binary = pa.array([blobs[i % 4] for i in range(rows)], pa.binary())
        nested = pa.array([[blobs[i % 4]] for i in range(rows)], pa.list_(pa.binary()))
        original = original.append_column("binary", binary).append_column("binaries", nested)
        pq.write_table(original, path, row_group_size=rows // 3)
        assert apply_to_file(calibrator, path, tmp_path / "o.parquet", score="p") == rows
        back = pq.read_table(tmp_path / "o.parquet")
        assert_calibrated(back["calibrated"].to_pylist(), calibrator, rows)
        assert back.column_names == [*original.column_names, "calibrated"]
        for name in original.column_names:
            expected = original[name]
            if name == "kind":
                expected = expected.cast(pa.string())
            if name == "zoned":
                expected = expected.cast(pa.timestamp("us", "UTC"))
            found = back[name]
            assert found.type == expected.type or pa.types.is_nested(found.type), name
            # NaN is not equal to itself.
            if pa.types.is_floating(found.type):
                assert_rows([found.to_pylist()], [expected.to_pylist()])
            else:
                assert found.cast(expected.type).equals(expected), name

    def test_to_json(self, file, rows, calibrator, tmp_path):
        original, path = file
        assert apply_to_file(calibrator, path, tmp_path / "o.jsonl", score="p") == rows
        with (tmp_path / "o.jsonl").open(encoding="utf-8") as lines:
            found = [json.loads(line, parse_float=str) for line in lines]
        assert_calibrated([each.pop("calibrated") for each in found], calibrator, rows)
        assert list(found[0]) == original.column_names
        for name, column in zip(original.column_names, original.columns, strict=True):
            values = [each[name] for each in found]
            if name == "exact":
                assert pa.array(values).cast(column.type).equals(column.combine_chunks())
                continue
            parse = float if pa.types.is_floating(column.type) else lambda value: value
            values = [value if isinstance(value, float) else from_json(value, column.type) for value in values]
            values = [parse(value) if isinstance(value, str) else value for value in values]
            if name == "list":
                values = [each and [item and float(item) for item in each] for each in values]
            expected = column.to_pylist()
            if name != "zoned":
                expected = [plain(value, column.type) for value in expected]
            assert_rows([values], [expected])

    @pytest.mark.parametrize("ending", ["csv", "tsv"])
    def test_to_text(self, file, rows, ending, calibrator, tmp_path):
        original, path = file
        assert apply_to_file(calibrator, path, tmp_path / f"o.{ending}", score="p") == rows
        header, found = read_copy(tmp_path / f"o.{ending}")
        assert header == [*original.column_names, "calibrated"]
        *columns, calibrated = zip(*found, strict=True)
        assert_calibrated(calibrated, calibrator, rows)
        read = {
            "bool": {"true": True, "false": False}.get,
            "single": lambda text: float(np.float32(text)),
            "zoned": dt.datetime.fromisoformat,
            "clock": clock,
        }
        for name, texts in zip(original.column_names, columns, strict=True):
            column, type_ = original[name].to_pylist(), original[name].type
            if name == "exact":
                assert pa.array([text or None for text in texts]).cast(type_).equals(original[name].combine_chunks())
                continue
            if pa.types.is_integer(type_):
                parse = int
            elif pa.types.is_decimal(type_):
                parse = D
            elif pa.types.is_nested(type_):
                parse, column = json.loads, [plain(value, type_) for value in column]
            else:
                parse = read.get(name, float if pa.types.is_floating(type_) else str)
                column = column if name in ("bool", "single", "zoned") else [plain(value, type_) for value in column]
            values = [text if name == "text" else parse(text) if text else None for text in texts]
            assert_rows([values], [[("" if name == "text" and v is None else v) for v in column]])
