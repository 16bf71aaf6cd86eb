"""Errors whose cause the line itself tells, together with the words of the error."""

from __future__ import annotations

import ast
import re

from autograder.evidence import Evidence, Pair
from autograder.observation import Failure

_ASKED = (
    r"\b(?:if|elif|while|and|or|not)\s+(?:not\s+)?([A-Za-z_]\w*)\s*(?::|\)|$|else\b|and\b|or\b)",
    r"\b([A-Za-z_]\w*)\s+(?:or|and)\b",
    r"\bbool\(([A-Za-z_]\w*)\)",
)


def missing_or_not(failure: Failure, ev: Evidence, method: str) -> tuple[str, str] | None:
    """``if bias:`` on an argument that may be left out: asked is whether the tensor is true."""
    if "Boolean value of Tensor" not in failure.message:
        return None
    found = [m[1] for pattern in _ASKED for m in re.finditer(pattern, failure.source)]
    optional = [p.split("=")[0].strip() for p in ev.exercise.signature.split(",") if "=None" in p]
    name = next((n for n in found if n in {o.strip("() *") for o in optional}), None)
    if name is None:
        return None
    return (
        f"{method} asks whether all of {name} is true, where the question is whether there is one: a tensor "
        "of several numbers is neither true nor false.",
        f"An argument that was left out is None: ask `{name} is not None` (or `{name} is None`).",
    )


def after_the_last(
    failure: Failure, ev: Evidence, pair: Pair, method: str
) -> tuple[str, str] | None:
    """``shape[dim + 1:]`` with dim = -1, which takes everything once more."""
    names = ev.exercise.argument_names
    place = names.index("dim") if "dim" in names else len(pair.question.args)
    if place >= len(pair.question.args) or pair.question.args[place] != -1:
        return None
    if any(_fails_from_the_front(other, pair, place) for other in ev.plain):
        return None
    for where in dict.fromkeys((method, *ev.source.methods)):
        node = ev.source.methods.get(where)
        found = re.search(r"[\w.]*\bdim \+ 1:", ast.unparse(node)) if node is not None else None
        if node is None or found is None or _counts_from_the_front(node):
            continue
        written = found[0].removesuffix(":")
        return (
            f"With dim = -1, {written} is 0: what is taken from there on in {where} begins again at the front.",
            "Count dim from the front first (dim % x.dim()), or use unsqueeze(dim), which takes negative ones.",
        )
    return None


def _fails_from_the_front(other: Pair, pair: Pair, place: int) -> bool:
    """Whether a case with a dim from 0 up stops in the same way, so that -1 is not the reason."""
    mine, theirs = pair.answer.failure, other.answer.failure
    dim = other.question.args[place] if place < len(other.question.args) else None
    return (
        isinstance(dim, int)
        and dim >= 0
        and mine is not None
        and theirs is not None
        and (mine.kind, mine.line) == (theirs.kind, theirs.line)
    )


def _counts_from_the_front(node: ast.AST) -> bool:
    """Whether a method makes a negative dim a place from the front: dim %= …, or if dim < 0."""
    return re.search(_FROM_THE_FRONT, ast.unparse(node)) is not None


_FROM_THE_FRONT = r"\bdim (?:%|\+=|< 0|= .*(?:%|range\(|dim\(\)|ndim|len\())"


def list_and_tuple(failure: Failure, ev: Evidence, pair: Pair) -> tuple[str, str] | None:
    """``(1, 1) + shape`` with a shape that comes as a list."""
    found = re.search(_JOINED, failure.message)
    if found is None:
        return None
    kinds = {found[1], found[2].split(".")[-1]}
    for i, value in enumerate(pair.question.args):
        name = ev.argument(i)
        if type(value).__name__ in kinds and re.search(rf"\b{name}\b", failure.source):
            kind = type(value).__name__
            other = next(iter(kinds - {kind}), "")
            order = (
                f"it is joined to a {other}" if found[1] != kind else f"a {other} is joined to it"
            )
            return (
                f"{name} may be a tuple or a list, and + joins like with like only: here {name} is a "
                f"{kind}, and {order}.",
                f"Make it what you need first, on its own line: {name} = tuple({name}).",
            )
    return (
        f"+ joins like with like only: here a {found[1]} and a {found[2]}.",
        "tuple(…) or list(…) makes one of the other. A shape is a tuple: shape + (1,), (1, *shape).",
    )


_JOINED = r'can only concatenate (\w+) \(not "([\w.]+)"\) to'


def rows_counted(failure: Failure, ev: Evidence, pair: Pair, method: str) -> tuple[str, str] | None:
    """``grad[torch.arange(n), indices]``, which is a place in a matrix, one in each row."""
    node = ev.source.methods.get(failure.function or method)
    if node is None or failure.line is None or "dim" not in ev.exercise.argument_names:
        return None
    if "indexing tensors could not be broadcast" not in failure.message:
        return None
    line = failure.line - ev.source.offset
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and part.lineno <= line <= (part.end_lineno or 0):
            places = part.slice.elts if isinstance(part.slice, ast.Tuple) else []
            if places and "dim" not in re.findall(r"\w+", ast.unparse(part.slice)):
                index = ", ".join(map(ast.unparse, places))[:60]
                return (
                    f"dim plays no part in the index [{index}]: it fits a matrix, and one value of dim, at best.",
                    "scatter and gather take dim: the indices need the reduced dimension back (unsqueeze(dim)), and "
                    "then serve any number of dimensions.",
                )
    return None


def no_create_graph(failure: Failure, ev: Evidence) -> tuple[str, str] | None:
    """A gradient that is differentiated again, though its own pass recorded nothing."""
    node = ev.source.methods.get(failure.function or ev.exercise.name)
    if node is None or failure.line is None or "does not require grad" not in failure.message:
        return None
    line = failure.line - ev.source.offset
    passes = [
        call
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("grad", "backward")
    ]
    passes.sort(key=lambda call: call.lineno)
    stopped = [c for c in passes if c.lineno <= line <= (c.end_lineno or c.lineno)]
    before = [c for c in passes if (c.end_lineno or c.lineno) < line]
    if not stopped or not before or any(_keeps_graph(call) for call in before):
        return None
    number, text = ev.source.line_of(before[-1])
    where = ev.exercise.name
    return (
        f"{where} differentiates a gradient that has no graph: create_graph=True is missing in the first "
        f"pass, line {number}.",
        f"Without it a gradient is a bare number to autograd. The line is: `{text[:100]}`.",
    )


def nothing_requires_grad(failure: Failure, ev: Evidence) -> tuple[str, str] | None:
    """A function that differentiates by x, which comes without requires_grad, and is given none."""
    if not re.search(r"does not require grad", failure.message) or not ev.source.methods:
        return None
    if "x" not in ev.exercise.argument_names or any(map(_sets_requires_grad, ev.source.nodes)):
        return None
    return (
        f"{ev.exercise.name} differentiates by x, which does not require grad: nothing that is computed from it "
        "is recorded.",
        "Start from a leaf of your own: x = x.detach().requires_grad_(True). The caller's tensor stays as it is.",
    )


def _sets_requires_grad(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "requires_grad"
    if isinstance(node, ast.Attribute):
        return node.attr == "requires_grad_" or (
            node.attr == "requires_grad" and isinstance(node.ctx, ast.Store)
        )
    return False


def _keeps_graph(call: ast.Call) -> bool:
    return any(
        k.arg is None or (k.arg == "create_graph" and ast.unparse(k.value) != "False")
        for k in call.keywords
    )


def tuple_for_tensor(failure: Failure, ev: Evidence) -> tuple[str, str] | None:
    """``x = ctx.saved_tensors``: the name stands for the whole tuple."""
    node = ev.source.methods.get(failure.function or "backward")
    if "tuple" not in failure.message and "index" not in failure.message:
        return None
    for part in ast.walk(node) if node is not None else ():
        if not isinstance(part, ast.Assign) or not isinstance(part.targets[0], ast.Name):
            continue
        name = part.targets[0].id
        if ast.unparse(part.value).endswith(".saved_tensors") and _is_computed_with(node, name):
            return (
                f"{name} is the whole tuple ctx.saved_tensors (line {ev.source.line_of(part)[0]}), not the tensor in "
                "it: a comma is missing.",
                f"({name},) = {ast.unparse(part.value)} unpacks it, also where only one tensor was saved.",
            )
    return None


def _is_computed_with(node: ast.AST | None, name: str) -> bool:
    """Whether a name stands in an operation, or is handed to a call, by itself."""
    for part in ast.walk(node) if node is not None else ():
        sides: list[ast.expr] = []
        if isinstance(part, ast.BinOp):
            sides = [part.left, part.right]
        elif isinstance(part, ast.UnaryOp):
            sides = [part.operand]
        elif isinstance(part, ast.Compare):
            sides = [part.left, *part.comparators]
        elif isinstance(part, ast.Call) and ast.unparse(part.func) not in ("len", "list", "tuple"):
            sides = (
                [*part.args, part.func.value] if isinstance(part.func, ast.Attribute) else part.args
            )
        if any(isinstance(side, ast.Name) and side.id == name for side in sides):
            return True
    return False
