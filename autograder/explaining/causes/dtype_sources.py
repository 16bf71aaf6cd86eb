"""What in a method makes a float32 (or float64, or int64) tensor, where the input has another dtype."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from autograder.explaining.causes.results import Reason
from autograder.judging.evidence import Evidence
from autograder.judging.finding import Clause, Finding
from autograder.judging.rules.outputs import method_of
from autograder.observation.source import Source
from autograder.observation.syntax import called

# Of these, without a dtype, torch makes tensors of its default dtype.
_FACTORIES = ("zeros", "ones", "full", "empty", "rand", "randn", "eye", "linspace", "tensor")
_LIKE = ("zeros", "ones", "full", "empty")
_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8",
}  # fmt: skip
_TYPED = {
    "Tensor": "float32", "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16",
    "LongTensor": "int64", "IntTensor": "int32",
}  # fmt: skip
_COUNTING = ("one_hot", "argmax", "argmin", "argsort")
_KINDS = 2  # of expressions that one sentence can name


def dtype_source(source: Source, dtype: str, *methods: str) -> dict[str, Any] | None:
    """The facts ``made`` and ``instead`` (clauses), ``line`` and ``source`` of what makes tensors of a dtype.

    None where nothing is found, or three kinds of things and more: then nobody knows which it is.
    """
    found: dict[str, tuple[ast.AST, Clause, Clause]] = {}
    for name in methods:
        nodes = ast.walk(source.methods[name]) if name in source.methods else ()
        x = _own_name(source, name)
        for node in sorted((n for n in nodes if hasattr(n, "lineno")), key=lambda n: n.lineno):
            for code, facts in _made(node, dtype):
                line, _ = source.line_of(node)
                facts = {"dtype": dtype, "x": x, "line": line, **facts}
                clauses = Clause(f"makes/{code}", facts), Clause(f"instead/{code}", facts)
                found.setdefault(f"{code} {facts.get('written')}", (node, *clauses))
    if len(found) > 1:  # an index is made of whole numbers, too
        found = {k: v for k, v in found.items() if not k.startswith("whole-cast")} or found
    if not found or len(found) > _KINDS:
        return None
    first = next(
        iter(found.values())
    )  # of two the one that stands first: the other is told next time
    line, text = source.line_of(first[0])
    return {
        "made": first[1],
        "instead": first[2],
        "line": line,
        "source": text,
    }


def _own_name(source: Source, method: str) -> str:
    """The learner's name for the first argument: x, or what backward calls the upstream gradient."""
    names = [a.arg for a in source.methods[method].args.args] if method in source.methods else []
    skipped = method == "backward" or (
        method == "forward" and "setup_context" not in source.methods
    )
    return next(iter(names[int(skipped) :]), "x")


def _made(node: ast.AST, dtype: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(code, facts) of an expression that makes tensors of this dtype, whatever its input has."""
    if isinstance(node, ast.Attribute) and node.attr == dtype:
        yield "named", {"written": ast.unparse(node)}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name, of_torch = called(node), ast.unparse(node.func.value) == "torch"
    typed = any(k.arg == "dtype" for k in node.keywords)
    numbers = [_number(each) for each in node.args[1:]]
    if _CASTS.get(name) == dtype and not node.args:
        yield "cast", {"written": f".{name}()"}
    elif of_torch and _TYPED.get(name) == dtype:
        yield "typed", {"written": f"torch.{name}"}
    elif name == "where" and len(numbers) == 2 and dtype in _of_where(numbers):
        yield "where", {"written": "torch.where"}
    elif dtype == "float32" and (cast := _to_whole_numbers(node)):
        yield "whole-cast", {"written": cast}
    elif dtype == "int64" and name in _COUNTING:
        yield "counts", {"written": name}
    elif dtype == "float32" and of_torch and name in _FACTORIES and not typed:
        yield "factory", {"written": f"torch.{name}", "like": name if name in _LIKE else ""}


def _of_where(numbers: list[type | None]) -> tuple[str, ...]:
    return (
        ("int64",) if numbers == [int, int] else ("float32",) if numbers == [float, float] else ()
    )


def _to_whole_numbers(call: ast.Call) -> str:
    """``.int()`` and ``.to(torch.int32)`` as they are written; "" for anything else."""
    name = called(call)
    if _CASTS.get(name, "").startswith(("int", "uint")) and not call.args:
        return f".{name}()"
    whole = [text for a in call.args if (text := ast.unparse(a)).startswith(("torch.int", "torch.uint"))]  # fmt: skip
    return f".to({whole[0]})" if name == "to" and len(whole) == 1 else ""


def _number(node: ast.AST) -> type | None:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return type(node.value) if isinstance(node, ast.Constant) else None


# ---- findings about a dtype ------------------------------------------------------------------------


def with_dtype_source(ev: Evidence, finding: Finding) -> Reason | None:
    """A result of another dtype: what makes tensors of it in the learner's code, where one thing does."""
    methods = (method_of(ev),) if finding.cause.startswith("forward/") else ("backward", "vjp")
    facts = dtype_source(ev.source, str(finding.facts.get("mine")), *methods)
    return None if facts is None else _cause(finding.cause, facts)


def _cause(code: str, facts: dict[str, Any]) -> Reason:
    return Reason(code, facts, (int(facts["line"]), str(facts["source"])))


def dtype_in_case(ev: Evidence, finding: Finding) -> Reason | None:
    """The same for a result in float32 or bfloat16."""
    problem = finding.facts.get("problem")
    if not isinstance(problem, Clause) or not problem.cause.endswith("-dtype"):
        return None
    methods = ("forward",) if "output" in problem.cause else ("backward", "vjp")
    facts = dtype_source(ev.source, str(problem.facts["mine"]), *methods)
    return None if facts is None else _cause(finding.cause, facts)


def two_dtypes(ev: Evidence, finding: Finding) -> Reason | None:
    """An operation that stops at two dtypes: what makes tensors of the odd one."""
    failure = finding.pair.answer.failure if finding.pair is not None else None
    if failure is None or finding.pair is None or not re.search(r"(?i)dtype|scalar type", failure.words):  # fmt: skip
        return None
    methods = (failure.function,) if failure.function in ev.source.methods else ("forward", "backward", "vjp")  # fmt: skip
    facts = odd_dtype(ev, finding.pair.question.args, *methods)
    return None if facts is None else _cause("stops/two-dtypes", facts)


def odd_dtype(ev: Evidence, args: tuple[Any, ...], *methods: str) -> dict[str, Any] | None:
    """What makes tensors of another dtype than the arguments have."""
    floats = [a for a in args if isinstance(a, Tensor) and a.is_floating_point()]
    wanted = str(floats[0].dtype).removeprefix("torch.") if floats else "float64"
    for odd in ("float64", "float32", "int64"):
        if odd != wanted and (facts := dtype_source(ev.source, odd, *methods)) is not None:
            return facts | {"odd_dtype": odd, "wanted": wanted}
    return None
