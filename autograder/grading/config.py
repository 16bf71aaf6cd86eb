"""Everything this course asks of nbgrader (config.toml), in one function that nbgrader_config.py calls.

Plug-ins are given by name, as nbgrader's own are: formgrader prints its configuration as JSON.
"""

import tomllib
from pathlib import Path

import nbgrader
from traitlets.config import Config

OWN_TEMPLATES = Path(__file__).parent / "templates"
NBGRADER_TEMPLATES = Path(nbgrader.__file__).parent / "server_extensions/formgrader/templates"


def configure(c: Config, *parts: str) -> None:
    """Switch on every plug-in of this course (or of some parts) in nbgrader's configuration `c`."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    for part in parts or listed:
        c.merge(Config(listed[part]))
        if part == "pages":
            places = [str(OWN_TEMPLATES), str(NBGRADER_TEMPLATES)]
            c.HTMLExporter.extra_template_basedirs = places
