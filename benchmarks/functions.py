"""Time and memory of every solution, beside torch's own operation and the plain formula.

    python benchmarks/functions.py [--markdown] [--rounds 15] [--exercise NAME …]

One forward and one backward pass in float32, on one thread of the CPU and on CUDA where there is a
device. Every ratio is taken within this run. ``--markdown`` prints the section for docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

# In place of this script's own folder: the lessons.py beside it would hide the folder lessons/.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parent.parent))

import torch
from torch import Tensor

from benchmarks.comparisons import COMPARISONS, NOT_COMPARED, Comparison, Maker, heads
from benchmarks.measure import (
    Pass,
    kept_bytes,
    make_pass,
    median_ratio,
    peak_bytes,
    round_times,
)
from benchmarks.solutions import Solution, find_solutions

FLASH_BLOCK = 128
FLASH_LENGTHS = (512, 1024, 2048)


@dataclass(frozen=True)
class Row:
    """One solution on one device. A ratio is ours divided by theirs; None where there is no theirs."""

    name: str
    lesson: str
    milliseconds: float
    time_builtin: float | None
    time_formula: float | None
    kept: int | None
    kept_builtin: int | None
    kept_formula: int | None
    peak: int
    peak_formula: int | None
    builtin_words: str
    formula_words: str


def main() -> None:
    options = _options()
    torch.set_num_threads(1)
    solutions, missing = find_solutions()
    if options.exercise:
        solutions = [s for s in solutions if s.name in options.exercise]
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    print(machine(devices), end="\n\n")
    for device in devices:
        rows = [
            measure(s, COMPARISONS[s.name], device, options.rounds)
            for s in solutions
            if s.name in COMPARISONS
        ]
        show = markdown_table if options.markdown else text_table
        print(f"{'### ' if options.markdown else ''}On the {device.upper()}\n")
        print(show(rows), end="\n\n")
        print(goals(rows, solutions, device), end="\n\n")
    if "cuda" not in devices:
        print("CUDA: skipped, there is no CUDA device here.\n")
    print(left_out(solutions, missing))


def machine(devices: list[str]) -> str:
    """Date, torch and machine in one sentence."""
    processor = next(
        (
            line.split(":", 1)[1].strip()
            for line in _lines(Path("/proc/cpuinfo"))
            if line.startswith("model name")
        ),
        platform.processor() or platform.machine(),
    )
    parts = [f"one thread of a machine with {os.cpu_count()} {processor} processors"]
    parts += [torch.cuda.get_device_name()] if "cuda" in devices else []
    return (
        f"Measured on {date.today():%Y-%m-%d} with torch {torch.__version__}, Python "
        f"{platform.python_version()}, on {' and '.join(parts)} ({platform.system()})."
    )


def measure(solution: Solution, comparison: Comparison, device: str, rounds: int) -> Row:
    """Run the solution and what it is compared with in turns. Raises SystemExit if they disagree."""
    args = comparison.inputs(Maker(device))
    leaves = _leaves(args)
    functions: dict[str, Callable[..., Any] | None] = {
        "ours": comparison.adapt(solution.call),
        "builtin": comparison.builtin,
        "formula": comparison.formula,
    }
    passes = {k: make_pass(f, args, leaves) for k, f in functions.items() if f is not None}
    for key in passes.keys() - {"ours"}:
        if key == "formula" or comparison.same_builtin:
            _compare(solution.name, key, passes["ours"], passes[key])
    names = list(passes)
    times = round_times(list(passes.values()), rounds)
    kept = {k: kept_bytes(one) for k, one in passes.items()} if comparison.counts_kept else {}
    peak = {key: peak_bytes(one) for key, one in passes.items()}
    ratio = {key: median_ratio(times, 0, names.index(key)) for key in names}
    return Row(
        solution.name,
        solution.lesson,
        1000 * statistics.median(seconds[0] for seconds in times),
        ratio.get("builtin"),
        ratio.get("formula"),
        kept.get("ours"),
        kept.get("builtin"),
        kept.get("formula"),
        peak["ours"],
        peak.get("formula"),
        comparison.builtin_words,
        comparison.formula_words,
    )


def goals(rows: list[Row], solutions: list[Solution], device: str) -> str:
    """The stated goals with what was measured, and whether they are met."""
    found = {row.name: row for row in rows}
    lines = []
    for name, limit in (("MyLinear", 1.3), ("LeanAttention", 1.5)):
        if name in found:
            row = found[name]
            assert None not in (row.time_formula, row.kept, row.kept_formula, row.peak_formula)
            lines += [
                f"- {name}: {row.time_formula:.2f} × the time of {row.formula_words} (goal: at most "
                f"{limit}): {_met(row.time_formula <= limit)}",
                f"- {name}: keeps {row.kept / row.kept_formula:.2f} × its bytes (goal: never more): "
                f"{_met(row.kept <= row.kept_formula)}; the peak of the whole pass is "
                f"{row.peak / row.peak_formula:.2f} × (goal: never more): "
                f"{_met(row.peak <= row.peak_formula)}",
            ]
    for solution in solutions:
        if solution.name == "FlashAttention":
            lines.append(flash_memory(solution.call, device))
    more = [r.name for r in rows if r.kept and r.kept_formula and r.kept > r.kept_formula]
    higher = [r.name for r in rows if r.peak_formula and r.peak > 1.005 * r.peak_formula]
    lines.append(f"- Keep more than their formula: {', '.join(more) or 'none'}")
    lines.append(f"- Have a higher peak than their formula: {', '.join(higher) or 'none'}")
    return "\n".join(lines)


def flash_memory(flash: Callable[..., Any], device: str) -> str:
    """Whether the peak of FlashAttention is a constant plus so many bytes a row, and which.

    Two lengths give the bytes a row and the constant; the third tells whether they hold.
    """
    peaks = []
    for length in FLASH_LENGTHS:
        args = (*heads(Maker(device), length), False, FLASH_BLOCK)
        peaks.append(peak_bytes(make_pass(flash, args, _leaves(args))))
    shortest, middle, longest = FLASH_LENGTHS
    per_row = (peaks[1] - peaks[0]) / (middle - shortest)
    constants = [peak - per_row * length for peak, length in zip(peaks, FLASH_LENGTHS, strict=True)]
    square = heads(Maker(device), 1)[0].shape[0] * longest**2 * 4
    listed = ", ".join(
        f"{peak / 1024:.0f} KiB at L = {length}"
        for peak, length in zip(peaks, FLASH_LENGTHS, strict=True)
    )
    return (
        f"- FlashAttention, tiles of {FLASH_BLOCK}: peak {listed}. That is {per_row:.0f} bytes a row of "
        f"L and, beyond the rows, {constants[0] / 1024:.0f} KiB at the shortest and "
        f"{constants[2] / 1024:.0f} KiB at the longest L (goal: independent of L): "
        f"{_met(constants[2] <= 1.01 * constants[0] + 4096)}. One L×L matrix a head would be "
        f"{square / 1024:.0f} KiB at L = {longest}"
    )


def text_table(rows: list[Row]) -> str:
    head = (
        f"{'exercise':<26}{'ms':>9}{'÷ built-in':>12}{'÷ formula':>11}{'kept KiB':>10}"
        f"{'÷ built-in':>12}{'÷ formula':>11}{'peak KiB':>10}{'÷ formula':>11}"
    )
    lines = [head]
    for row in rows:
        cells = _cells(row)
        widths = (9, 12, 11, 10, 12, 11, 10, 11)
        lines.append(
            f"{row.name:<26}" + "".join(f"{c:>{w}}" for c, w in zip(cells, widths, strict=True))
        )
    return "\n".join(lines)


def markdown_table(rows: list[Row]) -> str:
    lines = [
        "| exercise | built-in | formula | time, ms | ÷ built-in | ÷ formula | kept, KiB | ÷ built-in "
        "| ÷ formula | peak, KiB | ÷ formula |",
        "|---|---|---|" + "--:|" * 8,
    ]
    for row in rows:
        words = [f"`{row.name}`", row.builtin_words, row.formula_words]
        lines.append("| " + " | ".join([*words, *_cells(row)]) + " |")
    return "\n".join(lines)


def left_out(solutions: list[Solution], missing: list[str]) -> str:
    """What is not in the table, and which solutions are not a lesson's own."""
    names = [s.name for s in solutions if s.name not in COMPARISONS]
    reasons = [f"{n} ({NOT_COMPARED.get(n, 'no comparison is written yet')})" for n in names]
    gallery = [s.name for s in solutions if s.source == "the gallery"]
    lines = [f"Not compared: {'; '.join(reasons) or 'none'}."]
    if gallery:
        lines.append(f"From the gallery of right answers, not from a lesson: {', '.join(gallery)}.")
    if missing:
        lines.append(f"No solution is there yet: {', '.join(missing)}.")
    return "\n".join(lines)


def _cells(row: Row) -> list[str]:
    def over(ours: int | None, theirs: int | None) -> str:
        if ours is None or theirs is None:
            return "–"
        return f"{ours / theirs:.2f}" if theirs else ("1.00" if ours == 0 else "more than 0")

    def times(ratio: float | None) -> str:
        return "–" if ratio is None else f"{ratio:.2f}"

    return [
        f"{row.milliseconds:.2f}",
        times(row.time_builtin),
        times(row.time_formula),
        "–" if row.kept is None else f"{row.kept / 1024:.0f}",
        over(row.kept, row.kept_builtin),
        over(row.kept, row.kept_formula),
        f"{row.peak / 1024:.0f}",
        over(row.peak, row.peak_formula),
    ]


def _compare(name: str, other: str, ours: Pass, theirs: Pass) -> None:
    """Raise SystemExit unless both give the same output and the same gradients, roughly."""
    mine, yours = _results(ours), _results(theirs)
    for what in mine.keys() | yours.keys():
        a, b = mine.get(what), yours.get(what)
        if a is None or b is None or (a - b).norm() > 0.01 * b.norm() + 1e-6:
            raise SystemExit(f"{name}: {what} is not that of the {other}: nothing was measured.")


def _results(one: Pass) -> dict[str, Tensor]:
    found = {"the output": one.run()}
    for i, leaf in enumerate(one.leaves):
        if leaf.grad is not None:
            found[f"gradient {i}"] = leaf.grad.clone()
    return found


def _leaves(args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The tensors among the arguments that require grad, and the parameters of the networks."""
    found: list[Tensor] = []
    for arg in args:
        if isinstance(arg, Tensor) and arg.requires_grad:
            found.append(arg)
        elif isinstance(arg, torch.nn.Module):
            found += arg.parameters()
    return tuple(found)


def _met(is_met: bool) -> str:
    return "met" if is_met else "**not met**"


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rounds", type=int, default=15, help="how often the candidates take turns"
    )
    parser.add_argument(
        "--markdown", action="store_true", help="the section for docs/benchmarks.md"
    )
    parser.add_argument("--exercise", nargs="*", help="only these exercises")
    return parser.parse_args()


if __name__ == "__main__":
    main()
