"""Columns that nobody named, but that say whom a row is about: told by name, and by how often values repeat."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.table.clusters import identifiers, repeated_of

NAMED = {"outcome": "default", "prediction": "pd"}


@pytest.mark.parametrize(
    "name", ["id", "ID", "customer_id", "customerId", "Patient ID", "loan.id", "Kreditnehmer", "patient"]
)
def test_names_of_identifiers(name):
    assert identifiers([name, "default"], ["default"]) == [name]
    assert identifiers([name], [name]) == []


@pytest.mark.parametrize(
    "name", ["paid", "valid", "rapid", "grid", "identity", "PAID", "month", "score", "ids_seen", "covid"]
)
def test_other_names(name):
    assert identifiers([name], []) == []


@pytest.mark.parametrize(
    ("values", "rows", "found"),
    [
        ({"id": 2600}, 91_865, "id"),
        ({"id": 91_865, "borrower": 2600}, 91_865, "borrower"),  # the identifier of the row, and that of the borrower
        ({"branch_id": 12}, 91_865, None),  # a group
        ({"product_id": 50}, 91_865, None),
        ({"id": 1000}, 1100, None),  # a few twice
    ],
)
def test_values_that_repeat(values, rows, found):
    again = repeated_of(values, rows)
    assert (again and again.column) == found


@pytest.fixture(scope="module")
def months():
    """Sixty borrowers in six months, in an order of which neighbours do not tell."""
    rng = np.random.default_rng(0)
    pd_, borrower = rng.uniform(0.02, 0.4, 60), np.arange(60)
    frame = pd.DataFrame({"borrower": borrower, "pd": pd_, "default": (rng.random(60) < pd_).astype(int)})
    frame["grade"] = np.where(frame["pd"] < 0.2, "A", "B")
    return pd.concat([frame.assign(month=i, pd=frame["pd"] + 0.001 * i) for i in range(6)])


def as_query(frame, folder):
    frame.to_csv(folder / "q.csv", index=False)
    return cal.Query(f"SELECT * FROM '{folder / 'q.csv'}'")


def as_file(frame, folder):
    frame.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


WAYS = {
    "frame": lambda frame, _: frame,
    "lazy": lambda frame, _: pl.from_pandas(frame).lazy(),
    "file": as_file,
    "query": as_query,
}
DOORS = {
    "audit": lambda rows, **more: cal.audit(rows, **NAMED, **more),
    "segments and grades": lambda rows, **more: cal.audit(
        rows, **NAMED, by="grade", grade="grade", min_rows=20, **more
    ),
    "selective": lambda rows, **more: cal.selective(rows, **NAMED, **more),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_asks_whether_rows_are_independent(months, tmp_path, door, way):
    found = DOORS[door](WAYS[way](months, tmp_path))
    (message,) = [one.message for one in found.warnings if one.code == "repeated_ids"]
    assert message.startswith("Are these rows independent? Column borrower has about 60 different values in 360 rows.")
    assert message.endswith("name it with --cluster borrower (cluster=).")
    assert "Are these rows independent?" in str(found)
    named = DOORS[door](WAYS[way](months, tmp_path), cluster="borrower")
    assert not [one for one in named.warnings if one.code == "repeated_ids"]


def test_one_row_each_and_arrays_are_not_asked_about(months):
    first = months[months["month"] == 0]
    assert "repeated_ids" not in [one.code for one in cal.audit(first, **NAMED).warnings]
    assert "repeated_ids" not in [one.code for one in cal.audit(months["default"], months["pd"]).warnings]
