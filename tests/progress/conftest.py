"""Every test here has a progress folder of its own, and is not mistaken for nbgrader."""

import pytest

from autograder import progress_file


@pytest.fixture(autouse=True)
def progress_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(home))
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(progress_file, "_warned", set())
    return home
