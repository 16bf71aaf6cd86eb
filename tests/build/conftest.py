"""One built mini course; each test gets a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lessons.build import build
from tests.build.mini_course import write_mini_course
from tests.nbgrader.classroom import shared_folder


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        build(write_mini_course(folder / "course"))

    return shared_folder(tmp_path_factory, "mini", make) / "course"


@pytest.fixture
def course(built_once: Path, tmp_path: Path) -> Path:
    """A built mini course that a test may change."""
    return shutil.copytree(built_once, tmp_path / "course")
