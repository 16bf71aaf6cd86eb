"""Opens JupyterLab on the course. Run by the Python that has JupyterLab: `make start`, or conda's.

How it is opened stands in jupyter/: on course/, at the start page, also for root (in a container there is
often nobody else), asking the internet nothing, and without nbgrader's panel for writing assignments, with
which a learner could only do harm. Whatever follows on the command line goes to JupyterLab:
`serve.py --no-browser --port 9999`.
"""

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from problem import SetupProblem, report

ROOT = Path(__file__).resolve().parents[3]
START_PAGE = Path("course", "00_start_here", "00_start_here.ipynb")
SETTINGS = Path(__file__).resolve().parent / "jupyter"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Become JupyterLab. Returns only when it cannot be started."""
    if importlib.util.find_spec("jupyterlab") is None:
        words = f"JupyterLab is not installed for {sys.executable}."
        return report(SetupProblem(words, ("Run `make start`, which installs what is missing.",)))
    if not (root / START_PAGE).is_file():
        back = "`git checkout -- course` brings back what is gone from a clone."
        build = "Or build it from the lessons: make build"
        return report(SetupProblem(f"The start page is missing: {START_PAGE}.", (back, build)))
    print("Opening the course in JupyterLab. To stop it: Ctrl-C here, then y.", flush=True)
    own = os.environ.get("JUPYTER_CONFIG_PATH", "")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (own, str(SETTINGS))))
    os.chdir(root)
    quiet = "--Application.log_level=WARN"  # leaves the address and what is wrong; a file is read too late for it
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", quiet, *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
