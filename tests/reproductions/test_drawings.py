"""Every picture of the reproductions can be drawn again from the stored tables."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from reproductions.catalogue import ITEMS
from reproductions.store import tables_of

FOLDERS = sorted({item.folder for item in ITEMS})


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_stored_pictures_are_those_that_items_draw(folder):
    drawn = []
    for item in ITEMS:
        if item.folder == folder and item.draw is not None:
            for name, figure in item.draw(tables_of(item)).items():
                figure.canvas.draw()
                drawn.append(name)
                plt.close(figure)
    assert sorted(drawn) == sorted(path.stem for path in (folder / "figures").glob("*.png"))
