"""A course that installs in a moment and without a network, to try the real Makefile and pip on.

This file is also the build backend of that course (it is copied into it), so it needs only Python.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

# What `python -m jupyterlab` is in the tiny course: it says how it was called.
FAKE_LAB = """
import json, os, sys
said = {"arguments": sys.argv[1:], "folder": os.getcwd(), "config": os.environ["JUPYTER_CONFIG_PATH"]}
print(json.dumps(said))
"""
PYPROJECT = """
[build-system]
requires = []
build-backend = "tiny_project"
backend-path = ["."]

[project]
name = "tiny"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["torch>=2.13"]

[project.optional-dependencies]
course = ["lab"]
grading = []
test = ["checker"]
cluster = []
"""


def write_wheel(
    folder: Path, name: str, version: str, files: dict[str, str], headers: tuple[str, ...] = ()
) -> str:
    """Write a wheel that installs these files; its file name."""
    info = f"{name}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    contents = {
        **files,
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*contents, f"{info}/RECORD"])
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(folder / wheel, "w") as archive:
        for path, content in {**contents, f"{info}/RECORD": record}.items():
            archive.writestr(path, content)
    return wheel


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """What pip calls for `pip install --editable .`"""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    headers = [f"Requires-Dist: {needed}" for needed in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        headers.append(f"Provides-Extra: {extra}")
        headers += [f"Requires-Dist: {needed}; extra == '{extra}'" for needed in needs]
    return write_wheel(
        Path(wheel_directory),
        project["name"],
        project["version"],
        {},
        tuple(headers),
    )


def make_course(folder: Path, root: Path) -> Path:
    """A tiny course in a new folder, with root's Makefile and set-up; beside it a folder `wheels`."""
    course = folder / "a tiny course"
    shutil.copytree(root / "autograder/learner/setup", course / "autograder/learner/setup")
    shutil.copy(root / "Makefile", course)
    shutil.copy(__file__, course)
    (course / "pyproject.toml").write_text(PYPROJECT)
    page = course / "course" / "00_start_here" / "00_start_here.ipynb"
    page.parent.mkdir(parents=True)
    page.write_text("{}")
    wheels = folder / "wheels"
    wheels.mkdir()
    for version in ("2.13.0", "2.14.0"):
        write_wheel(wheels, "torch", version, {"torch/version.py": f"__version__ = '{version}'\n"})
    write_wheel(wheels, "lab", "1.0", {"jupyterlab.py": FAKE_LAB})
    write_wheel(wheels, "checker", "1.0", {"checker.py": ""})
    return course


def make(
    course: Path, *arguments: str, path: str = "", **settings: str | None
) -> subprocess.CompletedProcess[str]:
    """Run make in the tiny course, where pip sees only the wheels beside it."""
    ours = ("MAKE", "MFLAGS", "PIP_", "TORCH", "PYTHON", "LAB_ARGS", "VIRTUAL_ENV")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment = {
        **inherited,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": (course.parent / "wheels").as_uri(),
        "PYTHON": sys.executable,
        **settings,
    }
    environment = {name: value for name, value in environment.items() if value is not None}
    if path:
        environment["PATH"] = path
    return subprocess.run(
        [shutil.which("make") or "make", *arguments],
        cwd=course,
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


def torch_version(course: Path) -> str:
    """Which torch the tiny course has."""
    question = "import torch.version; print(torch.version.__version__)"
    python = course / ".venv" / "bin" / "python"
    return subprocess.run([python, "-c", question], capture_output=True, text=True).stdout.strip()


def lab_call(output: str) -> dict:
    """How JupyterLab was called, from what `make start` printed."""
    return json.loads(output.strip().splitlines()[-1])
