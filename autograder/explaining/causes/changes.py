"""What may have been done wrong in an expression: the expressions that may belong in its place, each with what it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from autograder.explaining.causes.edits import Edit
from autograder.explaining.causes.precision import CONSTANTS
from autograder.observation.syntax import called

_SIGNS = {ast.Mult: "*", ast.Div: "/", ast.Add: "+", ast.Sub: "-", ast.MatMult: "@", ast.Pow: "**"}
_FORMS = (
    "-{}", "{} ** 2", "1 - {}", "{}.abs()", "{} ** 0.5", "{} ** -0.5", "{}.mT", "2 * {}", "{} / 2", "{} / 2 ** 0.5", "{}.log()", "{}.exp()",
)  # fmt: skip
_OF_NUMBERS = ("-{}", "1 - {}", "2 * {}", "{} / 2")
_ALIKE = (
    {"sum", "mean", "prod", "amax", "amin", "logsumexp"}, {"round", "floor", "ceil", "trunc"},
    {"maximum", "minimum"}, {"max", "min"}, {"any", "all"}, {"softmax", "log_softmax"}, {"cumsum", "cumprod"},
    {"exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "abs", "sign", "sigmoid", "tanh", "erf", "erfc", "relu", "sin", "cos"},
)  # fmt: skip
_OVER_DIMS = frozenset({"sum", "mean", "prod", "norm", "logsumexp", "any", "all", "var"})
_REDUCE = {"max": "amax", "min": "amin", **{name: name for name in ("amax", "amin", *_OVER_DIMS)}}
_TOKENS = re.compile(r"-?\d[\d.]*|\w+|[-+*/]=|[<>=!*/]+|\S")
_REDUCED = tuple(f"{{}}.{name}({over})" for over in ("-1", "0", "-2", "-1, keepdim=True", "") for name in ("sum", "mean"))  # fmt: skip
ORDERS = ("<", "<=", ">", ">=", "==", "!=")
# With the one that a reader most often means in its place.
_ORDERS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
}  # fmt: skip


class Change(NamedTuple):
    """An expression that may be meant.

    rank   how unlikely that is, from 0
    mine   the part that is another one; line: its line
    other  what is there instead
    text   the whole expression
    """

    rank: int
    mine: str
    other: str
    text: str
    line: int

    @property
    def edit(self) -> Edit:
        """What it says was done wrong."""
        told = apart(self.mine, ast.unparse(ast.parse(f"({self.other})")))
        return Edit("edit", told | {"part": self.text != f"({self.other})"})


def changes(tree: ast.expr, names: Mapping[str, Any], agreed: Container[str] = (), asks: bool = False) -> list[Change]:  # fmt: skip
    """An expression with one of its parts changed, the likeliest first.

    names   numbers and tensors that are known there, each of which may be meant by all of it
    agreed  what is listed in the same order elsewhere
    asks    whether it decides what runs: other numbers there lead the right way by chance
    """
    code = ast.unparse(tree)
    again = ast.parse(code, mode="eval").body
    nodes = [n for n in ast.walk(again) if isinstance(n, ast.expr)]
    tests = [again] if asks else [n.test for n in nodes if isinstance(n, ast.IfExp)]
    asking = {node for test in tests for node in ast.walk(test)}
    # What only a size is read of: its numbers count nothing.
    counted = {n for each in nodes if called(each) == "len" for n in ast.walk(each)} - {*nodes[:1]}
    found = list[Change]()
    for node, here in zip(nodes, (n for n in ast.walk(tree) if isinstance(n, ast.expr)), strict=False):  # fmt: skip
        start, end = node.col_offset, node.end_col_offset or 0
        mine, parts = code[start:end], _Parts(code, names)
        if node in asking:
            others = [*_decisions(node, parts, node in tests)]
        else:
            others = [*_orders(node, agreed), *_replacements(node, parts)]
            others += _wrappings(node, parts) if node not in counted else []
            if node is again:
                others += [(4, form.format(parts.operand(node))) for form in _REDUCED]
            if isinstance(node, ast.BinOp | ast.Call) and parts.is_number(node):
                others += [(1, name) for name in parts.numbers]
        line = getattr(here, "lineno", tree.lineno)
        for rank, other in others:
            rank += other in names and other not in code  # it is farther away
            found.append(Change(rank, mine, other, f"{code[:start]}({other}){code[end:]}", line))
    return sorted(found, key=lambda change: change.rank)


def put(tree: ast.expr, part: ast.expr, other: str) -> Change:
    """The expression with other text in the place of one of its parts."""
    code = ast.unparse(tree)
    same = zip(ast.walk(tree), ast.walk(ast.parse(code, mode="eval").body), strict=False)
    node: Any = next(again for each, again in same if each is part)
    start, end = node.col_offset, node.end_col_offset
    return Change(0, code[start:end], other, f"{code[:start]}({other}){code[end:]}", part.lineno)


def orders(tree: ast.expr, agreed: Container[str]) -> list[Change]:
    """The targets of an assignment in another order."""
    mine = ast.unparse(tree)
    return [Change(rank, mine, text, f"({text})", tree.lineno) for rank, text in _orders(tree, agreed)]  # fmt: skip


def apart(mine: str, other: str) -> dict[str, Any]:
    """Where two expressions differ: "mean" and "sum", "<" and "<="; all of both where one has more than the other."""
    a, b = (_TOKENS.findall(text) for text in (mine, other))
    apart = [(x, y) for x, y in zip(a, b, strict=False) if x != y]
    if len(a) == len(b) and len(apart) == 1:
        mine, other = apart[0]
    return {"mine": mine, "other": other}


def listed(node: ast.AST) -> str:
    """What stands side by side in a node: the parts of a tuple or a list, the arguments of a call or of a function; "" for less than two."""
    match node:
        case ast.Tuple() | ast.List():
            parts = [*map(ast.unparse, node.elts)]
        case ast.Call():
            parts = [*map(ast.unparse, node.args)]
        case ast.FunctionDef():
            parts = [each.arg for each in node.args.args if each.arg != "ctx"]
        case _:
            parts = []
    return ", ".join(parts) if len(parts) > 1 else ""


def _orders(node: ast.expr, agreed: Container[str]) -> Iterator[tuple[int, str]]:
    """A tuple, a list or a call with two neighbours in each other's place."""
    if not listed(node) or listed(node) in agreed:
        return
    parts = getattr(node, "args" if isinstance(node, ast.Call) else "elts", [])
    if any(isinstance(part, ast.Starred) for part in parts):
        return
    for i in range(len(parts) - 1):
        swapped = [*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :]]
        if isinstance(node, ast.Call):
            yield 0, ast.unparse(ast.Call(node.func, swapped, node.keywords))
        else:
            kind = ast.List if isinstance(node, ast.List) else ast.Tuple
            yield 0, ast.unparse(kind(swapped, ast.Load()))


@dataclass(frozen=True)
class _Parts:
    """The text of an expression's parts, and the names that stand for numbers there."""

    code: str
    names: Mapping[str, Any]

    def of(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.code, node) or ""

    def operand(self, node: ast.AST) -> str:
        """The same, to stand beside an operator."""
        alone = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)
        return self.of(node) if alone else f"({self.of(node)})"

    def alike(self, name: str) -> list[str]:
        """The other names of the same kind: of tensors, or of numbers."""
        kind = isinstance(self.names[name], Tensor)
        return [n for n, v in self.names.items() if isinstance(v, Tensor) == kind and n != name]

    def other_shape(self, *names: str) -> bool:
        """Whether two tensors differ in shape: then one stands less often for the other."""
        one, other = (getattr(self.names[name], "shape", None) for name in names)
        return one != other

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is made of numbers, as far as the names in it are known."""
        read = {ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
        return bool(known := read & self.names.keys()) and known <= {*self.numbers}

    def products(self, text: str) -> Iterator[str]:
        """The products of a matrix with every other that it meets."""
        matrices = {n: v for n, v in self.names.items() if isinstance(v, Tensor) and v.dim() > 1}
        mine = matrices.pop(text, None)
        if mine is None:
            return
        for name, other in matrices.items():
            meet = {
                f"{text} @ {name}": (mine, other),
                f"{text} @ {name}.mT": (mine, other.mT),
                f"{text}.mT @ {name}": (mine.mT, other),
                f"{name} @ {text}": (other, mine),
                f"{name}.mT @ {text}": (other.mT, mine),
            }
            yield from (each for each, (a, b) in meet.items() if a.shape[-1] == b.shape[-2])

    @property
    def numbers(self) -> list[str]:
        return [name for name, value in self.names.items() if not isinstance(value, Tensor)]

    @property
    def whole(self) -> list[str]:
        return [name for name in self.numbers if type(self.names[name]) is int]


def _replacements(node: ast.expr, parts: _Parts) -> Iterator[tuple[int, str]]:
    """What may belong in the place of a name, a number, an operator or a call."""
    text = parts.of(node)
    match node:
        case ast.Name() | ast.Attribute() if text in parts.names:
            yield from ((2 * parts.other_shape(text, name), name) for name in parts.alike(text))
        case ast.Constant() | ast.UnaryOp(operand=ast.Constant()):
            yield from _numbers(ast.literal_eval(text), parts)
        case ast.Compare() | ast.BoolOp():
            yield from _decisions(node, parts)
        case ast.UnaryOp():
            yield 1, parts.of(node.operand)
        case ast.BinOp():
            left, right = parts.operand(node.left), parts.operand(node.right)
            signs = _SIGNS.values() if type(node.op) in _SIGNS else "&|"
            yield from ((2, each) for each in _brackets(node, parts))
            yield from ((2, parts.of(each)) for each in (node.left, node.right))
            yield from ((2 + (sign == "**"), f"{left} {sign} {right}") for sign in signs)
            yield from ((2, f"{right} {sign} {left}") for sign in "-/@" if type(node.op) in _SIGNS)
        case ast.Call():
            yield from _calls(node, parts)
        case ast.Subscript(slice=ast.Slice()):
            yield 2, parts.of(node.value)


def _decisions(node: ast.expr, parts: _Parts, whole: bool = False) -> Iterator[tuple[int, str]]:
    """Another order in a comparison, one condition for all, or one alone; of a ``whole`` condition, the opposite."""
    match node:
        case ast.Compare(ops=[order]) if type(order) in _ORDERS:
            left, right = parts.of(node.left), parts.of(node.comparators[0])
            mine, near = _ORDERS[type(order)]
            for other in (each for each in ORDERS if each != mine):
                alike = (other in ORDERS[4:]) == (mine in ORDERS[4:])
                yield 0 if other == near else 1 if alike else 2, f"{left} {other} {right}"
        case ast.BoolOp():
            sign = " or " if isinstance(node.op, ast.And) else " and "
            yield 1, sign.join(map(parts.of, node.values))
            yield from ((1, parts.of(value)) for value in node.values)
        case ast.Call(func=ast.Name(id="any" | "all" as name)):
            yield 1, f"{'all' if name == 'any' else 'any'}{parts.of(node)[3:]}"
    if whole and not isinstance(node, ast.Compare):
        yield 2, parts.of(node.operand) if isinstance(node, ast.UnaryOp) else f"not {parts.operand(node)}"  # fmt: skip


def _brackets(node: ast.BinOp, parts: _Parts) -> Iterator[str]:
    """The same operators with the brackets elsewhere: a * (b - c) for a * b - c, and the other way round."""
    outer = _SIGNS.get(type(node.op), "")
    for inner, first in ((node.left, True), (node.right, False)):
        if outer and isinstance(inner, ast.BinOp) and type(inner.op) in _SIGNS:
            a, sign, b = parts.operand(inner.left), _SIGNS[type(inner.op)], parts.operand(inner.right)  # fmt: skip
            if first:
                yield f"{a} {sign} ({b} {outer} {parts.operand(node.right)})"
            else:
                yield f"({parts.operand(node.left)} {outer} {a}) {sign} {b}"


def _numbers(number: Any, parts: _Parts) -> Iterator[tuple[int, str]]:
    """Other numbers, and names of numbers, in the place of one."""
    if isinstance(number, bool):
        yield 1, str(not number)
    elif isinstance(number, int | float):
        counts = isinstance(number, int)
        yield from ((int(counts and n not in parts.whole), n) for n in parts.numbers)
        typed = (repr(v) for v in CONSTANTS.values() if abs(number / v - 1) < 1e-2)
        yield from ((0, other) for other in typed if not counts and other != repr(number))
        near = {number + 1, number - 1, 2 * number} - {0, 1} if counts else ()
        others = 0, 1, -1, 2, 3, -2, 0.5, number + 1, number - 1, 2 * number, number / 2, -number
        # A 0 or a 1 in the place of a part says less than that the part is too much.
        ranks = dict.fromkeys(others, 3) | dict.fromkeys(near, 1)
        yield from ((rank, str(n)) for n, rank in ranks.items() if n != number)


def _calls(node: ast.Call, parts: _Parts) -> Iterator[tuple[int, str]]:
    """None of it, another function, or other arguments."""
    name, function, mine = called(node), parts.of(node.func), parts.of(node)
    given = mine[len(function) :]
    # First: for what is positive, or squared afterwards, `abs` gives the same numbers.
    yield from ((2, parts.of(arg)) for arg in node.args)
    base = parts.operand(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if base:
        yield 2, base
    for group in _ALIKE:
        if name in group:
            yield from ((3, function[: -len(name)] + other + given) for other in sorted(group - {name}))  # fmt: skip
    turned = re.sub(r"\b(min|max)=", lambda m: "max=" if m[1] == "min" else "min=", given)
    if turned != given:
        yield 3, function + turned
    if name in ("var", "std"):
        yield 3, f"{function}{given[:-1]}, correction=0)"
    if name in _REDUCE and base:
        if given == "()":
            dims = (*parts.whole, "-1")
            yield from ((1, f"{base}.{_REDUCE[name]}({dim}, keepdim=True)") for dim in dims)
        else:
            keeps = "keepdim" in given
            yield 1, re.sub(r", keepdim=\w+", "", mine) if keeps else f"{mine[:-1]}, keepdim=True)"
            yield 1, f"{base}.flatten(1).{name}{given}"
            yield 1, f"{base}.reshape(-1, {base}.shape[-1]).{name}{given}"
    if name in ("numel", "len"):
        of = base or parts.of(node.args[0])
        yield from ((1, f"{of}.shape[{n}]") for n in parts.whole)
    yield from ((3, f"{mine}.flip({n})") for n in parts.whole)


def _wrappings(node: ast.expr, parts: _Parts) -> Iterator[tuple[int, str]]:
    """A part with something done to it."""
    text = parts.operand(node)
    if isinstance(node, ast.Compare):
        yield 4, f"~{text}"
    elif isinstance(node, ast.Name | ast.Attribute | ast.BinOp | ast.Call | ast.Subscript):
        tensor = isinstance(parts.names.get(text), Tensor)
        # Names before numbers: where one is 2, it is what is meant.
        for name, value in parts.names.items():
            if name != text:
                near = tensor and isinstance(value, Tensor)
                yield from ((3 if near and sign in "*/" else 4, f"{text} {sign} {name}") for sign in "*/+-")  # fmt: skip
        yield from ((2, f"{text} {sign} 1") for sign in "+-" if text in parts.whole)
        yield from ((3, f"{text}.unsqueeze({n})") for n in parts.whole if tensor)
        yield from ((3, other) for other in parts.products(text))
        # Of a number its definition comes before its use.
        likely = _OF_NUMBERS[: 2 if text in parts.names else 4] * parts.is_number(node)
        forms = _OF_NUMBERS if text in parts.whole else _FORMS
        yield from ((2 if form in likely else 4, form.format(text)) for form in forms)
