"""Makes or repairs .venv. Run as a file by `make`, before anything is installed.

This file checks only that Python is new enough, in words that Python 2.7 and 3.6 can read, so
that an old Python ends in a sentence and not in a SyntaxError. installation.py does the work.
"""

from __future__ import print_function

import os
import subprocess
import sys

OLDEST = (3, 11)  # the same as requires-python in pyproject.toml (a test compares them)
NEWER_NAMES = ["python3.14", "python3.13", "python3.12", "python3.11"]

TOO_OLD = """
This course needs Python {oldest} or newer. This is Python {found} ({path}).

What to do: install a newer Python beside it, then run the same command again.
  Debian, Ubuntu:   sudo apt install python3.12 python3.12-venv
  Fedora:           sudo dnf install python3.12
  macOS:            brew install python@3.12
  conda:            conda env create -f environment.yml
If it has another name or place, say which one to use:
  make start PYTHON=/path/to/python3.12
"""

WINDOWS = """
This course runs on Linux and macOS. On Windows it runs inside WSL, a Linux that Windows brings:
  1. In PowerShell, as administrator: wsl --install
  2. Open "Ubuntu" from the start menu, and clone and start the course there.
"""


def is_new_enough(version):
    """Whether version, a tuple like sys.version_info, is at least OLDEST."""
    return tuple(version[:2]) >= OLDEST


def too_old_message(version, path):
    """What to tell somebody whose Python is too old, and what to do about it."""
    return TOO_OLD.format(
        oldest=".".join(str(part) for part in OLDEST),
        found=".".join(str(part) for part in version[:3]),
        path=path,
    )


def find_newer_python(names=NEWER_NAMES):
    """The first of names that runs and is new enough, or None."""
    question = "import sys; sys.exit(sys.version_info[:2] < %r)" % (OLDEST,)
    with open(os.devnull, "w") as nowhere:
        for name in names:
            try:
                status = subprocess.call([name, "-c", question], stdout=nowhere, stderr=nowhere)
            except OSError:
                continue
            if status == 0:
                return name
    return None


def main():
    """Hand over to installation.py, on this Python or on a newer one that is here too."""
    if os.name == "nt":
        print(WINDOWS, file=sys.stderr)
        return 1
    if is_new_enough(sys.version_info):
        import installation

        return installation.main(sys.argv[1:])
    # Somebody who names a Python wants that one: do not go and take another behind their back.
    newer = None if "--python-chosen" in sys.argv else find_newer_python()
    if newer is None:
        print(too_old_message(sys.version_info, sys.executable), file=sys.stderr)
        return 1
    print("{} is Python {}; using {}.".format(sys.executable, sys.version.split()[0], newer))
    sys.stdout.flush()
    return subprocess.call([newer] + sys.argv)  # noqa: RUF005 - Python 2.7 reads this


if __name__ == "__main__":
    sys.exit(main())
