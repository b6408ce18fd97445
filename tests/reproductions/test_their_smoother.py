"""Local regression on a tree with interpolation, against the default output of R's locfit 1.5-9.7."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproductions.fernandes_machado2024.their_smoother import tree_fit
from support.data import LOCFIT


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("nn", [0.15, 0.30, 0.70])
@pytest.mark.parametrize("name", ["smooth_50", "smooth_2000", "ties_500", "narrow_500", "extreme_500"])
def test_equals_the_default_of_locfit(name, nn, degree):
    rows = pd.read_csv(LOCFIT / f"input_{name}.csv")
    curves = pd.read_csv(LOCFIT / f"curves_{name}.csv")
    printed = curves[f"df_rect_nn{round(100 * nn):03d}_deg{degree}"].to_numpy()
    fit = tree_fit(rows["d"].to_numpy(np.int8), rows["score"].to_numpy(float), degree=degree, nn=nn)
    known = np.isfinite(printed)
    assert known.any()
    found = fit.predict(curves["x"].to_numpy(float))
    # locfit solves degree 2 to 1e-6; its printed values are not limited to [0, 1].
    assert found[known] == pytest.approx(np.clip(printed[known], 0.0, 1.0), abs=1e-6 if degree == 2 else 1e-9)
