"""The oldest versions that CI runs the tests on, `.ci/oldest.txt`, are the lower bounds that users are told."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Extras that CI does not install with the oldest versions: half a gigabyte of Spark, rivals for benchmarks, linters.
NOT_RUN = {"spark", "benchmark", "lint"}


def requirements():
    """Every requirement of pyproject.toml as (where, requirement)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    return [(group, line) for group, lines in groups.items() for line in lines]


def bounds(lines, operator):
    """Name -> the versions that lines such as ``numpy>=2.0`` give it, each as numbers without zeros at the end."""
    found = {}
    for line in lines:
        parts = re.fullmatch(rf"([a-z0-9-]+){operator}([0-9]+(?:\.[0-9]+)*)", line)
        assert parts, f"{line!r} is not NAME{operator}VERSION"
        version = re.sub(r"(?:\.0)+$", "", parts[2])
        found.setdefault(parts[1], set()).add(version)
    return found


def test_the_oldest_versions_are_the_lower_bounds():
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = bounds([line for line in lines if line and not line.startswith("#")], "==")
    declared = bounds([line for group, line in requirements() if group not in NOT_RUN], ">=")
    assert oldest == declared


def test_each_library_has_one_lower_bound():
    declared = bounds([line for _, line in requirements()], ">=")
    assert not {name: versions for name, versions in declared.items() if len(versions) > 1}


@pytest.mark.parametrize("line", ["numpy", "numpy~=2.0", "numpy>=2.0,<3"])
def test_a_requirement_of_another_form_is_found(line):
    with pytest.raises(AssertionError, match="is not NAME>=VERSION"):
        bounds([line], ">=")
