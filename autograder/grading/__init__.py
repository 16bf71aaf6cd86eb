"""Grading with nbgrader: plug-ins, the pages instructors and learners open, and a demonstration.

``nbgrader_config.py`` switches the plug-ins on through :func:`autograder.grading.config.configure`.
"""

import importlib
import os
import sys

os.environ.setdefault(
    "TRITON_INTERPRET", "1"
)  # read when triton is imported: grading asks on the CPU


def import_jsonschema() -> None:
    """Import jsonschema, which nbformat needs, without the grammar of international addresses.

    The package rfc3987_syntax builds a parser for it while it is imported, which takes longer than
    importing torch; jsonschema does without where it is not installed. Notebooks have no such
    addresses to check.
    """
    name = "rfc3987_syntax"
    if "jsonschema" in sys.modules or name in sys.modules:
        return
    modules: dict[str, object] = vars(sys)["modules"]
    modules[name] = None  # what Python takes for "is not there"
    try:
        importlib.import_module("jsonschema")
    finally:
        del modules[name]
