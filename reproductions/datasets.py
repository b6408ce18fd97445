"""ADULT and COVTYPE of the UCI repository, from a folder or through scikit-learn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from reproductions.item import HERE

__all__ = [
    "ADULT_NUMBERS",
    "SHARED",
    "ChangedFileError",
    "Dataset",
    "adult",
    "adult_rows",
    "adult_test_rows",
    "checked",
    "covtype",
    "covtype_rows",
    "without_repeated",
]

SHARED = HERE.parents[1] / "shared" / "data"  # where these files lie beside some checkouts

# fmt: off
_ADULT = ("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
          "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income")
ADULT_NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
# fmt: on
_NAMES = tuple(column for column in _ADULT[:-1] if column not in ADULT_NUMBERS)
_SHA256 = {  # of what the loaders below give, not of the files: scikit-learn's copies come in another form
    "ADULT": "a2c07a13c9e5bb1d9881f55015fb54843b35d6d7c3ac923c4a4053129f3fc5dd",
    "test rows of ADULT": "f47f1307ab752415785f37e69abd66aae6fe6ed4372aae842d118d99fb0c6904",
    "COVTYPE": "6eb6c437a48dae64a41b6ab25704a47164203b514903ca1f92a927c54f41c5b1",
}
_N_ADULT_TRAIN = 32_561
# Columns of COVTYPE: numbers, indicators of areas, indicators of soils, and the kind of trees.
_N_NUMBERS, _N_AREAS = 10, 4
_LARGEST = 2  # lodgepole pine


@dataclass(frozen=True)
class Dataset:
    """A binary classification task.

    Attributes
    ----------
    name : str
        Its name.
    numbers : ndarray of shape (n, a)
        Features that are quantities.
    categories : ndarray of int of shape (n, b)
        Features that are names, each as its place among the names of the column.
    n_values : tuple of int
        How many names each of these columns has.
    label : ndarray of bool of shape (n,)
        Whether a row is positive.
    """

    name: str
    numbers: npt.NDArray[np.float64]
    categories: npt.NDArray[np.int64]
    n_values: tuple[int, ...]
    label: npt.NDArray[np.bool_]


def adult(folder: Path | None) -> Dataset:
    """Return ADULT: who earns more than 50,000 dollars a year.

    Training and test rows of UCI stand together. A missing value is a name of its own. Rows are in the order of their
    values, so that they do not depend on where they come from.

    Parameters
    ----------
    folder : Path or None
        Holds ``adult/adult.data`` and ``adult/adult.test``; None fetches the rows through scikit-learn.

    Raises
    ------
    FileNotFoundError
        If the folder lacks a file.
    ConnectionError
        If there is no folder and the rows cannot be fetched.
    """
    frame = _adult_fetched() if folder is None else adult_rows(folder)
    frame = frame.sort_values(list(_ADULT), ignore_index=True)
    coded = [pd.factorize(frame[column], sort=True) for column in _NAMES]
    return Dataset(
        "ADULT",
        frame[list(ADULT_NUMBERS)].to_numpy(np.float64),
        np.column_stack([codes for codes, _ in coded]),
        tuple(len(values) for _, values in coded),
        (frame["income"] == ">50K").to_numpy(),
    )


def adult_rows(folder: Path) -> pd.DataFrame:
    """Return all columns of UCI's files of ADULT, training and test rows together, in their order."""
    # adult.test starts with a comment, and its labels end in a full stop
    parts = [
        pd.read_csv(_found(folder / "adult" / file), names=list(_ADULT), skipinitialspace=True, skiprows=skipped)
        for file, skipped in (("adult.data", 0), ("adult.test", 1))
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(income=frame["income"].str.rstrip("."))


def adult_test_rows(folder: Path | None) -> npt.NDArray[np.bool_]:
    """Return which rows of `adult` UCI set aside for testing: those of ``adult.test``, the last 16,281 of its rows.

    Raises
    ------
    ChangedFileError
        If the rows are not UCI's, or come in another order.
    """
    frame = _adult_fetched() if folder is None else adult_rows(folder)
    frame = frame.assign(test=np.arange(len(frame)) >= _N_ADULT_TRAIN)
    test = frame.sort_values([*_ADULT, "test"])["test"].to_numpy()
    _check("test rows of ADULT", hashlib.sha256(test.astype("u1").tobytes()), len(test))
    return test


def _adult_fetched() -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    found = _fetched("ADULT", lambda: fetch_openml("adult", version=2, as_frame=True))
    frame = found.data.assign(income=found.target)
    names = [*_NAMES, "income"]
    frame[names] = frame[names].astype(object).fillna("?").astype(str)
    return frame.astype(dict.fromkeys(ADULT_NUMBERS, np.int64))


def covtype(folder: Path | None) -> Dataset:
    """Return COVTYPE: whether the largest class, lodgepole pine, grows on a patch of forest.

    Rows are in the order of UCI's file, which is not random: the first 15,120 have equally many of each kind of trees.

    Parameters
    ----------
    folder : Path or None
        Holds ``covtype/covtype.data.gz``; None fetches the rows through scikit-learn.

    Raises
    ------
    FileNotFoundError
        If the folder lacks the file.
    ConnectionError
        If there is no folder and the rows cannot be fetched.
    """
    features, kind = covtype_rows(folder)
    numbers, areas, soils = np.split(features, [_N_NUMBERS, _N_NUMBERS + _N_AREAS], axis=1)
    return Dataset(
        "COVTYPE",
        numbers.astype(np.float64),
        np.column_stack([areas.argmax(axis=1), soils.argmax(axis=1)]),
        (areas.shape[1], soils.shape[1]),
        kind == _LARGEST,
    )


def covtype_rows(folder: Path | None) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """Return all features of COVTYPE (numbers, indicators of areas, indicators of soils) and the kind of trees."""
    if folder is None:
        from sklearn.datasets import fetch_covtype

        features, kind = _fetched("COVTYPE", lambda: fetch_covtype(return_X_y=True))
    else:
        rows = pd.read_csv(_found(folder / "covtype" / "covtype.data.gz"), header=None, dtype=np.int16).to_numpy()
        features, kind = rows[:, :-1], rows[:, -1]
    return features, kind


def _found(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: put UCI's file there, or use --fetch")
    return path


def _fetched(name: str, fetch: Callable[[], Any]) -> Any:
    try:
        return fetch()
    except OSError as error:
        raise ConnectionError(
            f"{name} could not be fetched ({error}): name a folder with UCI's files, as adult/ and covtype/, "
            "by --data FOLDER"
        ) from error


class ChangedFileError(ValueError):
    """Data are not those that the stored results were computed from."""


def checked(data: Dataset) -> Dataset:
    """Return the data if they are UCI's, by their SHA-256: the same for files and for what scikit-learn fetches.

    Raises
    ------
    ChangedFileError
        If a row or value differs.
    """
    digest = hashlib.sha256()
    for part in (data.numbers.astype("<i8"), data.categories.astype("<i8"), data.label.astype("u1")):
        digest.update(np.ascontiguousarray(part).tobytes())
    _check(data.name, digest, len(data.label))
    return data


def _check(name: str, digest: hashlib._Hash, n: int) -> None:
    if digest.hexdigest() != _SHA256[name]:
        raise ChangedFileError(
            f"{name}: expected the rows of UCI with SHA-256 {_SHA256[name]}, "
            f"found {n:,} rows with {digest.hexdigest()}; get the files again, or use --fetch"
        )


def without_repeated(data: Dataset) -> Dataset:
    """Return ADULT without the columns that say again what others say: names of the education, and relationship."""
    kept = [i for i, name in enumerate(_NAMES) if name not in ("education", "relationship")]
    return replace(data, categories=data.categories[:, kept], n_values=tuple(data.n_values[i] for i in kept))
