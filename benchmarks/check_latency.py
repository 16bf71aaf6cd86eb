"""How long a check takes, beside the bare gradcheck + gradgradcheck on the same inputs.

    python benchmarks/check_latency.py [--repeats 15] [--exercise NAME …]

One process, one thread. For every exercise of the course, with its first right answer of the gallery:
the check as it is the first time in a kernel (every time another seed: questions and references are made) and as it
is each time after that, the hidden check (the first time), and bare gradcheck + gradgradcheck on the hidden check's first
main case; medians in milliseconds of the processor, which depend little on other work, and ratios. The first
lines say what a fresh kernel pays once, in seconds that pass.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels too are checked on the CPU

import torch
from torch import Tensor

from autograder import evaluate
from autograder.contract.exercise import Exercise
from autograder.contract.plan import make_plan
from autograder.exercises import all_exercises
from autograder.running.submission import Submission, fresh_arguments
from tests.mistakes.gallery import answers

FRESH = """
import json, sys, time
sys.path.insert(0, {root!r})
start = time.perf_counter(); import torch; torch_s = time.perf_counter() - start
torch.set_num_threads(1)
start = time.perf_counter(); import autograder; autograder_s = time.perf_counter() - start
from tests.mistakes.gallery import answers
right = next(a for a in answers() if a.right and a.exercise == {name!r}).load()
start = time.perf_counter()
assert autograder.evaluate(right, exercise={name!r}, hidden=False).passed
first_s = time.perf_counter() - start
print(json.dumps([torch_s, autograder_s, first_s]))
"""


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    known = all_exercises()
    chosen = {n: known[n] for n in options.exercise or known}
    _fresh_kernel(next(iter(chosen)))
    print(
        f"\n{'exercise':<26}{'first ms':>11}{'again ms':>11}{'hidden ms':>11}{'bare ms':>9}{'hidden/bare':>13}"
    )
    firsts, agains, hiddens, over = [], [], [], []
    for name, exercise in chosen.items():
        right = next(a for a in answers() if a.right and a.exercise == name).load()
        seeds = itertools.count(2)
        first = _median(lambda: _checked(right, name, False, next(seeds)), options.repeats)  # noqa: B023
        again = _median(lambda: _checked(right, name, False, 1), options.repeats)  # noqa: B023
        hidden = _median(lambda: _checked(right, name, True, next(seeds)), options.repeats)  # noqa: B023
        bare = _bare(right, exercise, options.repeats)
        firsts.append(first)
        agains.append(again)
        hiddens.append(hidden)
        ratio = hidden / bare if bare else float("nan")
        if bare and hidden > max(4 * bare, 40.0):
            over.append(name)
        shown = f"{bare:>9.1f}{ratio:>13.1f}" if bare else f"{'–':>9}{'–':>13}"
        print(f"{name:<26}{first:>11.1f}{again:>11.1f}{hidden:>11.1f}{shown}")
    print()
    for words, times in (("first", firsts), ("again", agains), ("hidden", hiddens)):
        p95 = sorted(times)[max(0, round(0.95 * len(times)) - 1)]
        print(f"{words}: p50 {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")
    print(f"hidden above max(4 × bare, 40 ms): {', '.join(over) or 'none'}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--exercise", nargs="*", help="only these exercises")
    return parser.parse_args()


def _fresh_kernel(name: str) -> None:
    code = FRESH.format(root=str(Path(__file__).parent.parent), name=name)
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    torch_s, autograder_s, first_s = (
        statistics.median(column) for column in zip(*runs, strict=True)
    )
    print(f"import torch {torch_s:.2f} s; import autograder after it {autograder_s:.2f} s more")
    print(f"first check in a fresh process ({name}): {first_s:.2f} s")


def _checked(submission: Any, name: str, hidden: bool, seed: int) -> None:
    assert evaluate(submission, exercise=name, hidden=hidden, seed=seed).passed


def _median(run: Callable[[], Any], repeats: int) -> float:
    run()  # the first call pays imports and caches
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(1000 * (time.process_time() - start))
    return statistics.median(times)


def _bare(submission: Any, exercise: Exercise, repeats: int) -> float:
    """Milliseconds of gradcheck + gradgradcheck as a notebook would call them; 0 where they do not apply."""
    plan = [q for q in make_plan(exercise, 1, True) if q.kind == "gradcheck"]
    if not plan:
        return 0.0
    call, question = Submission(submission), plan[0]
    args = fresh_arguments(question)
    wanted = [i for i in question.wants if isinstance(args[i], Tensor)]

    def function(*tensors: Tensor) -> Any:
        full = list(args)
        for i, tensor in zip(wanted, tensors, strict=True):
            full[i] = tensor
        return call(*full)

    inputs = tuple(args[i] for i in wanted)
    both = exercise.second_order == "right"

    def run() -> None:
        torch.autograd.gradcheck(function, inputs)
        if both:
            torch.autograd.gradgradcheck(function, inputs)

    return _median(run, repeats)


if __name__ == "__main__":
    main()
