"""Model files that every later version has to read, with what they predicted when they were written.

``cd tests && python -m support.golden_models`` writes a file for every method of the cases that has none. Those that
are there stay as they are: one that no longer loads, or predicts something else, shows a mistake in this version.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from sklearn.base import clone

from calibrant.calibrators import SegmentCalibrator
from calibrant.export import save_model
from support.export_cases import CALIBRATORS, world
from support.segment_cases import COLUMNS, repaired_rows

FOLDER = Path(__file__).parents[1] / "unit" / "export" / "golden"
PREDICTIONS = FOLDER / "predictions.json"
OF_SEGMENTS = FOLDER / "segments"  # the model, and rows with what it predicted for them
SCORES = [0.0, 1e-9, 0.05, 0.2, 0.35, 0.475, 0.5, 0.62, 0.8, 0.99, 1.0]


def models() -> list[Path]:
    return sorted(set(FOLDER.glob("*.json")) - {PREDICTIONS})


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    predicted = json.loads(PREDICTIONS.read_text()) if PREDICTIONS.exists() else {}
    score, y = world("ties", 60)
    for name, calibrator in CALIBRATORS.items():
        path = FOLDER / f"{name.replace(', ', '_').replace(' ', '_')}.json"
        if not path.exists():
            fitted = clone(calibrator).fit(score, y)
            save_model(fitted, path)
            predicted[path.stem] = dict(zip(map(repr, SCORES), fitted.predict(SCORES).tolist(), strict=True))
    PREDICTIONS.write_text(json.dumps(predicted, indent=1) + "\n")
    if not OF_SEGMENTS.exists():
        OF_SEGMENTS.mkdir()
        score, y, columns = repaired_rows(1500)
        fitted = SegmentCalibrator(by=COLUMNS).fit(score, y, columns)
        save_model(fitted, OF_SEGMENTS / "model.json")
        rows = {name: list(of[:40]) for name, of in columns.items()}
        found = {"score": score[:40].tolist(), "segments": rows, "predicted": fitted.predict(score[:40], rows).tolist()}
        (OF_SEGMENTS / "rows.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    write()
