"""Writes docs/requirements.md: which versions are tested, what is installed, why, and under which licence.

python -m tests.docs.requirements        reasons are pyproject.toml's, licences what packages say of themselves
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/requirements.md"
TRIED = """
Tried besides: on 2026-11-23 the wheel under Python 3.12.1 and 3.13.0 with the CUDA build of torch 2.13.0, where [any-function.md](any-function.md) printed the
same to the letter; on 2026-11-24 torch 2.14.1: all lessons, right answers to every exercise, and the tests of all rooms but those of nbgrader, whole classes, installing and browsers; and
2.15.0, the newest then: what lessons and reports say of torch
([what differs](claims.md#what-differs)). What we lean on in torch that it promises nobody stands in `tests/house/test_torch_names.py`: run it first with a new version.
"""
# Packages of others that we judge, which is not recommending them; the last is a part of `test`.
LEFT_OUT = re.compile("(.*-)?bank|postgres")
HEAD = """# What it needs

`python -m tests.docs.requirements` writes this page from `pyproject.toml`, the workflow and the installed packages.

## Supported versions

| | tested on every change | allowed |
|---|---|---|
"""
GROUPS = {
    "": "Always: what checks a Function",
    "course": "`[course]`: lessons and widgets",
    "notebook": "`[notebook]`: a lesson in a notebook of another place, which has Jupyter already",
    "grading": "`[grading]`: a class",
    "test": "`[test]`",
    "site": "`[site]`",
    "cluster": "`[cluster]`: several machines",
    "triton": "`[triton]`: the kernels of lesson 12, on Linux",
}


def page() -> str:
    """The page as it has to be."""
    return HEAD + "\n".join(versions()) + "\n" + TRIED + "".join(tables())


def versions() -> Iterator[str]:
    """Rows of the table of versions."""
    project = project_table()
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]
    matrix = matrix["strategy"]["matrix"]
    [torch] = re.findall(r"TORCH:-torch==([\d.]+)", (ROOT / ".ci/run").read_text())
    [allowed] = [Requirement(one) for one in project["dependencies"] if one.startswith("torch")]
    names = {"ubuntu": "Linux", "macos": "macOS"}
    systems = ", ".join(names[one.split("-")[0]] for one in matrix["os"])
    yield f"| Python | {', '.join(matrix['python'])} | {project['requires-python']} |"
    yield f"| torch | {torch} | {allowed.specifier} |"
    yield f"| system | {systems} | grading submissions: Linux; Windows: in WSL |"


def tables() -> Iterator[str]:
    """A table of packages for each group of them."""
    project = project_table()
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    for name, lines in groups.items():
        if LEFT_OUT.fullmatch(name):
            continue
        yield f"\n## {GROUPS[name]}\n\n| package | why | licence |\n|---|---|---|\n"
        for line in lines:
            reason = re.search(rf'"{re.escape(line)}",\s+# (.+)', text)
            assert reason is not None, line
            package = Requirement(line).name
            yield f"| {package} | {reason[1].replace('|', '/')} | {licence(package)} |\n"


def licence(package: str) -> str:
    """What an installed package says of its licence. Raises PackageNotFoundError."""
    said = importlib.metadata.metadata(package)
    classified = [
        line.rsplit(" :: ", 1)[-1]
        for line in said.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    first = (said.get("License") or "").strip().partition("\n")[0]
    return said.get("License-Expression") or ", ".join(classified) or first


def project_table() -> dict:
    """[project] of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
