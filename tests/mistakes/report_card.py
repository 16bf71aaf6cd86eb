"""How often the grader is right: the whole gallery and its mutants, as a table.

    python -m tests.mistakes.report_card [--repeat N] [--mutants all|none|N] [--lesson NAME] [--write FILE]

Exit status 1 if a right answer is rejected or a wrong one accepted.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import multiprocessing
import os
import random
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.mistakes.equivalent import reason
from tests.mistakes.gallery import Answer, answers, load
from tests.mistakes.mutants import mutants


@dataclass
class Row:
    """The counts of one exercise, summed over all seeds."""

    exercise: str
    wrong: int = 0
    rejected: int = 0
    deserved: int = 0
    right: int = 0
    accepted: int = 0
    undecided: int = 0
    mutants: int = 0
    equivalent: int = 0
    survivors: int = 0
    notes: list[str] = field(default_factory=list)


def judge_exercise(exercise: str, lesson: str, seeds: list[int], mutant_limit: int) -> Row:
    """All answers and mutants of one exercise."""
    import torch

    from autograder import evaluate

    torch.set_num_threads(1)
    row = Row(exercise)
    mine = [a for a in answers(lesson) if a.exercise == exercise]
    for answer in mine:
        for seed in seeds:
            report = evaluate(answer.load(), exercise=exercise, seed=seed)
            _count(row, answer, seed, report)
    found = list(
        {text: (a, words) for a in mine if a.right for words, text in mutants(a.source)}.items()
    )
    if 0 <= mutant_limit < len(found):
        found = random.Random(0).sample(found, mutant_limit)
    for text, (answer, words) in found:
        row.mutants += 1
        try:
            submission = load(text, exercise)
        except Exception:
            continue
        if not evaluate(submission, exercise=exercise, seed=seeds[0]).passed:
            continue
        if reason(exercise, answer.what, words) is not None:
            row.equivalent += 1
        else:
            row.survivors += 1
            row.notes.append(f"accepted mutant of {answer.id}: {words}")
    return row


def _count(row: Row, answer: Answer, seed: int, report: object) -> None:
    row.undecided += bool(report.undecided)  # type: ignore[attr-defined]
    passed = report.passed  # type: ignore[attr-defined]
    if answer.right:
        row.right += 1
        row.accepted += passed
        if not passed:
            row.notes.append(f"rejected right answer {answer.id} (seed {seed})")
        return
    row.wrong += 1
    row.rejected += not passed
    if passed:
        row.notes.append(f"accepted wrong answer {answer.id} (seed {seed})")
        return
    first = report.findings[0].rule  # type: ignore[attr-defined]
    row.deserved += first in answer.rules
    if first not in answer.rules:
        row.notes.append(f"{answer.id}: {first} instead of {answer.rules[0]} (seed {seed})")


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table with totals."""
    total = Row("**all**")
    for row in rows:
        for name in (
            "wrong",
            "rejected",
            "deserved",
            "right",
            "accepted",
            "undecided",
            "mutants",
            "equivalent",
            "survivors",
        ):
            setattr(total, name, getattr(total, name) + getattr(row, name))
    lines = [
        "| exercise | wrong | rejected | deserved rule first | right | accepted | undecided | mutants | equivalent | accepted mutants |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in (*rows, total):
        lines.append(
            f"| {r.exercise} | {r.wrong} | {r.rejected} | {r.deserved} | {r.right} | {r.accepted} "
            f"| {r.undecided} | {r.mutants} | {r.equivalent} | {r.survivors} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1, help="how many seeds")
    parser.add_argument(
        "--mutants", default="40", help="mutants an exercise: all, none or a number"
    )
    parser.add_argument("--lesson", help="one lesson only")
    parser.add_argument("--write", type=Path, help="also write the table to this Markdown file")
    options = parser.parse_args()
    limit = {"all": -1, "none": 0}.get(options.mutants)
    limit = int(options.mutants) if limit is None else limit
    seeds = list(range(1, options.repeat + 1))
    work = collections.OrderedDict(((a.exercise, a.lesson), None) for a in answers(options.lesson))
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        jobs = [pool.submit(judge_exercise, e, lesson, seeds, limit) for e, lesson in work]
        rows = [job.result() for job in jobs]
    text = table(rows)
    print(text)
    for note in (note for row in rows for note in row.notes):
        print("-", note)
    if options.write:
        options.write.write_text(_page(text, rows, options.repeat))
    wrong = any(r.rejected < r.wrong or r.accepted < r.right for r in rows)
    return 1 if wrong else 0


def _page(text: str, rows: list[Row], repeat: int) -> str:
    notes = "\n".join(f"- {note}" for row in rows for note in row.notes) or "None."
    today = datetime.date.today().isoformat()
    return (
        "# Report card of the grader\n\n"
        f"Made by `make report-card` on {today}, {repeat} seed(s). The gallery was written by the same "
        "people as the rules, so the figures for it are an upper bound; the mutants are mechanical.\n\n"
        f"{text}\n\n## What went wrong\n\n{notes}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
