"""Reads what runs of a submission, without running it, for what the language does not have."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from typing import Any

from autograder.grading.policy.forms import Forms
from autograder.grading.policy.language import ASKED, BUILTINS, SPECIAL, SYNTAX
from autograder.grading.policy.objects import (
    MODULE_LIKE,
    UNKNOWN,
    imported,
    inside,
    is_below,
    is_module,
    module_at,
    part_of,
    stands,
)
from autograder.grading.policy.uses import (
    CANNOT_READ,
    HANDS_OUT,
    INSIDE,
    NOT_HERE,
    PATCHES,
    bound_by,
    is_dunder,
    local_names,
    text_given,
)
from autograder.learner.statements import at_once

_LOOKING = ("isinstance", "issubclass", "print", "repr", "str")  # do nothing to a class
_NAMES = ("__name__", "__qualname__")
_BY_NAME = frozenset({"getattr", "setattr", "delattr"})


class Reader(Forms):
    """The walk over one slice."""

    def read(self, tree: ast.AST) -> None:
        """Remark on what a piece has that the language has not."""
        for node in ast.walk(tree):
            given = [getattr(node, field, None) for field in ("asname", "arg", "name", "rest")]
            names = [*given, *getattr(node, "names", ())]
            if not isinstance(node, ast.FunctionDef | ast.alias) and any(map(is_dunder, names)):
                self._remark(node, INSIDE)
            elif isinstance(node, ast.alias) and is_dunder(node.asname):
                self._remark(tree, INSIDE)
        self._visit_inside(tree)

    # ---- the walk -----------------------------------------------------------------------------

    def _visit(self, node: ast.AST | None, loose: bool = False) -> None:
        """``loose``: a class of torch's may stand here, since nobody can change it from here."""
        if node is None:
            return
        kind = type(node).__name__
        if kind not in SYNTAX:
            return self._remark(node, f"{kind} {NOT_HERE}")
        method = getattr(self, f"_visit_{kind.lower()}", None)
        if method is not None:
            method(node, loose)
        else:
            either = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
            self._visit_inside(node, loose and (either or isinstance(node, ast.Tuple)))

    def _visit_inside(self, node: ast.AST, loose: bool = False) -> None:
        for child in ast.iter_child_nodes(node):
            self._visit(child, loose)

    def _visit_all(self, nodes: Iterable[ast.AST | None], loose: bool = False) -> None:
        for node in nodes:
            self._visit(node, loose)

    # ---- names and what they stand for ---------------------------------------------------------

    def _visit_name(self, node: ast.Name, loose: bool) -> None:
        name = node.id
        if is_dunder(name) and name not in ("__name__", "__slots__", "__doc__"):
            return self._remark(node, INSIDE)
        if not isinstance(node.ctx, ast.Load):
            return
        local = any(name in scope for scope in self._scopes[1:])
        if hasattr(builtins, name) and not local and name != "__name__":
            if (
                name not in BUILTINS
            ):  # also where the notebook gives it another meaning, perhaps later
                return self._remark(node, NOT_HERE)
            if name in _BY_NAME or (name in ("super", "type") and not loose):
                return self._remark(node, CANNOT_READ if name in _BY_NAME else HANDS_OUT)
        if name in self._scopes[0] or local:
            for one in self._objects(node):
                self._uses(node, one, loose)

    def _visit_attribute(self, node: ast.Attribute, loose: bool) -> None:
        if not isinstance(node.ctx, ast.Load):
            return self._sets(node.value, node.attr, node)
        if node.attr in _NAMES and getattr(node.value, "attr", "") == "__class__":
            return self._visit(node.value.value, True)  # type: ignore[attr-defined]
        bases = self._objects(node.value)
        modules = [one for one in bases if isinstance(one, MODULE_LIKE)]
        for module in modules:
            self._reads_of_module(node, module, node.attr, loose)
        if len(modules) < len(bases):
            self._reads(node, node.attr, node.value)
            self._visit(node.value, True)

    def _visit_subscript(self, node: ast.Subscript, loose: bool) -> None:
        stored = not isinstance(node.ctx, ast.Load)
        if stored and any(one is not UNKNOWN for one in self._objects(node.value)):
            self._remark(node, PATCHES)
        self._visit_all([node.value, node.slice])

    # ---- where a class may stand ----------------------------------------------------------------

    def _visit_compare(self, node: ast.Compare, loose: bool) -> None:
        kinds = ast.Is | ast.IsNot | ast.Eq | ast.NotEq
        literal = isinstance(node.comparators[-1], ast.Tuple | ast.List | ast.Set)
        fixed = all(isinstance(op, kinds) for op in node.ops) or (literal and len(node.ops) == 1)
        for part in (node.left, *node.comparators):
            if literal and part is node.comparators[-1]:
                self._visit_inside(part, fixed)
            else:
                self._visit(part, fixed)

    def _visit_excepthandler(self, node: ast.ExceptHandler, loose: bool) -> None:
        self._visit(node.type, True)
        self._visit_all(node.body)

    def _visit_expr(self, node: ast.Expr | ast.FormattedValue, loose: bool) -> None:
        self._visit_inside(node, True)

    _visit_formattedvalue = _visit_expr

    def _visit_assign(self, node: ast.Assign, loose: bool) -> None:
        is_name = isinstance(node.targets[0], ast.Name)
        modules = any(isinstance(one, MODULE_LIKE) for one in self._objects(node.value))
        if not (is_name and modules and len(self._scopes) == 1 and not self._in_class):
            self._visit_all([node.value, *node.targets])  # else it is as good as an import

    def _visit_call(self, node: ast.Call, loose: bool) -> None:
        by_name = next((name for name in _BY_NAME if self._is_builtin(node.func, name)), None)
        arguments = [*node.args, *(k.value for k in node.keywords)]
        if by_name is not None:
            self._by_name(node, by_name)
        elif self._is_builtin(node.func, "type") and not (
            loose and len(arguments) == 1 and arguments == node.args and not _has_star(node)
        ):
            self._remark(node, HANDS_OUT)
        elif self._is_builtin(node.func, "super") and arguments:
            self._remark(node, CANNOT_READ)
        elif self._is_spelt(node):
            pass  # what it is given is looked at below
        elif any(stands(one, ASKED) for one in self._objects(node.func)):
            self._remark(node.func, NOT_HERE)
        elif isinstance(node.func, ast.Call) and self._is_builtin(node.func.func, "type"):
            self._remark(node, HANDS_OUT)
        else:
            self._visit(node.func, True)
        asks = any(self._is_builtin(node.func, name) for name in _LOOKING)
        self._visit_all(arguments, asks)

    def _by_name(self, node: ast.Call, function: str) -> None:
        """getattr, setattr and delattr are as good as the attribute, where its name can be read."""
        name = text_given(node)
        if not name:
            self._remark(node, CANNOT_READ)
        elif function != "getattr":
            self._sets(node.args[0], name, node)
        else:
            read = ast.Attribute(node.args[0], name, ast.Load())
            self._visit_attribute(ast.copy_location(read, node), False)

    # ---- definitions ----------------------------------------------------------------------------

    def _visit_import(self, node: ast.Import | ast.ImportFrom, loose: bool) -> None:
        if isinstance(node, ast.ImportFrom) and (node.level or not node.module):
            return self._remark(node, "imports from files beside the notebook")
        for alias in node.names:
            module, part = alias.name, ""
            if isinstance(node, ast.ImportFrom):
                module, part = str(node.module), alias.name
            found = module_at(module)
            own = found is not None and stands(part_of(found, part))
            if own or is_below(f"{module}.{part}".rstrip(".*"), self._allowed):
                continue
            if not is_module(module):
                why = "is not among the modules that are graded without a person looking"
                return self._remark(node, f"{module} {why}")
            if part not in ("", "*") and found is not None:
                self._reads_of_module(node, found, part, True)

    _visit_importfrom = _visit_import

    def _visit_functiondef(self, node: ast.FunctionDef, loose: bool, method: bool = False) -> None:
        if is_dunder(node.name) and node.name not in SPECIAL:
            self._remark(node, INSIDE)
        self._decorators(node)
        self._visit_function(node, node.body, method)

    def _visit_lambda(self, node: ast.Lambda, loose: bool) -> None:
        self._visit_function(node, [node.body], False)

    def _visit_function(
        self, node: ast.FunctionDef | ast.Lambda, body: Sequence[ast.AST], method: bool
    ) -> None:
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        arguments = [n for n in ast.walk(node.args) if isinstance(n, ast.arg)]
        self._visit_all([n.annotation for n in arguments], True)
        first = next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), "")
        self._scopes.append({})
        self._selves.append(first if method or first in ("ctx", "self") else "")
        nodes = [n for part in body for n in at_once(part)]
        imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
        names = local_names(node)
        given = {name for one in imports for name, _, _ in imported(one)}
        if not given <= names:
            self._remark(imports[0], "imports for other functions than its own")
        self._bind(imports, names - given)
        self._functions.append(getattr(node, "name", ""))
        self._visit_all(body)
        self._functions.pop()
        self._scopes.pop()
        self._selves.pop()

    def _visit_classdef(self, node: ast.ClassDef, loose: bool) -> None:
        if node.keywords:
            self._remark(node, "changes how Python itself makes classes")
        nodes = [n for part in node.body for n in at_once(part)]
        hidden = {name for name in bound_by(nodes) & inside() - SPECIAL if name.startswith("_")}
        if hidden - {"__module__", "__qualname__"}:
            self._remark(node, INSIDE)
        if any(isinstance(n, ast.Import | ast.ImportFrom) for n in nodes):
            self._remark(node, HANDS_OUT)
        self._decorators(node)
        self._bases(node)
        outside, self._in_class = self._in_class, True
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                self._visit_functiondef(part, False, True)
            else:
                self._visit(part)
        self._in_class = outside

    def _comprehension(self, node: Any, loose: bool) -> None:
        self._visit(node.generators[0].iter)
        targets = [n for g in node.generators for n in ast.walk(g.target)]
        self._scopes.append({name: [UNKNOWN] for name in bound_by(targets)})
        self._selves.append("")
        self._visit_inside(node)
        self._scopes.pop()
        self._selves.pop()

    _visit_listcomp = _visit_setcomp = _visit_dictcomp = _visit_generatorexp = _comprehension


def _has_star(node: ast.Call) -> bool:
    """Whether some of the arguments are not to be seen."""
    return any(isinstance(one, ast.Starred) for one in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    )
