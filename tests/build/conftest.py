"""One built mini course; each test gets a copy of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lessons.build import build
from tests.build.mini_course import write_mini_course


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = write_mini_course(tmp_path_factory.mktemp("mini") / "course")
    build(course)
    return course


@pytest.fixture
def course(built_once: Path, tmp_path: Path) -> Path:
    """A built mini course that a test may change."""
    return shutil.copytree(built_once, tmp_path / "course")
