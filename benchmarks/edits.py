"""How often the edit that mends a wrong answer is found, and what looking for it costs.

    python benchmarks/edits.py [--mutants 20] [--exercise NAME …]

One process, one thread. Wrong answers are one-node changes of the gallery's right answers, some of each
exercise, the same ones each time. For each that the complete check rejects, edits are tried (whatever
its report says by itself). Then the gallery's own wrong answers whose first finding is a symptom: of how
many the place of the cause is told. Times are of the processor: how much is tried is bounded by counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import torch

from autograder.exercises import all_exercises
from autograder.explaining.edits.search import mending, with_cause
from autograder.judging.finding import Finding
from autograder.observation.observation import Observation
from autograder.observation.source import Source
from autograder.reporting.verdict import Asked, verdict
from autograder.running.containment import contained
from autograder.running.probe import probe
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
    _of_gallery([a for a in gallery if not a.right and a.exercise in chosen])


def _search(trial: Trial) -> tuple[bool, float] | None:
    """(whether an edit was found, seconds); None for a mutant that is accepted or cannot be checked."""
    try:
        submission = load(trial.mutant.source, trial.answer.exercise)
    except Exception:  # it does not even define what was asked for
        return None
    with contained(capture=False), torch.enable_grad():
        asked, observation, findings = _checked(submission, trial.answer.exercise)
        if not findings:
            return None
        start = time.process_time()
        found = mending(submission, asked, observation, findings[0])
        return bool(found), time.process_time() - start


def _checked(submission: Any, exercise: str) -> tuple[Asked, Observation, list[Finding]]:
    asked = Asked.of(all_exercises()[exercise], 1, True)
    scenarios = {s.name: s for s in asked.exercise.scenarios}
    observation = probe(submission, asked.questions, scenarios)
    return asked, observation, verdict(asked, observation, Source.of(submission)).findings


def _of_gallery(wrong: list[Answer]) -> None:
    symptoms, told, times = 0, 0, []
    for answer in wrong:
        submission = answer.load()
        with contained(capture=False), torch.enable_grad():
            asked, observation, findings = _checked(submission, answer.exercise)
            if not findings or not findings[0].symptom:
                continue
            start = time.process_time()
            first = with_cause(findings, submission, asked, observation)[0]
            times.append(time.process_time() - start)
            symptoms, told = symptoms + 1, told + first.cause.startswith("edit/")
    print(
        f"{len(wrong)} wrong answers of the gallery: {symptoms} symptoms, {told} of them get a place"
    )
    if times:
        print(f"  {_spread(times)} s each")


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
