"""Gradescope's autograder: the zip, run in a clean root with Gradescope's folders, with and without namespaces."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from autograder.__main__ import main
from autograder.grading.export import PYTHON
from tests.grading.batches import CONFIG, LESSON, SQUARE, WRONG, add_lesson, notebook, using
from tests.grading.walls import needs_walls

pytestmark = pytest.mark.slow
GREEDY = SQUARE.replace("save_for_backward(x)", "save_for_backward(x, x * x)").replace(
    "(x,) =", "x, _ ="
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Gradescope's folder /autograder, with the zip unpacked in its source/."""
    course = tmp_path / "course"
    course.mkdir()
    (course / "nbgrader_config.py").write_text(CONFIG + "c.ExecuteInBox.points_by_promise = True\n")
    add_lesson(course, LESSON, notebook({"Square": "pass"}))
    given = course / "out.zip"
    command = ["export", "--course", str(course), "--format", "gradescope-autograder"]
    assert main(command) != 0  # which lesson?
    assert main([*command, "--lesson", LESSON, "--output", str(given)]) == 0
    folder = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (folder / name).mkdir(parents=True)
    with zipfile.ZipFile(given) as archive:
        archive.extractall(folder / "source")
        modes = {one.filename: one.external_attr >> 16 for one in archive.infolist()}
    for script in ("setup.sh", "run_autograder"):
        assert modes[script] & 0o111
        (folder / "source" / script).chmod(0o755)
        subprocess.run(["bash", "-n", folder / "source" / script], check=True)
    shutil.copy(folder / "source/run_autograder", folder)  # as Gradescope does
    return folder


def run_in_clean_root(place: Path, namespaces: bool) -> dict[str, Any]:
    """Run run_autograder where nothing but the system, what setup.sh installs and /autograder is there."""
    system = [
        f"/{name}"
        for name in ("usr", "bin", "sbin", "lib", "lib64", "etc")
        if Path(f"/{name}").exists()
    ]
    installed = str(Path(PYTHON).parent.parent)
    here = Path(sys.prefix).resolve()
    command = [
        "bwrap",
        "--die-with-parent",
        "--unshare-net",
        "--clearenv",
        "--setenv",
        "PATH",
        "/usr/bin:/bin",
    ]
    command += [word for folder in system for word in ("--ro-bind", folder, folder)]
    command += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    command += ["--ro-bind", str(here), installed, "--bind", str(place), "/autograder"]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/autograder"]
    command += ["--cap-add", "ALL"] if namespaces and os.getuid() == 0 else []
    command += [] if namespaces else ["--unshare-user", "--disable-userns"]
    done = subprocess.run([*command, "./run_autograder"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("outer=True" in done.stdout) <= namespaces
    found: dict[str, Any] = json.loads((place / "results/results.json").read_text())
    return found


@needs_walls
@pytest.mark.parametrize("namespaces", [True, False])
def test_a_submission_is_graded_in_gradescopes_folders(place: Path, namespaces: bool) -> None:
    (place / "submission" / "my homework (2).ipynb").write_text(notebook({"Square": GREEDY}))
    found = run_in_clean_root(place, namespaces)
    check, hidden, *promises = found["tests"]
    assert (check["name"], hidden["name"]) == ("Square (first check)", "Square (hidden check)")
    assert 1 < check["score"] < 2 < hidden["score"] < 3
    assert found["score"] == pytest.approx(check["score"] + hidden["score"])
    states = {one["name"]: one["status"] for one in promises}
    assert states["Square: memory"] == "failed"
    assert states["Square: values"] == states["Square: gradients"] == "passed"
    assert all("score" not in one for one in promises)
    _, how = pickle.loads((place / "source/lesson.pickle").read_bytes())
    assert str(how.seed) not in json.dumps(found)


@needs_walls
def test_wrong_waiting_and_missing_work(place: Path) -> None:
    hands_in = place / "submission" / f"{LESSON}.ipynb"
    hands_in.write_text(notebook({"Square": WRONG}))
    found = run_in_clean_root(place, namespaces=False)
    assert (found["score"], found["tests"][0]["status"]) == (0, "failed")
    hands_in.write_text(notebook({"Square": using("ctypes")}))
    found = run_in_clean_root(place, namespaces=False)
    assert found["score"] == 0
    assert "somebody still looks" in found["output"]
    hands_in.unlink()
    found = run_in_clean_root(place, namespaces=False)
    assert "A person looks at this" in found["tests"][0]["output"]
