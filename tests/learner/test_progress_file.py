"""The file survives damage, full disks, several kernels at once, and a kernel that was stopped."""

import contextlib
import errno
import json
import os
import secrets
import sys
import threading

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from autograder.learner import progress_file
from autograder.learner.progress import load, record_check
from autograder.learner.progress_file import Answer, ExerciseRecord, Progress, QuizRecord
from autograder.reporting.report import Report

counts = st.integers(0, 10**6)
records = st.builds(ExerciseRecord, st.booleans(), st.booleans(), counts, counts)
answers = st.dictionaries(st.text(), st.builds(Answer, st.text(), st.booleans()))
progresses = st.builds(
    Progress,
    exercises=st.dictionaries(st.text(), records),
    quizzes=st.dictionaries(st.text(), st.builds(QuizRecord, counts, answers)),
    devices=st.lists(st.sampled_from(["cpu", "cuda"])).map(tuple),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(progresses)
def test_json_keeps_everything(progress):
    assert Progress.from_json(json.loads(json.dumps(progress.to_json()))) == progress


@given(json_values, st.sampled_from(["devices", "exercises", "quizzes"]))
def test_any_other_json_is_progress_or_refused_with_a_value_error(value, field):
    for data in (value, {**Progress().to_json(), field: value}):
        with contextlib.suppress(ValueError):
            found = Progress.from_json(data)
            assert Progress.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"\xff\xfe", b"[1, 2]", b'{"version": 99}', b"null", b"[" * 200_000],
    ids=["empty", "cut off", "not text", "a list", "a newer version", "null", "deep"],
)
@pytest.mark.parametrize("first", [load, lambda: record_check(Report("Clip", True))])
def test_a_damaged_file_is_kept_aside_and_work_goes_on(progress_home, capsys, damaged, first):
    progress_home.mkdir()
    progress_file.path().write_bytes(damaged)
    first()
    [kept] = progress_home.glob("progress-unreadable-*.json")
    assert kept.read_bytes() == damaged
    assert str(kept) in capsys.readouterr().out
    record_check(Report("Square", True))
    assert load().exercise("Square").passed


@pytest.mark.parametrize("field", ["visible", "hidden", "attempts", "hints"])
def test_a_field_of_the_wrong_kind_is_damage(field):
    data = Progress(exercises={"Square": ExerciseRecord()}).to_json()
    data["exercises"]["Square"] = {**data["exercises"]["Square"], field: "yes"}
    with pytest.raises(ValueError, match="a str"):
        Progress.from_json(data)


def test_a_full_disk_keeps_the_old_file_and_is_said_once(monkeypatch, progress_home, capsys):
    record_check(Report("Square", True))

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    record_check(Report("Clip", True))
    record_check(Report("Clip", True))
    shown = capsys.readouterr().out
    assert shown.count("No space left on device") == 1
    assert progress_file.HOME_VARIABLE in shown
    assert set(load().exercises) == {"Square"}
    assert {file.name for file in progress_home.iterdir()} == {"progress.json", ".lock"}


def test_a_folder_that_cannot_be_made_is_said_and_nothing_raises(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(progress_file.HOME_VARIABLE, str(tmp_path / "file" / "home"))
    record_check(Report("Square", True))
    assert load() == Progress()
    assert "could not be saved" in capsys.readouterr().out


def two_kernels_at_once():
    """One kernel reads, a second records, the first writes what it read plus its own record."""
    first_has_read, second_is_done = threading.Event(), threading.Event()

    def slowly(old):
        first_has_read.set()
        second_is_done.wait(0.3)  # passes only without a lock; with one the second cannot finish
        old.exercises["First"] = ExerciseRecord(passed=True)

    def second():
        first_has_read.wait()
        record_check(Report("Second", True))
        second_is_done.set()

    kernels = [
        threading.Thread(target=progress_file.update, args=(slowly,)),
        threading.Thread(target=second),
    ]
    for kernel in kernels:
        kernel.start()
    for kernel in kernels:
        kernel.join()
    return set(load().exercises)


def test_two_kernels_at_once_lose_nothing():
    assert two_kernels_at_once() == {"First", "Second"}


def test_without_the_lock_a_record_would_be_lost(monkeypatch):
    monkeypatch.setattr(
        progress_file,
        "FileLock",
        lambda path, timeout: FileLock(path.with_suffix(f".{secrets.token_hex(4)}")),
    )
    assert two_kernels_at_once() == {"First"}


def test_a_stopped_kernel_that_holds_the_lock_does_not_stop_another(monkeypatch):
    monkeypatch.setattr(progress_file, "LOCK_SECONDS", 0.05)
    with progress_file._locked():
        record_check(Report("Square", True))
    assert load().exercise("Square").passed


@pytest.mark.skipif(sys.platform != "linux", reason="XDG")
def test_the_folder_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv(progress_file.HOME_VARIABLE)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert progress_file.home() == tmp_path / ".local/share/backward-by-hand"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert progress_file.home() == tmp_path / "data/backward-by-hand"
