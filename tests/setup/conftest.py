"""Lets the tests import the set-up modules, which run as files and are in no package."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "autograder" / "learner" / "setup"

sys.path.insert(0, str(SETUP))
