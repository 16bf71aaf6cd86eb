"""The folder that progress is kept in during a test; no warning was given in it before."""

import pytest

from autograder.learner import progress_file


@pytest.fixture(autouse=True)
def progress_home(private_progress):
    progress_file._say_once.cache_clear()
    return progress_file.home()
