"""What the files around the package say of it agrees: lower bounds of dependencies, versions, the conda recipe."""

import re
import tomllib
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).parents[1]

# Extras that CI does not install with the oldest versions: half a gigabyte of Spark, rivals for benchmarks, tools.
NOT_RUN = {"spark", "benchmark", "docs", "lint", "release"}
# Libraries that conda knows by other names.
CONDA_NAMES = {"duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}


def requirements():
    """Every requirement of pyproject.toml as (where, requirement), but for those of other extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"dependencies": project["dependencies"], **project["optional-dependencies"]}
    return [(group, line) for group, lines in groups.items() for line in lines if not line.startswith("calibrant[")]


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


def recipe(section):
    """Requirements of a section of the conda recipe, such as ``numpy >=2.0``."""
    text = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    return re.findall(
        r"^    - (.+)$", re.search(rf"^  {section}:\n((?:    .+\n)+)", text, flags=re.MULTILINE)[1], re.MULTILINE
    )


def test_the_conda_recipe_needs_the_same():
    run = [line.replace(" ", "") for line in recipe("run") if not line.startswith("python ")]
    groups = {"dependencies", "files", "report", "cli"}  # conda has no extras: its package has the command
    declared = bounds([line for group, line in requirements() if group in groups], ">=")
    assert bounds(run, ">=") == {CONDA_NAMES.get(name, name): versions for name, versions in declared.items()}
    assert "hatchling >=1.26" in recipe("host")


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("CHANGELOG.md", r"^## \[?(\d[\d.]*)\]? - \d{4}-\d{2}-\d{2}$"),
        ("packaging/conda/recipe.yaml", r'^  version: "(.+)"$'),
    ],
)
def test_files_name_the_version_of_the_package(file, pattern):
    found = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found, f"{file} names no version"
    assert found[1] == calibrant.__version__


def test_the_citation_has_the_date_of_the_changelog():
    date = re.search(r"^date-released: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"- {date[1]}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
