"""What in the code decides at a special point: a comparison with 0, a sign, a mask of equal or of clamped numbers."""

from __future__ import annotations

import ast
import re

from torch import Tensor

from autograder.causes.true_everywhere import mask_of_bounded
from autograder.compare import mismatch
from autograder.evidence import Evidence, Finding
from autograder.expected import expected_upstream
from autograder.source import Source

_SHARES = {0.0: "none", 0.5: "half", 1.0: "all"}


def share_there(ev: Evidence, case: object) -> str | None:
    """How much of grad_output passes where it is wrong, and how much should: where one of them is a half."""
    for pair in (p for p in ev.pairs("run", role="special", variant="") if p.where == case):
        for position in pair.question.wants:
            got, right = pair.raw(position), pair.right(position)
            upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
            if not isinstance(got, Tensor) or right is None or upstream is None:
                continue
            if not got.shape == right.shape == upstream.shape:
                continue
            odd = mismatch(got, right) & (upstream != 0)
            passes = {round(float(v), 6) for v in (got[odd] / upstream[odd]).reshape(-1)}
            should = {round(float(v), 6) for v in (right[odd] / upstream[odd]).reshape(-1)}
            if len(passes) != 1 or len(should) != 1 or 0.5 not in passes | should:
                continue
            mine, asked = _SHARES.get(passes.pop()), _SHARES.get(should.pop())
            if mine is not None and asked is not None:
                return f"{mine} of grad_output passes there, and {asked} of it should."
    return None


def with_what_decides(ev: Evidence, verdict: Finding) -> Finding:
    """The finding about a special point, with the one thing in the code that decides there, where there is one."""
    case = str(verdict.evidence["case"])
    if verdict.evidence.get("line") or re.search("stops with|the output is ", verdict.message):
        return verdict
    found = None
    if "equal elements" in verdict.message:
        found = _equal(ev.source)
    elif " bound the gradient stops" in verdict.message:
        found = _clamped(ev.source)
    elif "single −inf makes" in verdict.message:
        found = _any(ev.source)
    elif " beyond a bound " in case:
        found = _near(ev.source)
    elif re.search(r"(?<![\w.])0(?![\w.])", case):
        found = _at_zero(ev.source)
    if found is None:
        return verdict
    words, line, text = found
    verdict.message = f"{verdict.message.removesuffix('.')} ({words})."
    verdict.evidence |= {"line": line, "source": text}
    return verdict


_Found = tuple[str, int, str] | None
_ORDERS: dict[type[ast.cmpop], bool] = {
    ast.Lt: False, ast.Gt: False, ast.LtE: True, ast.GtE: True,
}  # fmt: skip
_OF_SIZES = {"dim", "ndim", "numel", "shape", "size", "len", "needs_input_grad"}


def _at_zero(source: Source) -> _Found:
    """``z < 0`` and ``x.sign()``, where these are the only ones; what they are at 0 follows from what they are."""
    compared = [n for n in _in_methods(source) if _compares_with_0(n)]
    signs = [n for n in _in_methods(source) if _last(n) in ("sign", "sgn") and _of_a_name(n)]
    if len(compared) > 1 or len(signs) > 1 or not compared + signs:
        return None
    told = [f"{_code(n, source)} is {_ORDERS[type(n.ops[0])]} at 0" for n in compared]  # type: ignore[attr-defined]
    told += [f"{_code(n, source)} is 0 at 0" for n in signs]
    return ", and ".join(told), *source.line_of((compared + signs)[0])


def _equal(source: Source) -> _Found:
    """``x == values``, where it is the only comparison for equality."""
    found: list[ast.AST] = [
        n
        for n in _in_methods(source)
        if (isinstance(n, ast.Compare) and isinstance(n.ops[0], ast.Eq) and not _is_constant(n))
        or _last(n) == "eq"
    ]
    if len(found) != 1:
        return None
    return f"{_code(found[0], source)} is True for each of them", *source.line_of(found[0])


_TOLERANCE = 1e-3  # a number in the code below this is no bound, but what is granted beside one


def _near(source: Source) -> _Found:
    """``torch.isclose`` or a small number, where nothing else could be it."""
    close = [n for n in _in_methods(source) if _last(n) in ("isclose", "allclose")]
    small = [
        n
        for n in _in_methods(source)
        if isinstance(n, ast.Constant) and isinstance(n.value, float) and 0 < n.value < _TOLERANCE
    ]
    found = {_last(n) or ast.unparse(n): n for n in reversed([*close, *small])}
    if len(found) != 1:
        return None
    what, node = found.popitem()
    line, text = source.line_of(node)
    return f"{what} in line {line} takes in what is near", line, text


def _any(source: Source) -> _Found:
    """``.any(dim)``, where it is the only one."""
    found = [n for n in _in_methods(source) if _last(n) == "any"]
    if len(found) != 1:
        return None
    line, text = source.line_of(found[0])
    return f"any in line {line} is content with one", line, text


def _clamped(source: Source) -> _Found:
    """A mask made from what a clamp has brought to the bounds."""
    found = mask_of_bounded(source)
    if found is None:
        return None
    name, made, line, text = found
    return (
        f"the mask in line {line} asks {name}, which line {made} has clamped: an x on the bound and one beyond it are the "
        "same there",
        line,
        text,
    )


def _in_methods(source: Source) -> list[ast.AST]:
    methods = [m for name, m in source.methods.items() if not name.startswith("__")]
    return [n for m in methods for n in ast.walk(m)]


def _compares_with_0(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or type(node.ops[0]) not in _ORDERS:
        return False
    words = set(re.findall(r"\w+", ast.unparse(node)))
    sides = [node.left, node.comparators[0]]
    return not words & _OF_SIZES and any(
        isinstance(s, ast.Constant) and s.value == 0 for s in sides
    )


def _of_a_name(call: ast.AST) -> bool:
    """Whether a sign is that of a name by itself: x.sign(), torch.sign(x)."""
    assert isinstance(call, ast.Call)
    of = call.args[0] if call.args else getattr(call.func, "value", None)
    return isinstance(of, ast.Name) and of.id != "torch"


def _is_constant(node: ast.Compare) -> bool:
    return any(isinstance(s, ast.Constant) for s in (node.left, *node.comparators))


def _last(node: ast.AST) -> str:
    return ast.unparse(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""


def _code(node: ast.AST, source: Source) -> str:
    text = ast.unparse(node)
    return f"`{text if len(text) <= 40 else _shortened(text)}` in line {source.line_of(node)[0]}"


def _shortened(text: str) -> str:
    return f"{text[:38]}…"
