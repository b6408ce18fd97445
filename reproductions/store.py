"""Files of an item: what others published, what was measured, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from reproductions.item import Item, Measured, Number

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["numbers_of", "save_drawings", "save_measured", "tables_of", "theirs_of"]

THEIRS = ("quantity", "value", "sd", "runs", "digits", "low", "high", "kind", "repeats", "source")


def theirs_of(item: Item) -> pd.DataFrame:
    """Return what the paper says about an item.

    Returns
    -------
    DataFrame
        Columns `quantity`; `value` with `sd` over `runs` and `digits` after the point (none if it is exact as it
        stands), or `low` and `high` where the source states a range; `kind`, one of `judge.KINDS`, where it does not
        follow from these; `repeats`, the quantity that it prints once more; `source`. No row if no number is printed.
    """
    path = item.folder / "theirs" / f"{item.name}.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(THEIRS))


def _results(item: Item) -> Path:
    return item.folder / "results"


def save_measured(item: Item, measured: Measured) -> None:
    """Write what a full run found, in place of what was there."""
    folder = _results(item)
    folder.mkdir(exist_ok=True)
    pd.DataFrame(measured.numbers, columns=Number._fields).to_csv(_numbers(item), index=False, float_format="%.10g")
    for path in folder.glob(f"{item.name}.*.csv"):
        path.unlink()  # a table that is no longer made must not stay
    for name, table in measured.tables.items():
        table.to_csv(folder / f"{item.name}.{name}.csv", index=False, float_format="%.6g")


def _numbers(item: Item) -> Path:
    return _results(item) / f"{item.name}.csv"


def numbers_of(item: Item) -> dict[str, Number]:
    """Return the stored numbers of the full form."""
    stored = pd.read_csv(_numbers(item), dtype={"quantity": str})
    return {row.quantity: Number(row.quantity, row.value, row.standard_error) for row in stored.itertuples()}


def tables_of(item: Item) -> dict[str, pd.DataFrame]:
    """Return the stored tables of the full form."""
    found = sorted(_results(item).glob(f"{item.name}.*.csv"))
    return {path.name.split(".")[1]: pd.read_csv(path) for path in found}


def save_drawings(item: Item, drawings: Mapping[str, Figure]) -> None:
    """Write the pictures, as PNG so that they show wherever the page is read."""
    folder = item.folder / "figures"
    folder.mkdir(exist_ok=True)
    for name, figure in drawings.items():
        figure.savefig(folder / f"{name}.png", dpi=150, facecolor="white", metadata={"Software": None})
