"""Notebooks that stand alone, and what else belongs to a release.

    python lessons/alone.py ADDRESS    what `make release ADDRESS=…` runs: all of it into build/dist

ADDRESS is where the files will lie, as the folder of a release: the notebooks install the wheel from
there, and pip compares its hash. Of a release on GitHub a README with a button for Colab and one for
Kaggle beside each notebook is made too: both open notebooks from a branch, which that release calls
`notebooks`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FIRST_CELL = "install-the-course"
ONE_LESSONS = ("triton",)  # extras of the same name as a package that one lesson alone imports
REPOSITORY = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/")
# What opens a notebook of a public repository: where, and the button that the place gives out for it.
ELSEWHERE = {
    "Colab": (
        "https://colab.research.google.com/github/{}/blob/notebooks/{}.ipynb",
        "https://colab.research.google.com/assets/colab-badge.svg",
    ),
    "Kaggle": (
        "https://kaggle.com/kernels/welcome?src=https://github.com/{}/blob/notebooks/{}.ipynb",
        "https://kaggle.com/static/images/open-in-kaggle.svg",
    ),
}
CELL = """\
# Opened without the course? Then this cell installs it, and says so first. Run it once.
import importlib.metadata, importlib.util, subprocess, sys, tempfile

WHEEL = "{wheel}#sha256={sha256}"
NEEDS = "{needs}"
if importlib.util.find_spec("autograder") is None:
    names = "torch numpy jupyterlab notebook ipykernel ipython ipywidgets"
    here = {{d.name.lower(): d.version for d in importlib.metadata.distributions()}}
    stay = {{name: here[name] for name in names.split() if name in here}}
    torch = stay.get("torch", "{torch}")
    if tuple(map(int, torch.split("+")[0].split(".")[:2])) < {oldest}:
        raise RuntimeError(
            f"torch {{torch}} is installed here, and the course needs {torch} or newer. Nothing was "
            "changed. Update torch as this place says, restart the kernel, and run this cell again."
        )
    new = [name for name in NEEDS.split() if name not in here]
    print(f"The course is not here. Installing {{WHEEL}}")
    print("and what it needs:", ", ".join(new) or "nothing more is missing")
    print("These stay as they are:", ", ".join(map(" ".join, stay.items())) or "none are here")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        print(*map("==".join, stay.items()), sep="\\n", file=pins, flush=True)
        course = f"backward-by-hand[{extras}] @ {{WHEEL}}"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "-c", pins.name, course]
        subprocess.run(pip, check=True)
    importlib.invalidate_caches()
from autograder.learner.environment import settle

settle()
"""


def alone(notebook: NotebookNode, wheel: str, sha256: str, torch: str) -> NotebookNode:
    """A copy of a course notebook whose first cell brings the course where it is missing.

    Args:
        wheel: the address of the wheel.
        sha256: its hash, in hexadecimal.
        torch: the oldest that will do, as "2.13".
    """
    copy = nbformat.from_dict(notebook)
    extras = ["notebook", *(name for name in ONE_LESSONS if _imports(notebook, name))]
    filled = CELL.format(
        wheel=wheel, sha256=sha256, torch=torch, oldest=tuple(map(int, torch.split("."))),
        extras=",".join(extras), needs=" ".join(_needed(extras)),
    )  # fmt: skip
    cell = new_code_cell(filled)
    cell["id"] = FIRST_CELL
    copy.cells.insert(0, cell)
    return copy


def _imports(notebook: NotebookNode, package: str) -> bool:
    return any(re.search(rf"^\s*import {package}$", cell.source, re.M) for cell in notebook.cells)


def _needed(extras: list[str]) -> list[str]:
    """Names of the packages that the course needs with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in extras for line in of[extra])]
    return [Requirement(line).name for line in lines]


def opened_in(address: str, notebook: str, *, buttons: bool) -> list[str]:
    """Links that open a released notebook elsewhere, in Markdown; none for an address that is not on GitHub.

    Args:
        address: of a release, or of any file of the repository.
        notebook: its name, as "02_sigmoid".
        buttons: whether the places' own pictures are shown, which are fetched from them.
    """
    found = REPOSITORY.match(address)
    return [
        f"[{f'![Open in {place}]({picture})' if buttons else f'Open in {place}'}]({link.format(found[1], notebook)})"
        for place, (link, picture) in ELSEWHERE.items()
        if found
    ]


def make_wheel(root: Path, folder: Path) -> Path:
    """The source distribution and the wheel of this clone, in a folder; gives the wheel's path.

    Made of tracked files only. Raises CalledProcessError, with what was said on the terminal.
    """
    source = folder / "source"  # a build leaves files behind
    listed = ["git", "ls-files", "-z", "autograder", "widgets"]
    tracked = subprocess.run(listed, cwd=root, capture_output=True, check=True, text=True)
    others = ("pyproject.toml", "README.md", "LICENSE", "pytest_backward.py")
    for name in [*others, *tracked.stdout.split("\0")]:
        if name and (root / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, source / name)
    pack = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", pack], cwd=source, check=True, stdout=subprocess.PIPE)
    shutil.rmtree(source)
    [sdist] = folder.glob("*.tar.gz")
    wheel = [sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*wheel, "-w", str(folder), str(sdist)], cwd=folder, check=True)
    [made] = folder.glob("*.whl")
    return made


def release(root: Path, folder: Path, address: str) -> None:
    """Fill an empty folder with a release: source distribution, wheel, notebooks that stand alone."""
    folder.mkdir(parents=True)
    wheel = make_wheel(root, folder)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    rows = [
        "# Notebooks that open by themselves, and bring the course along",
        "",
        "| | | |",
        "|---|---|---|",
    ]
    for path in sorted((root / "course").glob("*/*.ipynb")):
        if path.stem == path.parent.name:
            rows.append("|".join(["", path.stem, *opened_in(address, path.stem, buttons=True), ""]))
            notebook = nbformat.read(path, as_version=4)
            made = alone(notebook, f"{address.rstrip('/')}/{wheel.name}", sha256, "2.13")
            nbformat.write(made, folder / path.name)
    if REPOSITORY.match(address):
        (folder / "README.md").write_text("\n".join([*rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shutil.rmtree(ROOT / "build/dist", ignore_errors=True)
    release(ROOT, ROOT / "build/dist", sys.argv[1])
    print("\n".join(sorted(path.name for path in (ROOT / "build/dist").iterdir())))
