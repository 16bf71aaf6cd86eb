"""Every test here has a progress folder of its own."""

import pytest

from autograder import progress_file


@pytest.fixture(autouse=True)
def progress_home(tmp_path, monkeypatch):
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
