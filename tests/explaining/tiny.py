"""Tiny exercises and Functions: each cause is shown by an answer of two lines, with no exercise's own mistakes."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import torch

from autograder import evaluate
from autograder.contract.exercise import Case, Exercise
from autograder.judging.finding import Finding
from tests.sigmoid_and_product import HINTS

_count = itertools.count()


def exercise(reference: Any, signature: str, *cases: Case, **more: Any) -> Exercise:
    return Exercise(
        name="Tiny", lesson="", summary="…", signature=signature, reference=reference, cases=cases,
        hints=HINTS, **more,
    )  # fmt: skip


CUBE = exercise(
    lambda x: x**3, "(x)",
    Case("a vector", lambda s: (s.away_from(9),)), Case("a matrix", lambda s: (s.away_from(2, 6),)),
    second_order="not-judged",
)  # fmt: skip
TWO_TERMS = exercise(
    lambda x: x**3 + x.sin(), "(x)",
    Case("a vector", lambda s: (s.away_from(9),)), Case("a matrix", lambda s: (s.away_from(2, 6),)),
    second_order="not-judged",
)  # fmt: skip
RELU = exercise(
    torch.relu, "(x)",
    Case("a vector", lambda s: (s.away_from(9),)), Case("a matrix", lambda s: (s.away_from(3, 4),)),
    Case("x = 0", lambda s: (torch.tensor([-1.0, 0.0, 2.0]).double(),), role="special"),
)  # fmt: skip
SCALED = exercise(
    lambda x, scale: torch.tanh(x) * scale, "(x, scale)",
    Case("a vector", lambda s: (s.normal(9), 1.7)), Case("a matrix", lambda s: (s.normal(3, 4), 0.6)),
    second_order="not-judged",
)  # fmt: skip
DIFFERENCE = exercise(
    lambda a, b: a * a * b, "(a, b)",
    Case("two vectors", lambda s: (s.normal(9), s.normal(9))),
    Case("two matrices", lambda s: (s.normal(3, 4), s.normal(3, 4))),
    second_order="not-judged",
)  # fmt: skip
PRODUCT = exercise(
    torch.mul, "(a, b)",
    Case("two matrices", lambda s: (s.normal(2, 3), s.normal(2, 3))),
    Case("a matrix and a row", lambda s: (s.normal(2, 3), s.normal(3))),
    Case("a batch and a column", lambda s: (s.normal(4, 2, 3), s.normal(2, 1))),
    second_order="not-judged",
)  # fmt: skip
MATRICES = exercise(
    lambda x, w: x @ w, "(x, w)",
    Case("matrices", lambda s: (s.normal(2, 3), s.normal(3, 4))), second_order="not-judged",
)  # fmt: skip
ROWS = exercise(
    lambda x: torch.logsumexp(x, -1), "(x)",
    Case("a matrix", lambda s: (s.normal(2, 3),)),
    Case("far apart", lambda s: (torch.tensor([[900.0, 901.0, 902.0], [-900.0, -901.0, -902.0]]).double(),), role="extreme"),
    second_order="not-judged", forbidden=frozenset(),
)  # fmt: skip


def told(asked: Exercise, forward: str, backward: str, before: str = "", seed: int = 1, saved: str = "") -> Finding:  # fmt: skip
    """The first finding about a Function with these two formulas.

    before  lines of backward before its return; saved: what forward saves in place of its arguments
    """
    names = ", ".join(asked.argument_names)
    tensors = [n for n in asked.argument_names if n != "scale"]
    lines = [
        "class Tiny(Function):", "    @staticmethod", f"    def forward(ctx, {names}):",
        f"        ctx.save_for_backward({saved or ', '.join(tensors)})",
        *(["        ctx.scale = scale"] if "scale" in names else []),
        f"        return {forward}", "    @staticmethod", "    def backward(ctx, g):",
        f"        {', '.join(tensors)}, = ctx.saved_tensors",
        *(["        scale = ctx.scale"] if "scale" in names else []),
        *(f"        {line}" for line in before.splitlines()), f"        return {backward}",
    ]  # fmt: skip
    source, file = "\n".join(lines) + "\n", f"<tiny {next(_count)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"torch": torch, "Function": torch.autograd.Function, "__name__": file}
    exec(compile(source, file, "exec"), space)
    report = evaluate(space["Tiny"], exercise=asked, seed=seed)
    assert not report.passed
    return report.findings[0]
