"""A pytest plugin: `pytest --backward my_ops.py` checks every Function of a file that has `inputs` beside it.

Off unless asked for, and torch is imported only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("backward by hand")
    group.addoption(
        "--backward", action="store_true",
        help="check the torch.autograd.Functions of the named files that have `inputs` beside them",
    )  # fmt: skip
    group.addoption("--backward-seed", type=int, default=0, help="of random upstream gradients (0)")
    group.addoption("--backward-strict", action="store_true", help="advice counts as a failure")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    config = parent.config
    if file_path.suffix != ".py" or not config.getoption("--backward"):
        return None
    named = [
        Path(config.invocation_params.dir, str(a).split("::")[0]).resolve() for a in config.args
    ]
    return Functions.from_parent(parent, path=file_path) if file_path.resolve() in named else None


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | None:
    if not config.getoption("--backward") or any(isinstance(i, BackwardCheck) for i in items):
        return None
    return (
        "--backward checks nothing here: no file that was named has a Function with inputs "
        "(pytest --backward my_ops.py)"
    )


class Functions(pytest.File):
    """The Functions of a file; of a test file only where it has some with inputs: all else in it is pytest's own."""

    def collect(self) -> Iterator[pytest.Item]:
        from autograder.learner.commands import Stops, targets

        try:
            found = targets(self.path)
        except ValueError as error:
            if any(self.path.match(pattern) for pattern in self.config.getini("python_files")):
                if isinstance(error, Stops):  # run by itself; pytest imports it in its own way
                    self.warn(pytest.PytestWarning(f"--backward checks nothing here: {error}"))
                return
            raise self.CollectError(str(error)) from error
        for target in found:
            yield BackwardCheck.from_parent(self, name=target.name, target=target)


class BackwardCheck(pytest.Item):
    """One Function: passes where its report does."""

    def __init__(self, *, target: Any, **rest: Any):
        super().__init__(**rest)
        self.target = target

    def runtest(self) -> None:
        config = self.config
        report = self.target.report(
            seed=config.getoption("--backward-seed"), strict=config.getoption("--backward-strict")
        )
        if not report.passed:
            raise AssertionError(str(report))
        if report.remarks:
            self.add_report_section("call", "backward", str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        refused = isinstance(excinfo.value, (TypeError, ValueError)) and (
            Path(excinfo.traceback[-1].path).name == "any_function.py"  # inputs that make no sense
        )
        if refused or isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"backward of {self.name}"
