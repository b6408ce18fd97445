"""Segments of ADULT and COVTYPE, for classifiers that do not see the columns that make them.

    python -m benchmarks.segments_real --data FOLDER --pictures FOLDER

ADULT by sex, race and education and their pairs, three times with other halves of the rows to train on; COVTYPE by
area.
`--data` is a folder with UCI's files, as adult/ and covtype/.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import calibrant
from calibrant.plots import SegmentDisplay, SegmentMapDisplay
from reproductions.datasets import ADULT_NUMBERS, SHARED, adult_rows, covtype

_BY = ("sex", "race", "education")
_FEW = 20_000  # rows of COVTYPE to train on


def adult_segments(folder: Path, seed: int) -> dict[str, Any]:
    """Return labels, scores and columns of half of the rows, for a model of the other half that does not see these."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.preprocessing import OrdinalEncoder

    frame = adult_rows(folder)
    label = (frame["income"] == ">50K").to_numpy()
    names = [name for name in frame.columns if name not in (*_BY, *ADULT_NUMBERS, "income")]
    numbers = [name for name in ADULT_NUMBERS if name not in ("fnlwgt", "education-num")]
    features = np.column_stack([OrdinalEncoder().fit_transform(frame[names]), frame[numbers]])
    train = np.random.default_rng(seed).permutation(len(frame)) < len(frame) // 2
    model = HistGradientBoostingClassifier(random_state=0).fit(features[train], label[train])
    score = model.predict_proba(features[~train])[:, 1]
    return {"data": label[~train], "prediction": score, "by": {name: frame[name][~train].to_numpy() for name in _BY}}


def covtype_segments(folder: Path) -> dict[str, Any]:
    """Return labels, scores and the area of the rows that a model of altitude and slope was not trained on."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    data = covtype(folder)
    train = np.random.default_rng(0).permutation(len(data.label)) < _FEW
    features = data.numbers
    model = HistGradientBoostingClassifier(random_state=0).fit(features[train], data.label[train])
    area = np.array(["Rawah", "Neota", "Comanche Peak", "Cache la Poudre"])[data.categories[:, 0]]
    score = model.predict_proba(features[~train])[:, 1]
    return {"data": data.label[~train], "prediction": score, "by": {"area": area[~train]}}


def tell(name: str, rows: dict[str, Any], depth: int) -> calibrant.SegmentAudit:
    """Print what is said of segments, at two tolerances."""
    print(f"\n{name}")
    for tolerance in (0.02, 0.05):
        found = calibrant.audit(**rows, depth=depth, tolerance=tolerance).segments
        counts = {word: int((found.verdicts == word).sum()) for word in ("certified", "undecided", "refuted")}
        print(f"tolerance {tolerance:g}: {counts}, bound {found.bound:.4f}, lower bound {found.lower_bound:.4f}")
    large = calibrant.audit(**rows, depth=depth, min_rows=1000).segments
    print(f"{large.n_segments} segments of 1000 rows at least: bound {large.bound:.4f}, table {large.upper.max():.4f}")
    print(calibrant.find_segments(**rows, depth=depth))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the last of ADULT and of COVTYPE")
    options = parser.parse_args()
    found = [tell(f"ADULT, seed {seed}", adult_segments(options.data, seed), 2) for seed in range(3)]
    trees = tell("COVTYPE", covtype_segments(options.data), 1)
    print(trees)
    if options.pictures is not None:
        for name, display in (
            ("adult", SegmentDisplay(found[-1])),
            ("map", SegmentMapDisplay(found[-1])),
            ("covtype", SegmentDisplay(trees)),
        ):
            display.plot().figure_.savefig(options.pictures / f"segments-{name}.png", dpi=80)


if __name__ == "__main__":
    main()
