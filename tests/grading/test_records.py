"""Records and seeds: kept whole or not at all, out of everybody's sight."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from autograder.grading.kept_files import hidden, replacing, write_new
from autograder.grading.marking import Mark, Result
from autograder.grading.records import Records, Seeds, new_record
from autograder.grading.words import CannotWrite
from tests.grading.gradebooks import all_records

LESSON = "01_doubling"
ODD = ["ada", "Ada", "Ünal", "%41", "A", "a b", "x" * 255, "x" * 254 + "y", ".ada", "\udcff", "a.json", "-",
       "a\nb", "CON", "*", "ada~", "名" * 85]  # fmt: skip


def make(student: str = "ada", lesson: str = LESSON, **more: Any) -> Result:
    report = {
        "findings": [{"rule": "gradient-sign", "evidence": {"source": "return -g \u2028 ' "}}]
    }
    marks = (Mark("double-check", 2.0, 2.0, "double", False, report, "gradient-sign"),)
    return Result(student, lesson, "{}", marks, seed=2**61, content="abc", **more)


def keep(records: Records, result: Result) -> None:
    records.keep(new_record(result))


def test_a_record_holds_everything_but_the_notebook(tmp_path: Path) -> None:
    records = Records(tmp_path)
    keep(records, make(reasons=("Line 3.",)))
    found = records.read("ada", LESSON)
    assert found is not None
    assert found.result == Result(
        "ada", LESSON, "", make().marks, reasons=("Line 3.",), seed=2**61, content="abc"
    )
    assert found.graded.endswith("+00:00")


def test_every_name_has_a_record_of_its_own(tmp_path: Path) -> None:
    records = Records(tmp_path)
    for student in ODD:
        for lesson in (LESSON, "Ü 1"):
            keep(records, make(student, lesson))
    for student in ODD:
        found = records.read(student, "Ü 1")
        assert found is not None
        assert (found.result.student, found.result.lesson) == (student, "Ü 1")
    assert sorted(one.result.student for one in all_records(tmp_path, LESSON)) == sorted(ODD)
    assert len(all_records(tmp_path)) == 2 * len(ODD)
    assert all(
        path.is_relative_to(tmp_path / "grading" / "records") for path in tmp_path.rglob("*.json")
    )


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../../etc/passwd", "/etc/passwd", "a/../b", "a\0"]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    for pair in ((name, LESSON), ("ada", name)):
        with pytest.raises(ValueError, match="cannot be the name"):
            Records(tmp_path).path(*pair)
    with pytest.raises(ValueError, match="cannot be the name"):
        Seeds(tmp_path).of(name)


def test_a_record_cut_short_anywhere_counts_as_none(tmp_path: Path) -> None:
    records = Records(tmp_path)
    keep(records, make())
    path = records.path("ada", LESSON)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert records.read("ada", LESSON) is None
    path.write_bytes(whole)
    assert records.read("ada", LESSON) is not None


@pytest.mark.parametrize(
    "content",
    ["[]", "null", "{}", '{"format": 2}', '{"format": 1, "result": {}}', "\ufeff", "\0" * 500, "[" * 100_000],
)  # fmt: skip
def test_anything_else_counts_as_none(tmp_path: Path, content: str) -> None:
    records = Records(tmp_path)
    path = records.path("ada", LESSON)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert records.read("ada", LESSON) is None


def test_points_that_are_no_numbers_count_as_none(tmp_path: Path) -> None:
    records = Records(tmp_path)
    keep(records, make())
    path = records.path("ada", LESSON)
    data = json.loads(path.read_text())
    for points in ("2", [], float("nan"), float("inf")):
        data["result"]["marks"][0]["points"] = points
        path.write_text(json.dumps(data))
        assert records.read("ada", LESSON) is None


def test_a_record_of_somebody_else_counts_as_none(tmp_path: Path) -> None:
    records = Records(tmp_path)
    keep(records, make())
    os.rename(records.path("ada", LESSON), records.path("ben", LESSON))
    assert records.read("ben", LESSON) is None


def test_a_new_record_replaces_the_old_one_at_once(tmp_path: Path) -> None:
    records = Records(tmp_path)
    keep(records, make())
    path, new = records.path("ada", LESSON), new_record(make(answered=("double",)))
    before = records.read("ada", LESSON)
    assert before is not None
    assert before.result.answered == ()
    with pytest.raises(KeyboardInterrupt), replacing(path) as draft:  # noqa: PT012
        write_new(draft, new.as_bytes())
        assert records.read("ada", LESSON) is None
        assert records.last("ada", LESSON) == before
        raise KeyboardInterrupt
    assert records.read("ada", LESSON) == before
    hidden(path).write_text("what a kill left")
    assert records.read("ada", LESSON) is None
    records.keep(new)
    after = records.read("ada", LESSON)
    assert after is not None
    assert after.result.answered == ("double",)
    assert [one.name for one in path.parent.iterdir()] == ["ada.json"]


def test_a_seed_stays_and_differs_between_lessons_and_courses(tmp_path: Path) -> None:
    seeds = {Seeds(tmp_path / course).of(lesson) for course in "ab" for lesson in ("01", "02")}
    assert len(seeds) == 4
    assert {
        Seeds(tmp_path / course).of(lesson) for course in "ab" for lesson in ("01", "02")
    } == seeds
    assert all(0 <= seed < 2**62 for seed in seeds)
    assert max(seeds) > 2**40  # not one that could be guessed by trying


def test_only_its_owner_reads_the_seeds(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Seeds(tmp_path).of("01")
    finally:
        os.umask(before)
    assert stat.S_IMODE(Seeds(tmp_path).path.stat().st_mode) == 0o600


def _seed(root: Path) -> int:
    return Seeds(root).of(LESSON)


def test_processes_that_ask_at_once_get_one_seed(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4) as pool:
        assert len(set(pool.map(_seed, [tmp_path] * 40))) == 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"01": "7"}', '{"01": 1.5}', '{"01": true}'])
def test_damaged_seeds_are_not_replaced_silently(tmp_path: Path, content: str) -> None:
    seeds = Seeds(tmp_path)
    seeds.of("01")
    seeds.path.write_text(content)
    with pytest.raises(CannotWrite, match=r"seeds\.json is damaged.*backup"):
        seeds.of("01")
    assert seeds.path.read_text() == content
