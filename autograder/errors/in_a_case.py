"""Errors of single cases whose cause the error and the line tell: what does not take this tensor, and why."""

from __future__ import annotations

import ast
import re

from autograder.compare import shape_words
from autograder.errors.shapes import about_shapes
from autograder.evidence import Evidence, Pair
from autograder.observation import Failure

Words = tuple[str, str]


def stops_because(failure: Failure, ev: Evidence, pair: Pair) -> Words | None:
    """(a clause that names the cause, next step) for an error in a case beyond the ordinary; else None."""
    if failure.raised_by_learner:
        return None
    for cause in (_divides_numbers, _leaves_torch, _for_matrices, _too_few, _in_order, _of_einsum):
        if (found := cause(failure, ev)) is not None:
            return found
    if (told := about_shapes(failure, ev, pair, failure.stage)) is None:
        return None
    words = told[0].removesuffix(".")
    first = words.split(" ", 1)[0]
    known = (*ev.exercise.argument_names, *ev.source.methods, ev.exercise.name)
    return words if first in known else words[0].lower() + words[1:], told[1]


def _divides_numbers(failure: Failure, ev: Evidence) -> Words | None:
    """1 / x.shape[dim]: a division of plain numbers, by 0."""
    if failure.kind != "ZeroDivisionError" or not failure.own_frame:
        return None
    found = [n for n in _parts(failure, ev) if isinstance(n, ast.BinOp)]
    found = [n for n in found if isinstance(n.op, ast.Div | ast.FloorDiv | ast.Mod)]
    written = ast.unparse(found[0]) if len(found) == 1 else ""
    what = f"{written} in line {failure.line}" if 0 < len(written) <= 50 else f"line {failure.line}"
    return (
        f"{what} divides plain numbers, the divisor is 0, and there Python stops (torch gives inf or nan)",
        "Divide a tensor: torch goes on where the divisor is 0, and of an empty tensor nothing is left to divide. "
        "tensor / size does it, tensor * (1 / size) does not.",
    )


def _leaves_torch(failure: Failure, ev: Evidence) -> Words | None:
    if "ScalarType BFloat16" not in failure.message:
        return None
    where = f"line {failure.line}" if failure.own_frame else "a tensor"
    return (
        f"{where} goes through NumPy, which has no bfloat16",
        "Compute with torch's own operations, which know every dtype.",
    )


# What takes tensors of so many dimensions only.
_DIMENSIONS = {"mm": 2, "addmm": 2, "t": 2, "bmm": 3, "baddbmm": 3, "mv": 2, "addmv": 2}
_MATRIX = r"must be a matrix|t\(\) expects a tensor with <= 2|must be a 3D tensor|vector \+ matrix|2D tensors"


def _for_matrices(failure: Failure, ev: Evidence) -> Words | None:
    if not re.search(_MATRIX, failure.message):
        return None
    names = [c.func.attr for c in _calls(failure, ev) if isinstance(c.func, ast.Attribute)]
    named = [n for n in dict.fromkeys((failure.operation, *names)) if n in _DIMENSIONS]
    if not named or not failure.own_frame:
        return None
    name, wanted = named[0], _DIMENSIONS[named[0]]
    added = failure.operation in ("addmm", "addmv", "baddbmm")  # the first tensor is added
    met = [o.shape for o in failure.operands[1 if added else 0 :]]
    odd = next((shape for shape in met if len(shape) != wanted), None)
    given = f", and gets a tensor of shape {shape_words(odd)}" if odd is not None else ""
    what = (
        "matrices only, two dimensions"
        if wanted == 2
        else "batches of matrices only, three dimensions"
    )
    return (
        f"{name} in line {failure.line} takes {what}{given}",
        "Make rows of all that stands in front, x.reshape(-1, x.shape[-1]), where products are summed over the "
        "batch; elsewhere @ takes any number of dimensions in front.",
    )


def _too_few(failure: Failure, ev: Evidence) -> Words | None:
    """flatten(0, -2), transpose(-1, -2): a dimension that a tensor of one dimension has not got."""
    found = re.search(
        r"Dimension out of range \(expected to be in range of \[-(\d+), \d+\], but got (-?\d+)\)",
        failure.message,
    )
    if found is None or not failure.own_frame:
        return None
    count, got = int(found[1]), int(found[2])
    calls = [c for c in _calls(failure, ev) if got in map(_number, c.args)]
    if not calls:
        return None
    arguments = ", ".join(map(ast.unparse, calls[0].args))
    call = f"{ast.unparse(calls[0].func).split('.')[-1]}({arguments})"[:50]
    return (
        f"{call} in line {failure.line} names dimension {got}, and the tensor has "
        f"{'one dimension only' if count == 1 else f'{count} dimensions only'}",
        "reshape(-1, n), with n the size of the last dimension, makes rows of any number of batch dimensions, and of "
        "none."
        if "flatten" in call
        else "Count from the end as far as every tensor reaches: -1 is always there.",
    )


def _in_order(failure: Failure, ev: Evidence) -> Words | None:
    if "view size is not compatible" not in failure.message:
        return None
    hint = "reshape does the same for every tensor: it copies where it must."
    if _is_written_to(failure, ev):
        hint = (
            "What is written has to reach the tensor itself, and reshape would copy here: make the tensor contiguous first "
            "(clone(memory_format=torch.contiguous_format)), or change one element by its index (np.ndindex)."
        )
    return (
        "view stops, since it takes a tensor only if its elements lie in memory in the order of the new shape",
        hint,
    )


def _of_einsum(failure: Failure, ev: Evidence) -> Words | None:
    """An equation that names another number of dimensions than there are."""
    found = re.search(
        r"einsum\(\): the number of subscripts in the equation \((\d+)\) does not match the number of dimensions "
        r"\((\d+)\) for operand (\d+)",
        failure.message,
    )
    calls = [c for c in _calls(failure, ev) if ast.unparse(c.func).split(".")[-1] == "einsum"]
    if found is None or not failure.own_frame or len(calls) != 1 or not calls[0].args:
        return None
    equation, *operands = calls[0].args
    place = int(found[3])
    what = ast.unparse(operands[place]) if place < len(operands) else f"operand {place}"
    what = what if len(what) <= 30 else f"operand {place}"
    given = f" {equation.value!r}" if isinstance(equation, ast.Constant) else ""
    count = f"{found[1]} dimension{'s' if found[1] != '1' else ''}"
    return (
        f"the equation{given} in line {failure.line} names exactly {count} of {what}, and here it has {found[2]}",
        "The equation of einsum names every dimension; '...' in it stands for any number of them.",
    )


def _is_written_to(failure: Failure, ev: Evidence) -> bool:
    """Whether an element of this view is assigned to: ``x.view(-1)[i] += 1``, or by the view's name."""
    names = {
        target.id
        for part in _parts(failure, ev)
        if isinstance(part, ast.Assign)
        for target in part.targets
        if isinstance(target, ast.Name)
    }
    stores = [n for n in ev.source.nodes if isinstance(n, ast.Subscript)]
    stores = [n for n in stores if isinstance(n.ctx, ast.Store)]
    here = (failure.line or 0) - ev.source.offset
    return any(
        n.value.id in names if isinstance(n.value, ast.Name) else n.lineno == here for n in stores
    )


def _parts(failure: Failure, ev: Evidence) -> list[ast.AST]:
    """What stands in the line that failed."""
    line = (failure.line or 0) - ev.source.offset
    return [n for n in ev.source.nodes if getattr(n, "lineno", None) == line]


def _calls(failure: Failure, ev: Evidence) -> list[ast.Call]:
    return [n for n in _parts(failure, ev) if isinstance(n, ast.Call)]


def _number(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
