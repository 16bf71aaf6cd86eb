"""The base of our nbgrader plug-ins."""

from __future__ import annotations

from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Bool

Converted = tuple[NotebookNode, Any]


class CoursePreprocessor(Preprocessor):
    """A step nbgrader's converters take a notebook through; on unless it is switched off."""

    enabled = Bool(True, help="Whether nbgrader takes this step").tag(config=True)
