"""No test touches the progress of the person who runs it; how tests are spread over workers."""

import pytest

from autograder import progress_file


@pytest.fixture(autouse=True)
def private_progress(tmp_path, monkeypatch):
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(tmp_path / "progress-home"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is nothing to spread
def pytest_xdist_make_scheduler(config, log):
    from tests.schedule import make_scheduler

    return make_scheduler(config, log)
