"""Reads what runs of a submission, without running it, for what the language does not have."""

from __future__ import annotations

import ast
import builtins
import enum
from collections.abc import Iterable
from typing import Any

import torch

from autograder.grading.policy.language import (
    ASKED,
    BASES,
    BUILTINS,
    CANNOT_READ,
    DECORATING,
    DECORATORS,
    HANDS_OUT,
    LOOSE,
    NOT_HERE,
    PATCHES,
    REACHES_IN,
    SPECIAL,
    SYNTAX,
)
from autograder.grading.policy.objects import (
    UNKNOWN,
    handed_on,
    imported,
    inside,
    is_below,
    is_module,
    module_at,
    names_longer_numbers,
    part_of,
    stands,
    text_given,
)
from autograder.grading.policy.uses import (
    Uses,
    bound_by,
    is_dunder,
    local_names,
    run_with,
)
from autograder.observation.syntax import name_of

_LOOKING = ("isinstance", "issubclass", "print", "repr", "str")  # do nothing to a class
_BY_NAME = ("getattr", "setattr", "delattr")
_NAMES = ("__name__", "__qualname__")
_NAMING = ("asname", "arg", "name", "rest", "id")  # fields of nodes in which names stand
# Names of Python's own that may stand in a node of a kind.
_DUNDERS = {
    ast.FunctionDef: SPECIAL,
    ast.Name: {"__name__", "__slots__", "__doc__"},
    ast.alias: {"__version__"},
}
_OTHER_KIND = "makes a class of a kind that the language does not have"


class Reader(Uses):
    """The walk over one slice: each kind of node by its own method, or all that is in it."""

    def read(self, tree: ast.AST) -> None:
        """Remark on what a piece has that the language has not."""
        for node in ast.walk(tree):
            names = [getattr(node, field, None) for field in _NAMING]
            names += getattr(node, "names", ())
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                names.append(node.attr)
            if any(is_dunder(one) and one not in _DUNDERS.get(type(node), ()) for one in names):
                self._remark(node, REACHES_IN)
            for text in handed_on(node):
                if is_dunder(text):
                    self._remark(node, REACHES_IN)
                elif names_longer_numbers(text):
                    self._remark(node, f"{text!r} names numbers with more digits than torch has")
        self._visit_inside(tree)

    def _visit(self, node: ast.AST | None, loose: bool = False) -> None:
        """``loose``: a class of torch's may stand here, since nobody can change it from here."""
        kind = type(node).__name__
        if node is None:
            return
        if kind not in SYNTAX:
            return self._remark(node, f"{kind} {NOT_HERE}")
        method = getattr(self, f"_visit_{kind.lower()}", None)
        if method is not None:
            method(node, loose)
        else:
            either = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
            self._visit_inside(node, loose and (either or isinstance(node, ast.Tuple)))

    def _visit_inside(self, node: ast.AST, loose: bool = False) -> None:
        for name, inner in ast.iter_fields(node):
            each = inner if isinstance(inner, list) else [inner]
            nodes = [one for one in each if isinstance(one, ast.AST)]
            self._visit_all(nodes, loose or name == LOOSE.get(type(node).__name__))

    def _visit_all(self, nodes: Iterable[ast.AST | None], loose: bool = False) -> None:
        for node in nodes:
            self._visit(node, loose)

    # ---- names and what they stand for ---------------------------------------------------------

    def _visit_name(self, node: ast.Name, loose: bool) -> None:
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            return
        top, *others = (name in scope.names for scope in self._scopes)
        if hasattr(builtins, name) and not any(others) and name != "__name__":
            if (
                name not in BUILTINS
            ):  # also where the notebook gives it another meaning, perhaps later
                return self._remark(node, NOT_HERE)
            if name in _BY_NAME or (name in ("super", "type") and not loose):
                return self._remark(node, CANNOT_READ if name in _BY_NAME else HANDS_OUT)
        if top or any(others):
            for one in self._objects(node):
                self._uses(node, one, loose)

    def _visit_attribute(self, node: ast.Attribute, loose: bool) -> None:
        base = node.value
        if not isinstance(node.ctx, ast.Load):
            return self._sets(base, node.attr, node)
        if node.attr in _NAMES and isinstance(base, ast.Attribute) and base.attr == "__class__":
            return self._visit(base.value, True)
        modules = self._modules(base)
        for module in modules:
            self._reads_of_module(node, module, node.attr, loose)
        if len(modules) < len(self._objects(base)):
            self._reads(node, node.attr, base)
            self._visit(base, True)

    def _visit_subscript(self, node: ast.Subscript, loose: bool) -> None:
        stored = not isinstance(node.ctx, ast.Load)
        if stored and any(one is not UNKNOWN for one in self._objects(node.value)):
            self._remark(node, PATCHES)
        self._visit_inside(node)

    def _visit_compare(self, node: ast.Compare, loose: bool) -> None:
        *parts, last = node.left, *node.comparators
        literal = isinstance(last, ast.Tuple | ast.List | ast.Set)
        kinds = ast.Is | ast.IsNot | ast.Eq | ast.NotEq
        fixed = all(isinstance(op, kinds) for op in node.ops) or (literal and len(node.ops) == 1)
        self._visit_all([*parts, *(ast.iter_child_nodes(last) if literal else [last])], fixed)

    def _visit_matchclass(self, node: ast.MatchClass, loose: bool) -> None:
        self._visit(node.cls, True)
        for name in node.kwd_attrs:
            self._reads(node, name, ast.Constant(None))
        self._visit_all([*node.patterns, *node.kwd_patterns])

    def _visit_assign(self, node: ast.Assign, loose: bool) -> None:
        named = isinstance(node.targets[0], ast.Name) and self._modules(node.value)
        if not named or len(self._scopes) > 1 or self._in_class:  # else it is as good as an import
            self._visit_all([node.value, *node.targets])

    # ---- calls ----------------------------------------------------------------------------------

    def _visit_call(self, node: ast.Call, loose: bool) -> None:
        function, arguments = node.func, [*node.args, *(k.value for k in node.keywords)]
        special = (*_BY_NAME, "type", "super")
        name = next((one for one in special if self._is_builtin(function, one)), "")
        alone = loose and len(arguments) == len(node.args) == 1
        if name in _BY_NAME:
            self._by_name(node, name)
        elif name == "type" and (not alone or isinstance(arguments[0], ast.Starred)):
            self._remark(node, HANDS_OUT)
        elif name == "super" and arguments:
            self._remark(node, CANNOT_READ)
        elif self._is_spelt(node):
            pass  # what it is given is looked at below
        elif any(stands(one, ASKED) for one in self._objects(function)):
            self._remark(function, NOT_HERE)
        elif isinstance(function, ast.Call) and self._is_builtin(function.func, "type"):
            self._remark(node, HANDS_OUT)
        else:
            self._visit(function, True)
        self._visit_all(arguments, any(self._is_builtin(function, name) for name in _LOOKING))

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
        of = getattr(node, "module", "")
        if getattr(node, "level", 0) or of is None:
            return self._remark(node, "imports from files beside the notebook")
        for alias in node.names:
            module, part = (of, alias.name) if of else (alias.name, "")
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

    def _visit_functiondef(self, node: ast.FunctionDef | ast.Lambda, loose: bool) -> None:
        name, given = getattr(node, "name", ""), node.args
        self._decorators(node)
        self._visit_all([*given.defaults, *given.kw_defaults])
        body = node.body if isinstance(node.body, list) else [node.body]
        imports = [n for n in run_with(body) if isinstance(n, ast.Import | ast.ImportFrom)]
        own, brought = local_names(node), {name for one in imports for name, *_ in imported(one)}
        if not brought <= own:
            self._remark(imports[0], "imports for other functions than its own")
        first = next((a.arg for a in (*given.posonlyargs, *given.args)), "")
        is_called_on = node in self._methods or first in ("ctx", "self")
        with self._scope(first if is_called_on else "", name):
            self._bind(imports, own - brought)
            self._visit_all(body)

    _visit_lambda = _visit_functiondef

    def _comprehension(self, node: Any, loose: bool) -> None:
        self._visit(node.generators[0].iter)
        with self._scope("", self._scopes[-1].function):
            self._bind((), bound_by(n for g in node.generators for n in ast.walk(g.target)))
            self._visit_inside(node)

    _visit_listcomp = _visit_setcomp = _visit_dictcomp = _visit_generatorexp = _comprehension

    def _visit_classdef(self, node: ast.ClassDef, loose: bool) -> None:
        if node.keywords:
            self._remark(node, "changes how Python itself makes classes")
        nodes = run_with(node.body)
        hidden = {name for name in bound_by(nodes) & inside() - SPECIAL if name.startswith("_")}
        if hidden - {"__module__", "__qualname__"}:
            self._remark(node, REACHES_IN)
        if any(isinstance(n, ast.Import | ast.ImportFrom) for n in nodes):
            self._remark(node, HANDS_OUT)
        self._decorators(node)
        for base in node.bases:
            self._base(node, base)
        outside, self._in_class = self._in_class, True
        self._visit_all(node.body)
        self._in_class = outside

    def _decorators(self, node: ast.AST) -> None:
        for one in getattr(node, "decorator_list", ()):
            call = one if isinstance(one, ast.Call) else ast.Call(one, [], [])
            if self._stands(
                call.func, DECORATING
            ):  # of what is given, only whose it is: f, frozen=True
                own = [isinstance(a, ast.Name) and self._objects(a) == [UNKNOWN] for a in call.args]
                switches = [getattr(k.value, "value", "") in (True, False) for k in call.keywords]
                if not all(own + switches):
                    self._remark(one, CANNOT_READ)
                continue
            known = name_of(call.func) in DECORATORS and UNKNOWN not in self._objects(call.func)
            if not (known or self._is_ours(call.func)):
                self._remark(one, f"as a decorator {NOT_HERE}")
            self._visit(one, True)

    def _base(self, node: ast.ClassDef, base: ast.expr) -> None:
        """Remark on what a class is made of. An enumeration without members could be called for a class of a table."""
        found = self._objects(base)
        if self._stands(base, BASES):
            if any(isinstance(one, enum.EnumType) for one in found) and not self._has_members(node):
                self._remark(node, _OTHER_KIND)
            return
        for one in found:
            known = isinstance(one, type) and not issubclass(one, torch.Tensor | type)
            ours = self._is_ours(base) and one is UNKNOWN
            if (not known or stands(one, ASKED)) and not ours:
                self._remark(base, _OTHER_KIND)
        self._visit(base, True)
