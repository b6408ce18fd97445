"""The paragraph for the results section of a paper."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.auditing.wording import sides_text
from support import class_audits, mean_audits


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.6, size=2_000)
    return (rng.uniform(size=2_000) < p).astype(int), p


@pytest.mark.slow
def test_of_labels(rows):
    words = {"rows": "patients", "events": "deaths", "clusters": "hospitals"}
    audit = cal.audit(*rows, costs=(1, 4), tolerance=0.1, cluster=np.arange(2_000) // 20, words=words)
    text = audit.sentence()
    ratio = audit.performance.observed_expected
    assert text.startswith(f"Among 2,000 patients in 100 hospitals there were {audit.positives:.0f} deaths (")
    assert f"O:E was {ratio.value:.3f} (95% CI " in text
    assert text.count("CI") == 1
    assert "Net benefit at a threshold of 20.0% was " in text
    low, high = map(float, text.partition("95% CI ")[2].partition(")")[0].split(" to "))
    assert ratio.lower - 0.001 <= low <= ratio.lower
    assert ratio.upper <= high <= ratio.upper + 0.001


@pytest.mark.grid
@pytest.mark.parametrize(
    ("tolerance", "said"),
    [(0.2, "which is within the tolerance of 0.2."), (0.01, "do not show whether it is within the tolerance of 0.01.")],
)
def test_of_a_tolerance(rows, tolerance, said):
    assert cal.audit(*rows, tolerance=tolerance).sentence().endswith(said)
    assert "tolerance" not in cal.audit(*rows).sentence()


def test_without_intervals(rows):
    text = cal.audit(*rows, weight=np.linspace(0.1, 0.9, 2_000)).sentence()
    assert "CI" not in text
    assert text.endswith(
        "without bounds: weights do not count rows (if each weight is a number of equal rows, pass count= or --count)."
    )


def test_of_classes_and_means():
    classes, means = class_audits.wrong(), mean_audits.flat_tariff()
    assert f" of {len(classes.classes)} classes, " in classes.sentence()
    assert f"Among {means.n:,.0f} rows" in means.sentence()
    assert sides_text(means.certificate) in means.sentence()
