"""How often the edit that mends a wrong answer is found, and how long a learner waits for it.

    python benchmarks/repairs.py [--mutants 20] [--exercise NAME …]

One process, one thread. Wrong answers are one-node changes of the gallery's right answers, some of each
exercise, the same ones each time. For each that the complete check rejects, edits are tried (whatever
its report says by itself). Then the time of complete checks of the gallery's own wrong answers, with
the edits and without them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from autograder import evaluate
from autograder.containment import contained
from autograder.exercises import all_exercises
from autograder.probe import probe
from autograder.repair import nothing_tried
from autograder.repair.search import repaired
from autograder.source import Source
from autograder.verdict import Asked, verdict
from tests.mistakes.gallery import Answer, answers, load
from tests.mistakes.trials import Trial, trials


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    gallery = answers()
    chosen = options.exercise or list(all_exercises())
    found, tried, times = 0, 0, []
    print(f"{'exercise':<26}{'rejected':>9}{'mended':>8}{'median s':>10}")
    for name in chosen:
        mine = [a for a in gallery if a.exercise == name]
        rows = [_search(t) for t in trials(mine, options.mutants)]
        took = [row for row in rows if row is not None]
        mended = sum(found for found, _ in took)
        seconds = [s for _, s in took]
        middle = statistics.median(seconds) if seconds else 0.0
        print(f"{name:<26}{len(took):>9}{mended:>8}{middle:>10.2f}", flush=True)
        found, tried, times = found + mended, tried + len(took), times + seconds
    share = 100 * found / max(tried, 1)
    print(f"\n{found} of {tried} mutants mended ({share:.0f} %); {_spread(times)} s each")
    _waiting([a for a in gallery if not a.right and a.exercise in chosen])


def _search(trial: Trial) -> tuple[bool, float] | None:
    """(whether an edit was found, seconds); None for a mutant that is accepted or cannot be checked."""
    name = trial.answer.exercise
    try:
        submission = load(trial.mutant.source, name)
    except Exception:  # it does not even define what was asked for
        return None
    asked = Asked.of(all_exercises()[name], 1, True)
    scenarios = {s.name: s for s in asked.exercise.scenarios}
    with contained(capture=False), torch.enable_grad():
        observation = probe(submission, asked.questions, scenarios)
        report = verdict(asked, observation, Source.of(submission))
        if report.passed:
            return None
        start = time.perf_counter()
        edit = repaired(submission, asked, observation, report.findings[0])
        return edit is not None, time.perf_counter() - start


def _waiting(wrong: list[Answer]) -> None:
    with_edits, without, told = [], [], 0
    for answer in wrong:
        submission = answer.load()
        start = time.perf_counter()
        report = evaluate(submission, exercise=answer.exercise, seed=1)
        with_edits.append(time.perf_counter() - start)
        told += "tried" in report.findings[0].evidence
        with nothing_tried():
            start = time.perf_counter()
            evaluate(submission, exercise=answer.exercise, seed=1)
            without.append(time.perf_counter() - start)
    print(
        f"{len(wrong)} wrong answers of the gallery, {told} of them with an edit in the headline:"
    )
    print(f"  complete check {_spread(with_edits)} s; without edits {_spread(without)} s")


def _spread(times: list[float]) -> str:
    ordered = sorted(times)
    return f"p50 {ordered[len(ordered) // 2]:.3f}, p95 {ordered[int(0.95 * len(ordered))]:.3f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--mutants", type=int, default=20, help="of each exercise")
    parser.add_argument("--exercise", nargs="*", choices=sorted(all_exercises()))
    return parser.parse_args()


if __name__ == "__main__":
    main()
