"""An audit in a notebook: what IPython asks an object of an unknown type for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64decode

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    return cal.audit(rng.random(500) < p, p, tolerance=0.1, name="model <A>")


def test_an_audit_shows_verdict_numbers_and_picture(audit):
    page = audit._repr_html_()
    assert "model &lt;A&gt;" in page
    assert ">Verdict</th><td" in page
    assert str(audit).splitlines()[0][:40] in page
    assert {"Error", "Accuracy", "Data", "Advice"} < set(re.findall(r">([A-Z]\w+)</th>", page))
    assert b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', page)[1]).startswith(PNG)


def test_the_next_line_saves_the_picture(audit, tmp_path):
    plt.close("all")
    display = audit.plot()
    assert plt.get_fignums() == [display.figure_.number]
    plt.savefig(tmp_path / "a.png")
    saved = plt.imread(tmp_path / "a.png")
    assert saved.std() > 0.05  # something is drawn
    plt.close(display.figure_)


def test_axes_of_the_user(audit):
    figure, axes = plt.subplots(1, 2)
    display = audit.plot(ax=axes)
    assert (display.figure_, display.axes_) == (figure, tuple(axes))
    assert all(ax.lines for ax in axes)
    alone = plt.figure().subplots()
    assert audit.plot(ax=alone).axes_ == (alone,)
    with pytest.raises(ArgumentError, match="one to 2 axes, found 3"):
        audit.plot(ax=plt.figure().subplots(1, 3))
    plt.close("all")


def test_an_audit_prints_short(audit):
    assert len(repr(audit)) < 100
    assert len(str(audit).splitlines()) <= 14
    assert max(map(len, audit.details().splitlines())) <= 80
    assert len(audit.details()) > len(str(audit))


BACKEND = """
import matplotlib
from matplotlib.backends.backend_agg import FigureCanvas
matplotlib.interactive(True)
"""
FIRST = """
import matplotlib, calibrant as cal
cal.ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.2, 0.8, 0.6, 0.4])
assert matplotlib.is_interactive()
"""


@pytest.mark.slow
def test_the_first_picture_leaves_a_notebook_as_it_is(tmp_path):
    """A notebook's backend, chosen when the first figure is made, turns on that every figure is shown."""
    (tmp_path / "notebook_backend.py").write_text(BACKEND)
    environment = os.environ | {
        "MPLBACKEND": "module://notebook_backend",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
    }
    subprocess.run([sys.executable, "-c", FIRST], env=environment, check=True)
