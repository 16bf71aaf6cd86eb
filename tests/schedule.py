"""Which tests run on the same worker, one after another, where pytest-xdist spreads them.

Tests that share a JupyterLab stay together, and so do those of a file that shares something for the
module; all others go wherever there is time. pytest-xdist has `--dist loadgroup` for that, but its
3.8 writes the groups into names that pytest 9.2 no longer reads, and spreads the tests silently.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

SHARED_LAB = "the shared JupyterLab"


class BySharedFixtures(LoadScopeScheduling):
    """Hands out groups of tests, the largest first."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid, self.config.rootpath)


def group_of(nodeid: str, root: Path) -> str:
    """The group of a test: the shared JupyterLab, its file, or itself alone."""
    file = nodeid.split("::")[0]
    return shared_in(root / file) or nodeid


@cache
def shared_in(file: Path) -> str:
    """What the tests of a file share: "" if nothing that took a while to make."""
    text = file.read_text(encoding="utf-8")
    if "shared_lab" in text or "lab_page" in text:
        return SHARED_LAB
    return str(file) if 'scope="module"' in text else ""


def make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """This one, unless another way to spread tests is asked for with --dist."""
    return BySharedFixtures(config, log) if config.getoption("dist") == "load" else None
