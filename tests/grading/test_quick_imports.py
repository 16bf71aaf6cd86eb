"""Grading one submission imports what it needs, and not the second's worth of what it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

SCRIPT = """
import json, sys
from autograder.grading import import_jsonschema
import_jsonschema()
import autograder.grading.one_submission
import jsonschema
jsonschema.validate({"a": 1}, {"type": "object", "required": ["a"]})
loaded = sorted(set(sys.modules) & {"nbgrader", "rfc3987_syntax", "torch", "nbformat"})
import rfc3987_syntax  # whoever needs it still gets it
print(json.dumps(loaded))
"""


@pytest.mark.skipif(not find_spec("rfc3987_syntax"), reason="there is nothing to leave out")
def test_what_grading_one_imports() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["nbformat", "torch"]
