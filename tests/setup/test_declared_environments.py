"""pyproject.toml is the one list: environment.yml and the workflow must fit it."""

import copy
import re
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.setup.conftest import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
EVERY_PYTHON = [f"3.{minor}" for minor in range(40)] + ["4.0"]


def pythons_allowed_by_conda(requirement: str) -> list[str]:
    """The versions of Python that a conda requirement like "python=3.12" or "python>=3.11" allows."""
    specifier = requirement.removeprefix("python").strip()
    specifier = re.sub(r"^=(?!=)([\d.]+)$", r"==\1.*", specifier)  # conda's = is pip's ==….*
    return list(SpecifierSet(specifier).filter(EVERY_PYTHON))


def disagreements(conda: dict[str, Any], project: dict[str, Any]) -> list[str]:
    """What in environment.yml does not fit pyproject.toml, one sentence each."""
    wrong = []
    names = [entry for entry in conda["dependencies"] if isinstance(entry, str)]
    python = [name for name in names if re.match(r"python\b", name)]
    if len(python) != 1:
        wrong.append("environment.yml must name python once")
    for requirement in python:
        allowed = pythons_allowed_by_conda(requirement)
        refused = [v for v in allowed if v not in SpecifierSet(project["requires-python"])]
        if refused or not allowed:
            wrong.append(f"{requirement} is outside requires-python {project['requires-python']}")
    if "pip" not in names:
        wrong.append("environment.yml must name pip")
    wrong += [f"{name} belongs into pyproject.toml" for name in set(names) - {*python, "pip"}]

    pip_lines = [e["pip"] for e in conda["dependencies"] if isinstance(e, dict) and "pip" in e]
    for line in (line for lines in pip_lines for line in lines):
        editable = re.fullmatch(r"(?:-e|--editable) \.(?:\[(.*)\])?", line)
        if not editable:
            wrong.append(f"{line} belongs into pyproject.toml")
            continue
        extras = filter(None, re.split(r"\s*,\s*", editable.group(1) or ""))
        known = project["optional-dependencies"]
        wrong += [f"pyproject.toml has no extra {extra}" for extra in extras if extra not in known]
    if not any(pip_lines):
        wrong.append("environment.yml does not install the project")
    return wrong


def with_dependencies(*dependencies: object) -> dict[str, Any]:
    """environment.yml with other dependencies."""
    return {**copy.deepcopy(CONDA), "dependencies": list(dependencies)}


PROJECT_ITSELF = {"pip": ["-e .[test]"]}


def test_environment_yml_agrees_with_pyproject() -> None:
    assert disagreements(CONDA, PROJECT) == []


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        (with_dependencies("python=3.12", "pip", {"pip": ["-e .[tset]"]}), "no extra tset"),
        (with_dependencies("python=3.12", "pip", {"pip": ["-e .[test, x]"]}), "no extra x"),
        (with_dependencies("python=3.10", "pip", PROJECT_ITSELF), "outside requires-python"),
        (with_dependencies("python>=3.9", "pip", PROJECT_ITSELF), "outside requires-python"),
        (with_dependencies("python=9.9", "pip", PROJECT_ITSELF), "outside requires-python"),
        (with_dependencies("pip", PROJECT_ITSELF), "name python once"),
        (with_dependencies("python=3.12", PROJECT_ITSELF), "must name pip"),
        (with_dependencies("python=3.12", "pip"), "does not install the project"),
        (with_dependencies("python=3.12", "pip", "scipy", PROJECT_ITSELF), "scipy belongs into"),
        (
            with_dependencies("python=3.12", "pip", {"pip": ["-e .", "scipy"]}),
            "scipy belongs into",
        ),
    ],
)
def test_a_planted_fault_is_found(planted: dict[str, Any], fault: str) -> None:
    found = disagreements(planted, PROJECT)
    assert len(found) == 1
    assert fault in found[0]


def test_a_newer_requires_python_is_noticed() -> None:
    assert disagreements(CONDA, {**PROJECT, "requires-python": ">=3.13"}) != []


@pytest.mark.parametrize(
    ("requirement", "allowed"),
    [
        ("python=3.12", ["3.12"]),
        ("python==3.12.*", ["3.12"]),
        ("python>=3.11,<3.13", ["3.11", "3.12"]),
    ],
)
def test_pythons_allowed_by_conda(requirement: str, allowed: list[str]) -> None:
    assert pythons_allowed_by_conda(requirement) == allowed


def test_workflow_runs_the_same_on_linux_and_macos() -> None:
    job = WORKFLOW["jobs"]["test"]
    matrix = job["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    supported = SpecifierSet(PROJECT["requires-python"])
    assert all(isinstance(python, str) and python in supported for python in matrix["python"])
    assert "3.11" in matrix["python"]  # the oldest that we promise


def test_every_dependency_says_why_it_is_there() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]:
        Requirement(requirement)
        assert re.search(rf'"{re.escape(requirement)}",\s+# \S.{{10,}}\n', text), requirement


def test_files_that_are_not_python_are_installed_too() -> None:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["*"]
    installed = {pattern.removeprefix("**/*") for pattern in patterns}
    files = [path for name in ("autograder", "widgets") for path in (ROOT / name).rglob("*.*")]
    others = {p.suffix for p in files if p.is_file() and p.suffix not in (".py", ".pyc")}
    assert others <= installed


def test_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


def test_ci_calls_make_test_with_the_torch_of_the_facts() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert script.rstrip().endswith("exec make test")
    assert 'TORCH="${TORCH:-torch==2.13.0}"' in script
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
