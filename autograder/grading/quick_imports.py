"""Leaves out of what a command imports a second of work that it never needs."""

from __future__ import annotations

import importlib
import sys


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
