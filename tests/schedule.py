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
from xdist.workermanage import WorkerController

SHARED_LAB = "the shared JupyterLab"


class BySharedFixtures(LoadScopeScheduling):
    """Hands out groups of tests, the largest first; where a worker dies, what it had not run is another's.

    pytest-xdist 3.8 would give its test to the next worker to die of, and to one that has not collected any yet.
    """

    def remove_node(self, node: WorkerController) -> str | None:
        work = self.assigned_work[node]
        left = {
            scope: {t: done for t, done in unit.items() if not done} for scope, unit in work.items()
        }
        died_in = next((test for unit in left.values() for test in unit), None)
        for unit in left.values():
            unit.pop(died_in, None)
        self.assigned_work[node] = {scope: unit for scope, unit in left.items() if unit}
        super().remove_node(node)
        return died_in

    def _reschedule(self, node: WorkerController) -> None:
        """More for a worker that has collected its tests; it starts none before it knows the next one, or that it is the last."""
        for _ in range(2):
            if (
                node in self.registered_collections
                and self._pending_of(self.assigned_work[node]) < 2
            ):
                super()._reschedule(node)

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
