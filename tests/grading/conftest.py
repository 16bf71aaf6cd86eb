"""Courses with a gradebook, for the tests of what is written into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.grading.gradebooks import make_course, new_database, postgres_server
from tests.grading.walls import why_not
from tests.nbgrader.classes import guarded_class

__all__ = ["guarded_class"]


@pytest.fixture(scope="session")
def walls() -> None:
    """Skips where nothing can be isolated."""
    if why_not():
        pytest.skip(f"no sandbox here: {why_not()}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server of this test run's own."""
    with postgres_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def db_url(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """An empty database of each kind; None is nbgrader's own default, SQLite in the course folder."""
    if request.param == "sqlite":
        return None
    server = request.getfixturevalue("postgres")
    return new_database(server)


@pytest.fixture
def course(tmp_path: Path, db_url: str | None) -> Any:
    """A course with a gradebook on each kind of database."""
    return make_course(tmp_path / "course", db_url)


@pytest.fixture
def small_course(tmp_path: Path) -> Any:
    """A course with a gradebook on SQLite."""
    return make_course(tmp_path / "course")
