"""Opens JupyterLab on the course. Run by the Python that has JupyterLab: `make start`, or conda's.

Whatever follows on the command line goes to JupyterLab: `serve.py --no-browser --port 9999`.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from problem import SetupProblem, report

ROOT = Path(__file__).resolve().parents[3]
START_PAGE = Path("00_start_here") / "00_start_here.ipynb"
# Settings that keep JupyterLab from asking the internet for news, updates and extensions, and hide
# nbgrader's panel for writing assignments, with which a learner could only do harm.
OFFLINE_SETTINGS = Path(__file__).resolve().parent / "jupyter"


def check_can_serve(root: Path) -> None:
    """Raise SetupProblem when JupyterLab or the start page is not there."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise SetupProblem(
            f"JupyterLab is not installed for {sys.executable}.",
            ("Run `make start`, which installs what is missing.",),
        )
    if not (root / "course" / START_PAGE).is_file():
        raise SetupProblem(
            f"The start page is missing: course/{START_PAGE}.",
            (
                "`git checkout -- course` brings back what is gone from a clone.",
                "Or build it from the lessons: make build",
            ),
        )


def lab_command(root: Path, arguments: Sequence[str], is_root: bool) -> list[str]:
    """The command that serves root/course and opens the start page."""
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--Application.log_level=WARN",  # leaves the address and what is wrong
        f"--ServerApp.root_dir={root / 'course'}",
        f"--LabApp.default_url=/lab/tree/{START_PAGE.as_posix()}",
    ]
    if is_root:
        # Jupyter refuses to run as root, but in a container there is often nobody else.
        command.append("--ServerApp.allow_root=True")
    return [*command, *arguments]


def lab_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of the server: everybody's own, and the offline settings."""
    paths = [environment.get("JUPYTER_CONFIG_PATH", ""), str(OFFLINE_SETTINGS)]
    return {**environment, "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Become JupyterLab. Returns only when it cannot be started."""
    try:
        check_can_serve(root)
    except SetupProblem as problem:
        return report(problem)
    print("Opening the course in JupyterLab. To stop it: Ctrl-C here, then y.", flush=True)
    command = lab_command(root, arguments, is_root=os.geteuid() == 0)
    os.execve(command[0], command, lab_environment(os.environ))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
