"""A gradient that is the right one times a factor, and where the factor comes from."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torch import Tensor

from autograder.compare import ratio
from autograder.evidence import Evidence, Finding, Pair


def scale(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    factors = [ratio(p.raw(i), p.right(i)) for p in every]
    if not factors or any(f is None for f in factors):
        return None
    found = [f for f in factors if f is not None]
    name = ev.argument(i)
    constant = max(found) - min(found) <= 1e-6 * abs(found[0])
    if constant and (power := _power_of_product(ev, found[0])) is not None:
        line, text, words = power
        return Finding(
            "gradient-scale",
            f"In line {line} the power is taken of the factor too: {words}. So the gradient for {name} is "
            f"{found[0]:.4f} × the expected one.",
            "Take the power first, and multiply by the factor then. Parentheses decide what a power is taken of.",
            {"ratio": found[0], "line": line, "source": text},
        )
    if constant:
        return Finding(
            "gradient-scale",
            f"The gradient for {name} is {found[0]:.4f} × the expected one everywhere"
            f"{_value_source(ev, every, found)}.",
            _factor_hint(found[0]),
            {"ratio": found[0]},
        )
    source = _size_source(every, found)
    sizes = ", ".join(f"{f:.4f}" for f in sorted({round(f, 6) for f in found})[:4])
    if source:
        return Finding(
            "gradient-scale",
            f"The gradient for {name} is the right one times {source} (measured {sizes}).",
            "A mean divides by the count, a sum does not: look which of the two the formula needs.",
            {"ratio": found[0]},
        )
    source = _value_source(ev, every, found)
    if source:
        number = source.removeprefix(": it is ")
        return Finding(
            "gradient-scale",
            f"The gradient for {name} is the right one "
            + (
                f"divided by {number[4:]}: that factor is missing in backward, or something is divided by it once too often."
                if number.startswith("1 / ")
                else f"times {number}: that factor is there once too often in backward."
            ),
            f"Count the factors {number.removeprefix('1 / ')} in the derivative, and those in backward.",
            {"ratio": found[0]},
        )
    if len(wrong) == 1 < len(every):
        case, good = wrong[0], next(p for p in every if p not in wrong)
        factor = found[every.index(case)]
        return Finding(
            "gradient-scale",
            f"The gradient for {name} is right, but for {case.where} it is {factor:.4f} × the expected one.",
            f"Ask what is special about this case beside {good.where}: a size, a dimension, an optional "
            "argument.",
            {"ratio": factor},
        )
    return Finding(
        "gradient-scale",
        f"The gradient for {name} is the right one times a factor that changes from case to case "
        f"({sizes}).",
        "A factor of the forward pass is missing in backward, or is there twice. If it is a size: of the "
        "input, of the output, or of what was reduced?",
        {"ratio": found[0]},
    )


def _power_of_product(ev: Evidence, ratio: float) -> tuple[int, str, str] | None:
    """(line, its text, words) of a power in backward that holds a factor, where this makes the ratio."""
    for method in ("backward", "vjp"):
        node = ev.source.methods.get(method)
        for part in ast.walk(node) if node is not None else ():
            base, exponent = _power(part)
            if not isinstance(base, ast.BinOp) or not isinstance(base.op, ast.Mult | ast.Div):
                continue
            sides = (base.right,) if isinstance(base.op, ast.Div) else (base.left, base.right)
            for side in sides:
                value = side.value if isinstance(side, ast.Constant) else None
                if not isinstance(value, int | float) or isinstance(value, bool) or not value:
                    continue
                factor = 1 / value if isinstance(base.op, ast.Div) else value
                if abs(factor ** (exponent - 1) - ratio) <= 1e-6 * abs(ratio):
                    words = f"`({ast.unparse(base)})` to the power {exponent:g} has {factor**exponent:.4g} in it, not {factor:.4g}"
                    return *ev.source.line_of(part), words
    return None


def _power(node: ast.AST) -> tuple[ast.AST | None, float]:
    """(base, exponent) of a power with a number for its exponent, however it is written."""
    base: ast.AST | None = None
    exponent: ast.AST | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = node.left, node.right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
        given = node.args if of_torch else [node.func.value, *node.args]
        if node.func.attr == "square" and given:
            return given[0], 2.0
        if node.func.attr == "pow" and len(given) == 2:
            base, exponent = given
    number = exponent.value if isinstance(exponent, ast.Constant) else None
    return (base, float(number)) if isinstance(number, int | float) else (None, 1.0)


def _factor_hint(factor: float) -> str:
    whole = {2.0: "twice too large", 0.5: "half of what it should be"}
    words = whole.get(round(factor, 6))
    lead = f"It is {words}: look" if words else "Look"
    return f"{lead} for a constant factor that is missing in backward, or that is there twice."


def _size_source(pairs: list[Pair], factors: list[float]) -> str:
    """The size whose value (or inverse) is the factor in every case."""
    measures: dict[str, Callable[[Tensor], float]] = {
        "the number of rows": lambda x: float(x.shape[0]) if x.dim() else 1.0,
        "the size of the last dimension": lambda x: float(x.shape[-1]) if x.dim() else 1.0,
        "the number of elements": lambda x: float(x.numel()),
    }
    firsts = [next(a for a in p.question.args if isinstance(a, Tensor)) for p in pairs]
    sizes_by_words = {words: [measure(x) for x in firsts] for words, measure in measures.items()}
    outputs = [next((o for o in p.expected.outputs if isinstance(o, Tensor)), None) for p in pairs]
    if all(o is not None and o.numel() for o in outputs):
        counts = [float(o.numel()) for o in outputs if o is not None]
        sizes_by_words["the number of elements of the output"] = counts
        sizes_by_words["the number of elements that make up one output"] = [
            x.numel() / count for x, count in zip(firsts, counts, strict=True)
        ]
    for words, sizes in sizes_by_words.items():
        for form, power in ((words, 1.0), (f"1 / {words}", -1.0), (f"1 / √({words})", -0.5)):
            if all(
                s and abs(f - s**power) <= 1e-6 * abs(f)
                for f, s in zip(factors, sizes, strict=True)
            ):
                return form
    return ""


def _value_source(ev: Evidence, pairs: list[Pair], factors: list[float]) -> str:
    """A Python number among the arguments (or its inverse) that is the factor in every case."""
    count = min(len(p.question.args) for p in pairs)
    for j in range(count):
        values = [p.question.args[j] for p in pairs]
        if not all(isinstance(v, int | float) and not isinstance(v, bool) and v for v in values):
            continue
        for form, power in (("", 1.0), ("1 / ", -1.0)):
            if all(
                abs(f - v**power) <= 1e-6 * abs(f) for f, v in zip(factors, values, strict=True)
            ):
                return f": it is {form}{ev.argument(j)}"
    return ""
