"""What a name in a cell may stand for: scopes, simple aliases, and dotted paths of what is imported.

Flow is not followed. A name stands for everything that is bound to it anywhere in its scope, so code
can hide nothing by binding a name again. What cannot be resolved (a parameter, a call) is unknown.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping

from autograder.grading.policy.lists import KNOWN_NAMES
from autograder.grading.policy.paths import THE_TYPE, plain_path

Binding = ast.expr | str | None  # a value to resolve, a dotted path, or unknown
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STEPS = 400_000  # expressions that are followed in one submission; a lesson's takes 2 000


class Scope:
    """The names bound in the notebook, a class or a function, each with all it is bound to."""

    def __init__(
        self, parent: Scope | None = None, is_function: bool = False, is_class: bool = False
    ):
        self.parent, self.is_function, self.is_class = parent, is_function, is_class
        self.names: dict[str, list[tuple[Binding, Scope]]] = {}

    @property
    def notebook(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def bind(self, name: str, value: Binding, where: Scope | None = None) -> None:
        self.names.setdefault(name, []).append((value, where or self))

    def find(self, name: str) -> list[tuple[Binding, Scope]]:
        """All bindings of a name as it is seen from here.

        Only a function's own names hide what is outside: a class or the notebook may bind a name
        after it was used.
        """
        found: list[tuple[Binding, Scope]] = []
        scope: Scope | None = self
        while scope is not None:
            found += scope.names.get(name, [])
            if scope.is_function and name in scope.names:
                return found
            scope = scope.parent
        if hasattr(builtins, name):
            found.append((f"builtins.{name}", self))
        return found


class Names:
    """The scopes of all cells of one notebook, and what expressions in them stand for."""

    def __init__(self, known: Mapping[str, str] = KNOWN_NAMES):
        self.notebook = Scope()
        self.steps = 0
        self.scopes: dict[ast.AST, Scope] = {}
        for name, path in known.items():
            self.notebook.bind(name, path)

    def read(self, tree: ast.AST) -> None:
        """Take in the bindings of one cell. Cells share the notebook's scope."""
        _Binder(self, self.notebook).visit_all(tree)

    def paths(
        self,
        node: ast.expr | None,
        scope: Scope,
        inside: bool = False,
        seen: set[tuple[int, bool]] | None = None,
    ) -> set[str]:
        """Dotted paths an expression may stand for; empty where that is unknown.

        inside  what a container that stands here holds, in place of the container itself
        seen    expressions that were followed already on the way here
        Raises RecursionError where aliases are so many that following them takes too long.
        """
        seen = set() if seen is None else seen
        if node is None or (id(node), inside) in seen:
            return set()
        seen.add((id(node), inside))
        self.steps += 1
        if self.steps > _STEPS:
            raise RecursionError("too many names that stand for each other")

        def follow(one: ast.expr, where: Scope = scope, inside: bool = inside) -> set[str]:
            return self.paths(one, where, inside, seen)

        if isinstance(node, ast.Name):
            found: set[str] = set()
            for value, where in scope.find(node.id):
                if isinstance(value, str):
                    found.add(value)
                elif value is not None:
                    found |= follow(value, where)
            return found
        if isinstance(node, ast.Attribute):
            starts = follow(node.value, inside=False) - {THE_TYPE}
            return {plain_path(f"{start}.{node.attr}") for start in starts}
        if isinstance(node, ast.NamedExpr | ast.Starred | ast.Await):
            return follow(node.value)
        if isinstance(node, ast.IfExp):
            return follow(node.body) | follow(node.orelse)
        if isinstance(node, ast.BoolOp):
            return set().union(*map(follow, node.values))
        if isinstance(node, ast.Subscript):
            held = follow(node.value, inside=True)
            return {path for path in held if not path.startswith("builtins.")}
        if inside and isinstance(node, ast.Tuple | ast.List | ast.Set):
            return set().union(*map(follow, node.elts))
        if inside and isinstance(node, ast.Dict):
            return set().union(*map(follow, node.values))
        if isinstance(node, ast.Call):
            return self._called(node, scope, seen)
        return set()

    def _called(self, node: ast.Call, scope: Scope, seen: set[tuple[int, bool]]) -> set[str]:
        """type(x) and getattr(x, "name"); the value of any other call is unknown."""
        callees = self.paths(node.func, scope, False, seen)
        if "builtins.type" in callees and len(node.args) == 1:
            return {THE_TYPE}
        if "builtins.getattr" in callees and len(node.args) >= 2:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                starts = self.paths(node.args[0], scope, False, seen) - {THE_TYPE}
                return {plain_path(f"{start}.{name.value}") for start in starts}
        return set()


class _Binder:
    """Walks one cell and notes what is bound where."""

    def __init__(self, names: Names, scope: Scope, around: _Binder | None = None):
        self.names, self.scope = names, scope
        self.elsewhere: dict[str, Scope] = {}  # names declared global or nonlocal
        self.around = around  # the walk around a comprehension, which := binds in

    def visit_all(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            self.visit(child)

    def bind(self, name: str, value: Binding) -> None:
        self.elsewhere.get(name, self.scope).bind(name, value, self.scope)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _FUNCTIONS):
            return self._function(node)
        if isinstance(node, ast.ClassDef):
            self.bind(node.name, None)
            return self._inside(node, [*node.decorator_list, *node.bases, *node.keywords])
        if isinstance(node, _COMPREHENSIONS):
            return self._inside(node, [])
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                self.bind(alias.asname or top, alias.name if alias.asname else top)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name, path in imported_names(node):
                self.bind(name, path)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside = self.scope.parent if isinstance(node, ast.Nonlocal) else self.scope.notebook
            for name in node.names:
                self.elsewhere[name] = outside or self.scope
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._target(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            self._target(node.target, node.value)
        elif isinstance(node, ast.NamedExpr):  # binds outside the comprehension it stands in
            outer = self
            while outer.around is not None:
                outer = outer.around
            outer.elsewhere.get(node.target.id, outer.scope).bind(
                node.target.id, node.value, self.scope
            )
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._target(node.target, _part_of(node.iter))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._target(node.optional_vars, None)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.bind(node.name, None)
        elif isinstance(node, ast.Match):
            for pattern in ast.walk(node):
                if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                    self.bind(pattern.name, node.subject)
        self.visit_all(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        if not isinstance(node, ast.Lambda):
            self.bind(node.name, None)
        inner = Scope(self.scope, is_function=True)
        places, given = [*node.args.posonlyargs, *node.args.args], node.args.defaults
        for arg in [*places, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if arg is not None:
                inner.bind(arg.arg, None)
        for arg, default in zip(places[len(places) - len(given) :], given, strict=True):
            inner.bind(arg.arg, default, self.scope)
        for arg, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            inner.bind(arg.arg, value, self.scope)
        outside = [*given, *(d for d in node.args.kw_defaults if d is not None)]
        if not isinstance(node, ast.Lambda):
            outside += node.decorator_list
        self._inside(node, outside, inner)

    def _inside(
        self, node: ast.AST, outside: Iterable[ast.AST], scope: Scope | None = None
    ) -> None:
        for part in outside:
            self.visit(part)
        scope = scope or Scope(self.scope, is_class=isinstance(node, ast.ClassDef))
        self.names.scopes[node] = scope
        around = self if isinstance(node, _COMPREHENSIONS) else None
        inner = _Binder(self.names, scope, around)
        done = {id(part) for part in outside}
        for child in ast.iter_child_nodes(node):
            if id(child) not in done:
                inner.visit(child)

    def _target(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Starred):
            self._target(target.value, value)
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:  # each may be any part of the value
                self._target(one, None if value is None else _part_of(value))


def _part_of(value: ast.expr) -> ast.expr:
    return ast.Subscript(value, ast.Constant(0), ast.Load())


def imported_names(node: ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """What a from-import binds, with its path; a star binds every public name."""
    for alias in node.names:
        if alias.name != "*":
            yield alias.asname or alias.name, plain_path(f"{node.module}.{alias.name}")
            continue
        module = sys.modules.get(node.module or "")
        for name in vars(module) if module is not None else ():
            if not name.startswith("_"):
                yield name, plain_path(f"{node.module}.{name}")
