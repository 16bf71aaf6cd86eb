"""No test touches the progress of the person who runs it."""

import pytest

from autograder import progress_file


@pytest.fixture(autouse=True)
def private_progress(tmp_path, monkeypatch):
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(tmp_path / "progress-home"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
