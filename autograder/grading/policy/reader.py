"""Walks the tree of a cell and remarks on what is not on the list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from autograder.grading.policy.calls import NAMED_IN_TEXT, Calls
from autograder.grading.policy.lists import (
    BY_NAME,
    DUNDERS_DEFINED,
    DUNDERS_READ,
    ENVIRONMENT,
    SETTINGS,
)
from autograder.grading.policy.magics import magic_of
from autograder.grading.policy.names import imported_names
from autograder.grading.policy.paths import THE_TYPE, object_at
from autograder.grading.policy.remarks import (
    CANNOT_READ,
    DUNDER,
    HANDS_OUT,
    MODES,
    PATCHES,
)

_HIDDEN_WORDS = re.compile(
    r"__(?:globals|builtins|subclasses|code|closure|dict|mro|bases|base|import|reduce|reduce_ex|"
    r"getattribute|setattr|self|func|wrapped|loader|spec|class_getitem)__"
)
_READING = frozenset(
    f"builtins.{name}"
    for name in (
        "isinstance", "issubclass", "print", "help", "dir", "type", "id", "repr", "str", "hasattr",
        "callable", "getattr",
    )
)  # fmt: skip

_BY_TEXT = {f"builtins.{name}" for name in BY_NAME} | NAMED_IN_TEXT


class Reader(Calls):
    """The walk: which nodes are looked at, and where a module or a class of torch may stand."""

    def read(self, root: ast.AST, cell: str, source: str, lines_before: int = 0) -> None:
        self._cell, self._lines, self._before = cell, source.splitlines(), lines_before
        self.scope, self.functions = self.names.notebook, []
        self._visit_children(root)

    def _visit_children(self, node: ast.AST, quiet: bool = False) -> None:
        for child in ast.iter_child_nodes(node):
            self._visit(child, quiet)

    def _visit(self, node: ast.AST | None, quiet: bool = False) -> None:
        """``quiet``: a module or a class of torch may stand here; elsewhere it is handed out."""
        if node is None:
            return
        method = getattr(self, f"_visit_{type(node).__name__.lower()}", None)
        outer = self.scope
        inner = self.names.scopes.get(node)
        if inner is not None and isinstance(node, ast.comprehension | ast.expr) and not method:
            self.scope = inner
        if method is not None:
            method(node, quiet)
        else:
            self._visit_children(node)
        self.scope = outer

    def _visit_all(self, nodes: Iterable[ast.AST | None], quiet: bool = False) -> None:
        for node in nodes:
            self._visit(node, quiet)

    # ---- names and attributes --------------------------------------------------------------

    def _visit_name(self, node: ast.Name, quiet: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.defines(node, node.id)
            return
        paths = self.paths(node)
        if node.id == "get_ipython":
            return self.remark(node, "reaches into the notebook's own machinery")
        if paths & _BY_TEXT:
            return self.remark(node, CANNOT_READ)
        if DUNDER.fullmatch(node.id) and node.id not in DUNDERS_READ:
            return self.remark(node, "reaches into Python itself")
        self.refuse(node, paths)
        self.hands_out(node, paths, quiet)

    def _visit_attribute(self, node: ast.Attribute, quiet: bool, outermost: bool = True) -> None:
        if isinstance(node.ctx, ast.Load):
            paths = self.paths(node)
            if paths & _BY_TEXT:
                self.remark(node, CANNOT_READ)
            elif not self.reads(node, node.attr) and outermost:
                self.refuse(node, paths)
                self.hands_out(node, paths, quiet)
        else:
            self.assigns(node.value, node.attr, node)
        value = node.value
        is_name_of_class = node.attr in ("__name__", "__qualname__")
        if isinstance(value, ast.Attribute):
            if is_name_of_class and value.attr == "__class__":
                value = value.value
                return self._visit(value, True)
            return self._visit_attribute(value, True, outermost=not isinstance(node.ctx, ast.Load))
        self._visit(value, True)

    def _visit_with(self, node: ast.With | ast.AsyncWith, quiet: bool) -> None:
        inside = (inner for part in node.body for inner in ast.walk(part))
        if self.has_mode and any(isinstance(n, ast.Yield | ast.YieldFrom) for n in inside):
            self.remark(node, "may stay switched on after the code that needs it")
        self._visit_children(node)

    _visit_asyncwith = _visit_with

    def _visit_subscript(self, node: ast.Subscript, quiet: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            for path in self.paths(node.value):
                key = node.slice.value if isinstance(node.slice, ast.Constant) else ""
                fine = path == "os.environ" and str(key).startswith(ENVIRONMENT)
                if not fine and not path.startswith(SETTINGS) and path != THE_TYPE:
                    self.remark(node, PATCHES)
                    break
        self._visit(node.value, True)
        self._visit_harmless(node.slice)

    # ---- where a module or class may stand -------------------------------------------------

    def _visit_expr(self, node: ast.Expr, quiet: bool) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring may speak of anything
            self._visit(node.value, True)

    def _visit_assign(self, node: ast.Assign, quiet: bool) -> None:
        named = not self.scope.is_class and all(
            isinstance(t, ast.Name | ast.Tuple | ast.List) for t in node.targets
        )
        unpacked = all(isinstance(t, ast.Tuple | ast.List) for t in node.targets)
        if unpacked and isinstance(node.value, ast.Tuple | ast.List):
            self._visit_all(node.value.elts, True)
        else:
            self._visit(node.value, named)
        self._visit_all(node.targets)

    def _visit_annassign(self, node: ast.AnnAssign, quiet: bool) -> None:
        self._visit_harmless(node.annotation)
        self._visit(node.value, isinstance(node.target, ast.Name) and not self.scope.is_class)
        self._visit(node.target)

    def _visit_namedexpr(self, node: ast.NamedExpr, quiet: bool) -> None:
        self._visit(node.value, quiet)
        self._visit(node.target)

    def _inherit(self, node: ast.AST, quiet: bool) -> None:
        self._visit_children(node, quiet)

    _visit_ifexp = _visit_boolop = _visit_starred = _inherit

    def _visit_harmless(self, node: ast.AST | None) -> None:
        """Where classes may stand side by side: (torch.Tensor, int) in isinstance or a type hint."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            for part in node.elts:
                self._visit_harmless(part)
        else:
            self._visit(node, True)

    def _visit_compare(self, node: ast.Compare, quiet: bool) -> None:
        self._visit(node.left, True)
        for part in node.comparators:
            self._visit_harmless(part)

    def _quietly(self, node: ast.AST, quiet: bool) -> None:
        self._visit_children(node, True)

    _visit_formattedvalue = _visit_binop = _visit_withitem = _quietly

    def _visit_excepthandler(self, node: ast.ExceptHandler, quiet: bool) -> None:
        self._visit_harmless(node.type)
        self._visit_all(node.body)

    def _visit_constant(self, node: ast.Constant, quiet: bool) -> None:
        text = node.value
        if not isinstance(text, str):
            return
        alone = DUNDER.fullmatch(text) and text not in DUNDERS_DEFINED
        if alone or _HIDDEN_WORDS.search(text):
            self.remark(node, "names the inside of Python in a text")

    # ---- imports ---------------------------------------------------------------------------

    def _visit_import(self, node: ast.Import, quiet: bool) -> None:
        for alias in node.names:
            self.refuse(node, [alias.name])
        if self.scope.is_class:
            self.remark(node, HANDS_OUT)

    def _visit_importfrom(self, node: ast.ImportFrom, quiet: bool) -> None:
        if node.level or not node.module:
            return self.remark(node, "imports from files beside the notebook")
        if any(alias.name == "*" for alias in node.names):
            return self.refuse(node, [node.module])  # the names are looked at where they are used
        self.refuse(node, [path for _, path in imported_names(node)])
        if self.scope.is_class:
            self.remark(node, HANDS_OUT)

    # ---- calls -----------------------------------------------------------------------------

    def _visit_call(self, node: ast.Call, quiet: bool) -> None:
        magic = magic_of(node)
        if magic is not None:
            if not magic.is_harmless or self._has_other_ipython():
                self.remark(node, "reaches into the notebook's own machinery, or out of it")
            return
        callees = self.paths(node.func)
        by_name = next((name for name in BY_NAME if f"builtins.{name}" in callees), None)
        if by_name is not None:
            self.by_name(node, by_name)
        elif callees & NAMED_IN_TEXT:
            pass  # read_callee looks at the names
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "__class__":
            self._visit(node.func.value, True)  # self.__class__(…) makes another one
        else:
            self._visit(node.func, True)
        self.read_callee(node, callees)
        reading = bool(callees & _READING)
        computing = any(c.startswith(("torch.", "numpy.")) for c in callees)
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            if reading and isinstance(argument, ast.Tuple):
                self._visit_harmless(argument)
                continue
            is_class = all(isinstance(object_at(p), type) for p in self.paths(argument))
            self._visit(argument, reading or (computing and is_class))

    def _has_other_ipython(self) -> bool:
        """Whether get_ipython may be the notebook's own: then magics are calls like all others."""
        bound = {value for value, _ in self.scope.find("get_ipython")}
        return bool(bound - {"builtins.get_ipython"})

    # ---- definitions -----------------------------------------------------------------------

    def _visit_functiondef(self, node: ast.FunctionDef, quiet: bool, modes: bool = False) -> None:
        self.defines(node, node.name, modes)
        self._visit_all(node.decorator_list, True)
        self._visit_arguments(node.args, True)
        self._visit(node.returns, True)
        self.functions.append(node)
        outer, self.scope = self.scope, self.names.scopes[node]
        self._visit_all(node.body)
        self.scope = outer
        self.functions.pop()

    _visit_asyncfunctiondef = _visit_functiondef

    def _visit_lambda(self, node: ast.Lambda, quiet: bool) -> None:
        self._visit_arguments(node.args, True)
        self.functions.append(node)
        outer, self.scope = self.scope, self.names.scopes[node]
        self._visit(node.body)
        self.scope = outer
        self.functions.pop()

    def _visit_arguments(self, node: ast.arguments, quiet: bool) -> None:
        self._visit_all([*node.defaults, *node.kw_defaults], True)
        for arg in [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]:
            if arg is not None:
                self._visit_harmless(arg.annotation)

    def _visit_classdef(self, node: ast.ClassDef, quiet: bool) -> None:
        bases = set().union(*map(self.paths, node.bases))
        is_mode = any(path.endswith(MODES) for path in bases)
        if any(keyword.arg == "metaclass" or keyword.arg is None for keyword in node.keywords):
            self.remark(node, "changes how Python itself makes classes")
        if any(isinstance(c := object_at(p), type) and issubclass(c, type) for p in bases):
            self.remark(node, "changes how Python itself makes classes")
        self.makes_class(node, node.bases, set(self.names.scopes[node].names))
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords], True)
        outer, self.scope = self.scope, self.names.scopes[node]
        for child in node.body:
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                self._visit_functiondef(child, False, is_mode)  # type: ignore[arg-type]
            else:
                self._visit(child)
        self.scope = outer

    def _visit_matchclass(self, node: ast.MatchClass, quiet: bool) -> None:
        for name in node.kwd_attrs:
            self.reads(node, name)
        self._visit(node.cls, True)
        self._visit_all([*node.patterns, *node.kwd_patterns])
