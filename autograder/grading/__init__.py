"""Grading with nbgrader: plug-ins, the pages instructors and learners open, and a demonstration.

``nbgrader_config.py`` switches the plug-ins on through :func:`autograder.grading.config.configure`.
"""

import os

os.environ.setdefault(
    "TRITON_INTERPRET", "1"
)  # read when triton is imported: grading asks on the CPU
