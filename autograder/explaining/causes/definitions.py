"""Where a name gets what it stands for: a number that is handed on, a tensor that was saved, a constant."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable

from autograder.observation.source import Place, Source
from autograder.observation.syntax import OF_SHAPE, called
from autograder.running.operations import Read

_MAKING = ("tensor", "as_tensor", "from_numpy")  # a tensor of numbers that come from elsewhere


def defined(source: Source, read: Read, numbers: bool = True) -> Place | None:
    """The line in which a name gets the tensor that it stands for; None where that is no fault of the line.

    An argument is what it is, and what is saved under its own name, for one formula, may be right.

    numbers  whether its numbers are wrong, and not its dtype
    """
    at = read.span
    tree = ast.parse("".join(linecache.getlines(at.file)))
    around = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno <= at.line <= (n.end_lineno or 0)]  # fmt: skip
    own = list(ast.walk(max(around, key=lambda n: n.lineno))) if around else []
    found = _set(own, read.name, at.line) or _set(tree.body, read.name, at.line)
    holder = read.name if "." in read.name else _holder(*found) if found else None
    if holder is not None:
        saved = saved_expression(source, holder)
        sized = {n.value for n in own if isinstance(n, ast.Attribute) and n.attr in OF_SHAPE}
        uses = {n.lineno for n in own if isinstance(n, ast.Name) and n.id == read.name and isinstance(n.ctx, ast.Load) and n not in sized}  # fmt: skip
        meant = saved is not None and ast.unparse(saved[1]) == read.name.removeprefix("ctx.")
        one_formula = meant and numbers and len(uses) < 2
        return None if saved is None or one_formula else source.line_of(saved[1])
    if found is None or (isinstance(found[0].value, ast.Name) and len(read.uses) < 2):
        return None
    line, value = found[0].lineno, found[0].value
    if numbers and isinstance(value, ast.Call) and called(value) in _MAKING and isinstance(value.args[0], ast.Name):  # fmt: skip
        given = _set(own, value.args[0].id, line)
        line = given[0].lineno if given else line
    return line, linecache.getline(at.file, line).strip()


def _set(nodes: Iterable[ast.AST], name: str, line: int) -> tuple[ast.Assign, int] | None:
    """The last assignment to a name above a line, and the place of the name among its targets."""
    sets = [n for n in nodes if isinstance(n, ast.Assign) and n.lineno < line]
    for statement in sorted(sets, key=lambda n: -n.lineno):
        target = statement.targets[0]
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for place, each in enumerate(names):
            if ast.unparse(each) == name:
                return statement, place
    return None


def _holder(statement: ast.Assign, place: int) -> str | None:
    """Where on ctx a statement takes what it assigns from: "saved[1]", "ctx.mask"; None: not from there."""
    value, target = statement.value, statement.targets[0]
    text = ast.unparse(value)
    if indexed := re.fullmatch(r"\w+\.saved_tensors\[(\d+)\]", text):
        return f"saved[{indexed[1]}]"
    if text.endswith(".saved_tensors"):
        return f"saved[{place}]" if isinstance(target, ast.Tuple | ast.List) else None
    return text if isinstance(value, ast.Attribute) and text.startswith("ctx.") else None


def saved_expression(source: Source, holder: str) -> tuple[ast.FunctionDef, ast.expr] | None:
    """(method, expression) of what was put in this place, where the source shows one place alone."""
    place, attribute = re.fullmatch(r"saved\[(\d+)\]", holder), re.fullmatch(r"ctx\.(\w+)", holder)
    found: list[tuple[ast.FunctionDef, ast.expr]] = []
    for method in ("forward", "setup_context"):
        node = source.methods.get(method)
        for part in ast.walk(node) if node is not None else ():
            if place and isinstance(part, ast.Call) and called(part) == "save_for_backward":
                starred = any(isinstance(a, ast.Starred) for a in part.args)
                i = len(part.args) if starred else int(place[1])
                found.append((node, part.args[i] if i < len(part.args) else part))  # type: ignore[arg-type]
            elif attribute and isinstance(part, ast.Assign):
                names = [t.attr for t in part.targets if isinstance(t, ast.Attribute)]
                found += [(node, part.value)] * (attribute[1] in names)  # type: ignore[list-item]
    return found[0] if len(found) == 1 and called(found[0][1]) != "save_for_backward" else None
