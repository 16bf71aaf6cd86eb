"""Errors about shapes: which of the tensors that met has lost a dimension, and in which line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.contract.references import reference_arguments
from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import Finding
from autograder.observation.compare import close, shape_words
from autograder.observation.observation import Failure, Operand

Shape = tuple[int, ...]
Told = tuple[str, dict[str, Any]]
_PRODUCT = r"@|matmul|\bmm\(|\bdot\(|\bmv\(|bmm"
_WORDS = {"select": "index"}  # as a learner calls it
# What takes tensors of so many dimensions only.
_DIMENSIONS = {"mm": 2, "addmm": 2, "t": 2, "bmm": 3, "baddbmm": 3, "mv": 2, "addmv": 2}


def met(ev: Evidence, finding: Finding, failure: Failure) -> Told | None:
    """What the tensors of the operation that failed tell; None where they tell nothing."""
    pair, message = finding.pair, failure.words
    if (
        failure.kind not in ("RuntimeError", "IndexError")
        or failure.raised_by_learner
        or pair is None
    ):
        return None
    if failure.empty_dims:
        line = failure.empty_dims[0]
        return "stops/empty-dims", {"place": (line, ev.source.text_of(line))}
    if re.search(r"must match the (?:existing )?size|not broadcastable|not expandable|must be broadcastable", message):  # fmt: skip
        return (
            _lost(ev, failure)
            or _given_back(ev, pair, failure, finding)
            or _of_matrices(ev, pair, failure)
            or _two_shapes(failure)
        )
    if re.search("number of sizes provided|Index tensor must have the same number", message):
        return _given_back(ev, pair, failure, finding)
    return _of_matrices(ev, pair, failure)


def beside(failure: Failure, i: int) -> list[Shape]:
    """The shapes that one operand has to fit: those of the others, or the one it is expanded to."""
    target = re.search(r"Target sizes: \[([\d, ]+)\]", failure.words)
    if target is not None:
        return [tuple(int(n) for n in target[1].split(","))]
    return [o.shape for j, o in enumerate(failure.operands) if j != i]


def fits(shapes: Sequence[Sequence[int]]) -> bool:
    """Whether these shapes broadcast."""
    try:
        torch.broadcast_shapes(*(tuple(s) for s in shapes))
    except (RuntimeError, ValueError):
        return False
    return True


def _made(ev: Evidence, operand: Operand) -> dict[str, Any]:
    """Where it was reduced, as facts."""
    place = (operand.line, ev.source.text_of(operand.line)) if operand.line else None
    return {"by": _WORDS.get(operand.reduced_by, operand.reduced_by), "place": place,
            "at_line": operand.line}  # fmt: skip


def _lost(ev: Evidence, failure: Failure) -> Told | None:
    """An operand that fits as soon as it has the dimension back that a reduction took away."""
    for i, operand in enumerate(failure.operands):
        others, back = beside(failure, i), list(operand.shape)
        for dim in sorted(operand.dims):
            back.insert(min(dim, len(back)), 1)
        if not operand.reduced_by or not others or not fits([back, *others]):
            continue
        other = next((s for s in others if not fits([operand.shape, s])), others[0])
        facts = {**_made(ev, operand), "shape": shape_words(operand.shape), "other": shape_words(other),
                 "lost": " and ".join(map(str, operand.dims))}  # fmt: skip
        here = operand.function == failure.function
        keeps = operand.reduced_by not in ("squeeze", "select")
        return f"stops/{'lost-dimension' if here or not keeps else 'lost-elsewhere'}", {**facts, "keepdim": keeps}  # fmt: skip
    return None


def _with_its_dimension(ev: Evidence, pair: Pair) -> tuple[Shape, Shape]:
    """The output's shape with the reduced dimension at size 1, and as it is; () where nothing is reduced."""
    names, args = ev.exercise.argument_names, pair.question.args
    place = names.index("dim") if "dim" in names else len(args)
    output = next((o for o in pair.expected.outputs if isinstance(o, Tensor)), None)
    if place >= len(args) or type(args[place]) is not int or not isinstance(args[0], Tensor) or output is None:  # fmt: skip
        return (), ()
    if output.dim() == args[0].dim():
        return tuple(output.shape), tuple(output.shape)
    return tuple(output.unsqueeze(args[place]).shape), tuple(output.shape)


def _given_back(ev: Evidence, pair: Pair, failure: Failure, finding: Finding) -> Told | None:
    """The reduced dimension is not given back to a gradient, twice, or in another place."""
    back, output = _with_its_dimension(ev, pair)
    if finding.facts["method"] != "backward" or not back:
        return None
    for i, operand in enumerate(failure.operands):
        shape, others = operand.shape, beside(failure, i)
        facts = {
            "shape": shape_words(shape),
            "back": shape_words(back),
            "output": shape_words(output),
        }
        if len(shape) == len(back) + 1 and math.prod(shape) == math.prod(back):
            return "stops/given-back-twice", {**facts, "kept": back == output}
        scatters = "Index tensor" in failure.words
        if output != back and shape == output and (scatters or (others and fits([back, *others]))):
            return "stops/not-given-back", facts
        if shape != back and sorted(shape) == sorted(back) and others and fits([back, *others]):
            return "stops/given-back-elsewhere", facts
    return None


def _two_shapes(failure: Failure) -> Told | None:
    """Nothing explains it: both shapes in full, and the line in which the odd one was made."""
    if len(failure.operands) != 2 or fits([o.shape for o in failure.operands]):
        return None
    made = [_with_its_line(o, failure) for o in failure.operands]
    return "stops/two-shapes", {"first": made[0], "second": made[1]}


def _with_its_line(operand: Operand, failure: Failure) -> str:
    """A shape, and the line in which the tensor got it where that is another one."""
    elsewhere = operand.line and operand.line != failure.line
    return shape_words(operand.shape) + (f" of line {operand.line}" if elsewhere else "")


def _of_matrices(ev: Evidence, pair: Pair, failure: Failure) -> Told | None:
    """A matrix product of shapes that do not fit, or of tensors that are no matrices."""
    name, shapes = failure.operation, [o.shape for o in failure.operands]
    if re.search(_PRODUCT, failure.source) and shapes and _by_elements(ev, pair):
        return "stops/product-for-elements", {"name": ev.exercise.name}
    added = name in ("addmm", "addmv", "baddbmm")  # the first tensor is added
    odd = [s for s in shapes[added:] if len(s) != _DIMENSIONS.get(name, len(s))]
    if odd and re.search("matri|dimensions|3D|2D|tensors", failure.words):
        return "stops/matrix-only", {
            "name": name,
            "count": _DIMENSIONS[name],
            "shape": shape_words(odd[0]),
        }
    found = re.search(r"\((\d+)x(\d+) and (\d+)x(\d+)\)", failure.words)
    if found is None:
        return None
    a, b, c, d = map(int, found.groups())
    fitting = [words for words, good in (("the first", a == c), ("the second", b == d)) if good]
    return "stops/transposed", {"first": f"{a}×{b}", "second": f"{c}×{d}", "same": (a, b) == (c, d),
                                "turn": " or ".join(fitting)}  # fmt: skip


def _by_elements(ev: Evidence, pair: Pair) -> bool:
    """Whether every element of the output comes from one element of each argument: tried on two."""
    args, outputs = reference_arguments(pair.question), pair.expected.outputs
    if len(outputs) != 1 or not isinstance(outputs[0], Tensor) or outputs[0].numel() == 0:
        return False
    whole = outputs[0].detach()
    for place in (0, whole.numel() - 1):
        try:
            single = [
                a.detach().expand(whole.shape).reshape(-1)[place] if isinstance(a, Tensor) else a
                for a in args
            ]
            with torch.no_grad():
                made = ev.exercise.reference(*single)
        except Exception:  # another call need not make sense for this reference
            return False
        if not isinstance(made, Tensor) or not close(made, whole.reshape(-1)[place]):
            return False
    return True
