"""ADULT and COVTYPE come out the same from UCI's files and through scikit-learn."""

import gzip
import urllib.error

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from reproductions import datasets
from support.data import SHARED, needs_shared

DATA = SHARED / "data"

# Rows of UCI's files, in which a space follows each comma.
ADULT_DATA = """\
39,State-gov,77516,Bachelors,13,Never-married,Adm-clerical,Not-in-family,White,Male,2174,0,40,United-States,<=50K
52,Self-emp-not-inc,209642,HS-grad,9,Married-civ-spouse,Exec-managerial,Husband,White,Male,0,0,45,United-States,>50K

""".replace(",", ", ")
ADULT_TEST = """\
|1x3 Cross validator
18,?,103497,Some-college,10,Never-married,?,Own-child,White,Female,0,0,30,United-States,<=50K.
44,Private,160323,Some-college,10,Married-civ-spouse,Machine-op-inspct,Husband,Black,Male,7688,0,40,United-States,>50K.

""".replace(",", ", ")


@pytest.fixture
def adult_folder(tmp_path):
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.data").write_text(ADULT_DATA)
    (tmp_path / "adult" / "adult.test").write_text(ADULT_TEST)
    return tmp_path


def covtype_row(numbers, area, soil, kind):
    return [*numbers, *np.eye(4, dtype=int)[area], *np.eye(40, dtype=int)[soil], kind]


COVTYPE = [
    covtype_row([2596, 51, 3, 258, 0, 510, 221, 232, 148, 6279], 0, 28, 5),
    covtype_row([2804, 139, 9, 268, 65, 3180, 234, 238, 135, 6121], 0, 11, 2),
    covtype_row([2386, 159, 17, 60, -8, 108, 240, 227, 108, 660], 3, 1, 3),
]


@pytest.fixture
def covtype_folder(tmp_path):
    (tmp_path / "covtype").mkdir()
    with gzip.open(tmp_path / "covtype" / "covtype.data.gz", "wt") as file:
        file.writelines(",".join(map(str, row)) + "\n" for row in COVTYPE)
    return tmp_path


def same(one, two):
    assert (one.name, one.n_values) == (two.name, two.n_values)
    for field in ("numbers", "categories", "label"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))


def test_adult_is_both_files_without_comment_and_full_stops(adult_folder):
    found = datasets.adult(adult_folder)
    assert found.numbers[:, 0].tolist() == [18, 39, 44, 52]  # in order of their values
    assert found.numbers[:, 3].tolist() == [0, 2174, 7688, 0]
    assert found.label.tolist() == [False, False, True, True]
    # workclass: ? Private Self-emp-not-inc State-gov; eight such columns
    assert found.categories[:, 0].tolist() == [0, 3, 1, 2]
    assert found.n_values == (4, 3, 2, 4, 3, 2, 2, 1)


def test_adult_fetched_is_adult_read(adult_folder, monkeypatch):
    """OpenML's copy has another order of rows, categories for names and gaps for question marks."""
    lines = [line.rstrip(".").split(", ") for line in (ADULT_TEST + ADULT_DATA).splitlines() if line.count(",") == 14]
    frame = pd.DataFrame(lines, columns=list(datasets._ADULT)).replace("?", None)
    frame = frame.astype(dict.fromkeys(datasets.ADULT_NUMBERS, int))
    frame = frame.astype(dict.fromkeys(set(datasets._ADULT) - set(datasets.ADULT_NUMBERS), "category"))

    def fetch_openml(name, *, version, as_frame):
        assert (name, version, as_frame) == ("adult", 2, True)
        return Bunch(data=frame.drop(columns="income"), target=frame["income"].rename("class"))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    same(datasets.adult(None), datasets.adult(adult_folder))


def test_covtype_has_names_in_place_of_indicators(covtype_folder):
    found = datasets.covtype(covtype_folder)
    assert found.numbers[2].tolist() == COVTYPE[2][:10]
    assert found.categories.tolist() == [[0, 28], [0, 11], [3, 1]]
    assert found.n_values == (4, 40)
    assert found.label.tolist() == [False, True, False]


def test_covtype_fetched_is_covtype_read(covtype_folder, monkeypatch):
    rows = np.array(COVTYPE, dtype=float)
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", lambda return_X_y: (rows[:, :-1], rows[:, -1].astype(int)))
    same(datasets.covtype(None), datasets.covtype(covtype_folder))


@pytest.mark.parametrize(
    ("load", "file"), [(datasets.adult, "adult.data"), (datasets.covtype, "covtype.data.gz")], ids=["adult", "covtype"]
)
def test_a_missing_file_is_named(load, file, tmp_path):
    with pytest.raises(FileNotFoundError, match=file):
        load(tmp_path)


@pytest.mark.parametrize(
    ("load", "fetch"), [(datasets.adult, "fetch_openml"), (datasets.covtype, "fetch_covtype")], ids=["adult", "covtype"]
)
def test_neither_folder_nor_network(load, fetch, monkeypatch):
    def unreachable(*args, **kwargs):
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr(sklearn.datasets, fetch, unreachable)
    with pytest.raises(ConnectionError, match=r"could not be fetched .*no route to host.*--data FOLDER"):
        load(None)


@needs_shared
def test_all_of_adult():
    """Rows and names of values as in adult.names; positives by `grep -c ">50K"` of either file."""
    found = datasets.adult(DATA)
    assert found.label.sum() == 7_841 + 3_846
    assert datasets.checked(found) is found
    assert found.numbers.shape == (32_561 + 16_281, 6)
    assert found.n_values == (9, 16, 7, 15, 6, 5, 2, 42)  # with the missing values


@pytest.mark.slow
@needs_shared
def test_all_of_covtype():
    """Counts of covtype.info: 581,012 rows, 283,301 of lodgepole pine, and of each wilderness area."""
    found = datasets.covtype(DATA)
    assert found.numbers.shape == (581_012, 10)
    assert found.label.sum() == 283_301
    assert datasets.checked(found) is found
    assert np.bincount(found.categories[:, 0]).tolist() == [260_796, 29_884, 253_364, 36_968]
    assert found.numbers.mean(axis=0)[0] == pytest.approx(2959.36, abs=0.01)  # elevation


def test_other_rows_are_refused(adult_folder):
    with pytest.raises(datasets.ChangedFileError, match=r"ADULT: expected the rows of UCI .*found 4 rows"):
        datasets.checked(datasets.adult(adult_folder))


def test_repeated_columns_of_adult_can_be_left_out(adult_folder):
    full = datasets.adult(adult_folder)
    fewer = datasets.without_repeated(full)
    assert fewer.categories.shape[1] == full.categories.shape[1] - 2
    assert fewer.n_values == (4, 2, 4, 2, 2, 1)  # without education (3 names) and relationship (3)


@needs_shared
def test_uci_set_a_third_of_adult_aside_for_testing():
    test, label = datasets.adult_test_rows(DATA), datasets.adult(DATA).label
    assert (test.sum(), label[test].sum()) == (16_281, 3_846)  # UCI's adult.names gives these shares


def test_test_rows_of_other_files_are_refused(adult_folder):
    with pytest.raises(datasets.ChangedFileError, match=r"test rows of ADULT.*found 4 rows"):
        datasets.adult_test_rows(adult_folder)
