"""Why a mask lets everything through: it looks at what was clamped already, or joins with | for &."""

from __future__ import annotations

import ast
from dataclasses import replace

import torch
from torch import Tensor

from autograder.causes.made_at import assignments, saved_as
from autograder.causes.never_read import unread_mask
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream
from autograder.source import Source

EVERYWHERE = (
    "The gradient passes everywhere"  # how an exercise says so of a mask in a longer formula
)
_NEVER_NEGATIVE = ("relu", "relu_", "relu6", "square", "abs", "exp", "sigmoid", "softplus")

# What puts every number into the range that the mask asks for afterwards.
_BOUNDING = ("clamp", "clamp_", "clip", "clip_", "hardtanh", "minimum", "maximum", "sign", "where")


def with_why(ev: Evidence, finding: Finding, i: int, every: list[Pair]) -> Finding:
    """The finding, with the reason in front where a mask is made that stops nothing."""
    if not finding.message.startswith(EVERYWHERE) and not all(_passes(p, i) for p in every):
        return finding
    why = _never_negative(ev.source) or _joined_with_or(ev.source) or _looks_at_what_was_bounded(ev)
    if why is None:
        return replace(finding, message=_there_or_not(ev, finding.message))
    message, hint, line = why
    return replace(finding, message=message, hint=hint, evidence={**finding.evidence, **line})


_EITHER = ": its mask is missing in backward, or is True everywhere."
_CHOOSE = {"where", "sign", "gt", "ge", "lt", "le", "ne", "eq", "masked_fill", "heaviside", "nonzero", "clamp", "relu", "bool", "threshold_backward"}  # fmt: skip


def _there_or_not(ev: Evidence, message: str) -> str:
    """The message that leaves open whether there is a mask, as far as the source decides it."""
    source = ev.source
    node = source.methods.get("backward")
    if node is None or not message.endswith(_EITHER):
        return message
    if (name := unread_mask(ev)) is not None:
        return message.removesuffix(_EITHER) + f": {name} is saved, but backward never uses it."
    orders = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
    asked = [n for m in source.methods.values() for n in ast.walk(m) if isinstance(n, ast.Compare)]
    compares = any(isinstance(op, orders) for n in asked for op in n.ops)
    named = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    if not compares and not named & _CHOOSE:
        return message.removesuffix(_EITHER) + ": there is no mask in backward."
    return message


def _passes(pair: Pair, i: int) -> bool:
    got, upstream = pair.raw(i), expected_upstream(pair.question, pair.expected.outputs)[0]
    return isinstance(got, Tensor) and upstream is not None and torch.equal(got.double(), upstream.double())  # fmt: skip


_Why = tuple[str, str, dict[str, object]]
_METHODS = ("forward", "setup_context", "backward")


def _never_negative(source: Source) -> _Why | None:
    """``y >= 0`` where y is what relu gives: True everywhere."""
    for name in _METHODS:
        method = source.methods.get(name)
        for node in ast.walk(method) if method is not None else ():
            asked = _asks_at_least_0(node)
            if method is None or asked is None:
                continue
            called = _last_call(source, method, asked, node.lineno)  # type: ignore[attr-defined]
            if called not in _NEVER_NEGATIVE:
                continue
            line, text = source.line_of(node)
            return (
                f"The gradient passes everywhere: {ast.unparse(asked)[:40]} >= 0 in line {line} is always True, "
                f"for {called.removesuffix('_')} gives no negative number.",
                f"Where the gradient is to stop, {called.removesuffix('_')} gives 0: compare with > in place of >=.",
                {"line": line, "source": text},
            )
    return None


def _asks_at_least_0(node: ast.AST) -> ast.expr | None:
    """What is compared in ``y >= 0``, ``0 <= y``, ``y.ge(0)`` and ``torch.ge(y, 0)``; None elsewhere."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], ast.GtE) and _is_0(right):
            return left
        return right if isinstance(node.ops[0], ast.LtE) and _is_0(left) else None
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "ge"
    ):
        sides = [node.func.value, *node.args][-2:]
        return sides[0] if len(sides) == 2 and _is_0(sides[1]) else None
    return None


def _is_0(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _last_call(source: Source, method: ast.FunctionDef, value: ast.AST, before: int) -> str:
    """The last name of the call that gives this value, followed through names and what was saved."""
    for _ in range(4):
        if isinstance(value, ast.Call):
            return ast.unparse(value.func).split(".")[-1]
        if not isinstance(value, ast.Name):
            return ""
        places = [n for n in assignments(method, value.id) if n.lineno < before]
        made = [n.value for n in places if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]  # fmt: skip
        if made:
            value = made[-1]
            continue
        saving = [source.methods[m] for m in ("forward", "setup_context") if m in source.methods]
        origins = saved_as(method, value.id, saving)
        if len(origins) != 1:
            return ""
        method, value = origins[0]
        before = 10**9
    return ""


def _joined_with_or(source: Source) -> _Why | None:
    for name in _METHODS:
        for node in ast.walk(source.methods[name]) if name in source.methods else ():
            sides = []
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
                sides = [node.left, node.right]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("logical_or"):
                sides = node.args
            if len(sides) == 2 and all(isinstance(s, ast.Compare) for s in sides):
                line, text = source.line_of(node)
                return (
                    f"The gradient passes everywhere: in line {line} the two comparisons are joined with "
                    '"or", and of two such bounds one always holds.',
                    "Both must hold at once: & between them, each in brackets (torch.logical_and).",
                    {"line": line, "source": text},
                )
    return None


def _looks_at_what_was_bounded(ev: Evidence) -> _Why | None:
    found = mask_of_bounded(ev.source)
    if found is None:
        return None
    name, made, line, text = found
    return (
        f"The gradient passes everywhere: the mask in line {line} compares {name}, which line {made} has brought into "
        "the range already.",
        "Behind that line nothing is outside any more. Compare what went into it"
        + (
            "."
            if _passes_on_a_bound(ev)
            else "; or, where what comes out on a bound is to stop, compare without equality (> for >=)."
        ),
        {"line": line, "source": text},
    )


def _passes_on_a_bound(ev: Evidence) -> bool:
    """Whether the right gradient passes where x is the very number that others are bounded to."""
    for pair in ev.pairs("run", role="special", variant=""):
        x, outputs = pair.question.args[0], pair.expected.outputs
        right = pair.right(0)
        if right is None or not outputs or getattr(outputs[0], "shape", None) != x.shape:
            continue
        same = outputs[0] == x
        bounds = outputs[0][same & (right != 0)]
        if bool(torch.isin(outputs[0][~same], bounds).any()):
            return True
    return False


def mask_of_bounded(source: Source) -> tuple[str, int, int, str] | None:
    """(name, the line that bounded it, the line that compares it, its text), in forward or through what was saved."""
    for name in _METHODS:
        method = source.methods.get(name)
        for node in ast.walk(method) if method is not None else ():
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            names = [n.id for side in sides for n in ast.walk(side) if isinstance(n, ast.Name)]
            for each in names:
                made = _bounded(source, method, each, node.lineno)  # type: ignore[arg-type]
                if made is None:
                    continue
                return (each, made, *source.line_of(node))
    return None


def _bounded(source: Source, method: ast.FunctionDef, name: str, before: int) -> int | None:
    """The line of the last assignment that gave the name its value, where that bounds it."""
    places = [n for n in assignments(method, name) if n.lineno < before]
    saving = [source.methods[m] for m in ("forward", "setup_context") if m in source.methods]
    for where, origin in saved_as(method, name, saving):
        places = [*assignments(where, origin.id)] if isinstance(origin, ast.Name) else []
        if not places and any(_bounds(part) for part in ast.walk(origin)):
            return source.line_of(origin)[0]
    if not places:
        return None
    last = max(places, key=lambda n: n.lineno)
    value = getattr(last, "value", None)
    return source.line_of(last)[0] if value is not None and _bounds(value) else None


def _bounds(node: ast.AST) -> bool:
    """Whether the expression is such a call, or a sum with one (the last operation on what it makes)."""
    if isinstance(node, ast.BinOp):
        return _bounds(node.left) or _bounds(node.right)
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _BOUNDING
