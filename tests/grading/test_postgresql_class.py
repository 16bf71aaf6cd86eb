"""A class on PostgreSQL from end to end: nbgrader's own commands before and after `autograder grade`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from autograder.grading import demo
from tests.build.mini_course import NAME, write_mini_course
from tests.nbgrader.submissions import LEARNERS

CHOSEN = ("right", "untouched", "wrong", "stripped")


@pytest.mark.slow
def test_a_class_on_postgresql(tmp_path: Path, postgres: str, walls: None) -> None:
    engine = create_engine(postgres + "postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE DATABASE whole_class"))
    engine.dispose()
    source = write_mini_course(tmp_path / "from")
    with (source / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.db_url = {postgres + 'whole_class'!r}\n")
    folder = tmp_path / "class"
    folder.mkdir()
    demo.prepare(source, folder)
    for name in CHOSEN:
        demo.submit(folder, NAME, name, LEARNERS[name].hands_in)
    demo.run(folder, "-m", "autograder", "grade", "--run-tests", "--jobs", "2")
    demo.run(folder, "-m", "nbgrader", "generate_feedback", NAME)
    assert not (folder / "gradebook.db").exists()
    scores = {row["student_id"]: float(row["score"]) for row in demo.scores(folder)}
    assert scores == {name: LEARNERS[name].deserves for name in CHOSEN}
    for name in CHOSEN:
        assert (folder / "feedback" / name / NAME / f"{NAME}.html").exists()
    demo.run(folder, "-m", "autograder", "export", "--format", "canvas")
    with (folder / "canvas.csv").open() as file:
        table = {row["SIS User ID"]: row[NAME] for row in csv.DictReader(file)}
    assert {name: float(table[name]) for name in CHOSEN} == scores
