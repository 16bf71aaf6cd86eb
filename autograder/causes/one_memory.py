"""Two names for one tensor in a plain function: what is written through one is read through the other."""

from __future__ import annotations

import ast

from autograder.source import Source

# What gives a tensor that shares its memory with the one it is called on (as long as that is contiguous).
_SHARING = {
    "detach", "view", "view_as", "reshape", "flatten", "ravel", "contiguous", "data", "requires_grad_", "squeeze",
}  # fmt: skip


def one_tensor(source: Source, method: str) -> tuple[str, int, str] | None:
    """("up and down are one tensor (x.detach() copies nothing)", line, text) where f gets both; else None.

    f is what the first parameter of the function stands for.
    """
    node = source.methods.get(method)
    if node is None or not node.args.args:
        return None
    made = _shared(node)
    handed = _handed_to(node, node.args.args[0].arg)
    by_root: dict[str, list[str]] = {}
    for name in handed:
        by_root.setdefault(_root(name, made), []).append(name)
    names = next((names for names in by_root.values() if len(names) > 1), None)
    if names is None or not any(_is_written(node, each) for each in names):
        return None
    assign, shared = made[names[1]] if names[1] in made else made[names[0]]
    line, text = source.line_of(assign)
    value = ast.unparse(shared)
    why = f"{value} copies nothing" if "." in value else f"{text[:50]} makes names, no copies"
    return f"{' and '.join(names[:2])} are one tensor ({why}, line {line})", line, text


_Made = dict[str, tuple[ast.Assign, ast.expr]]


def _shared(node: ast.FunctionDef) -> _Made:
    """Names that are assigned once, to something that shares the memory of another name; with that."""
    found: dict[str, list[tuple[ast.Assign, ast.expr]]] = {}
    for each in (n for n in ast.walk(node) if isinstance(n, ast.Assign)):
        for name, value in _pairs(each):
            found.setdefault(name, []).append((each, value))
    return {
        name: several[0]
        for name, several in found.items()
        if len(several) == 1 and _base(several[0][1]) not in ("", name)
    }


def _pairs(assign: ast.Assign) -> list[tuple[str, ast.expr]]:
    """(name, value) of ``a = v``, of ``a, b = v, w``, and of ``a = b = v``, where b is another name for a."""
    first = assign.targets[0]
    if isinstance(first, ast.Tuple) and isinstance(assign.value, ast.Tuple):
        both = zip(first.elts, assign.value.elts, strict=False)
        return [(t.id, v) for t, v in both if isinstance(t, ast.Name)]
    names = [t for t in assign.targets if isinstance(t, ast.Name)]
    values = [assign.value, *names[:1] * (len(names) - 1)]
    return [(t.id, v) for t, v in zip(names, values, strict=False)]


def _base(value: ast.expr) -> str:
    """The name whose memory an expression shares; "" where it is another."""
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.Call):
            value = value.func
        elif isinstance(value, ast.Attribute) and value.attr in _SHARING:
            value = value.value
        else:
            return ""
    return value.id


def _root(name: str, made: _Made) -> str:
    for _ in range(len(made) + 1):
        if name not in made:
            break
        name = _base(made[name][1])
    return name


def _handed_to(node: ast.FunctionDef, function: str) -> list[str]:
    """The names that are the argument of a call of this function, in the order of the code."""
    calls = [
        n
        for n in ast.walk(node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function
    ]
    calls.sort(key=lambda n: (n.lineno, n.col_offset))
    return list(dict.fromkeys(_base(c.args[0]) for c in calls if c.args and _base(c.args[0])))


def _is_written(node: ast.FunctionDef, name: str) -> bool:
    """Whether elements are set through this name: ``name[i] = …``, ``name[i] += …``, ``name += …``."""
    for n in ast.walk(node):
        targets = n.targets if isinstance(n, ast.Assign) else []
        targets = [n.target] if isinstance(n, ast.AugAssign) else targets
        for target in targets:
            into = isinstance(target, ast.Subscript) and _base(target.value) == name
            whole = isinstance(n, ast.AugAssign) and ast.unparse(target) == name
            if into or whole:
                return True
    return False


def put_back_by_arithmetic(source: Source, method: str, argument: str) -> tuple[int, str] | None:
    """The line of the last ``x[i] += …`` (or -=) of several, where elements of x go there and back."""
    node = source.methods.get(method)
    found = [
        n
        for n in (ast.walk(node) if node is not None else ())
        if isinstance(n, ast.AugAssign)
        and isinstance(n.op, ast.Add | ast.Sub)
        and isinstance(n.target, ast.Subscript)
    ]
    made = _shared(node) if node is not None else {}
    found = [n for n in found if _root(_base(n.target.value), made) == argument]  # type: ignore[union-attr]
    if len({type(n.op) for n in found}) < 2:
        return None
    return source.line_of(max(found, key=lambda n: n.lineno))
