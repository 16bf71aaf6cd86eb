"""Remarks on calls of what takes names as text, changes a class it is given, or makes a class."""

from __future__ import annotations

import ast

from autograder.grading.policy.paths import object_at
from autograder.grading.policy.remarks import CANNOT_READ, PATCHES, Remarks, is_guarded

NAMED_IN_TEXT = {"operator.attrgetter", "operator.methodcaller"}
_MUTATORS = frozenset({
    "append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "add",
    "discard", "popitem", "sort", "reverse",
})  # fmt: skip


class Calls(Remarks):
    """What a call does beside what its callee and its arguments say."""

    def by_name(self, node: ast.Call, function: str) -> None:
        """getattr, setattr and delattr are as good as the attribute, where its name can be read."""
        name = node.args[1] if len(node.args) > 1 else None
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            return self.remark(node, CANNOT_READ)
        if function != "getattr":
            return self.assigns(node.args[0], name.value, node)
        if not self.reads(node, name.value):
            self.refuse(node, self.paths(node))
            self.hands_out(node, self.paths(node), True)

    def read_callee(self, node: ast.Call, callees: set[str]) -> None:
        if callees & NAMED_IN_TEXT:
            self._attributes_in_text(node, callees)
        if "builtins.type" in callees and len(node.args) == 3:
            self.makes_class(node, [node.args[1]], None)
        if callees & {"functools.update_wrapper", "functools.wraps"} and (
            len(node.args) > 2 or any(k.arg in ("assigned", "updated", None) for k in node.keywords)
        ):
            self.remark(node, PATCHES)
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _MUTATORS and any(
                is_guarded(p) and isinstance(object_at(p), dict | list | set)
                for p in self.paths(node.func.value)
            ):
                self.remark(node, PATCHES)
            if node.func.attr == "enter_context" and self.has_mode:
                self.remark(node, "stays switched on after the code that needs it: use with")
        if self._changes_classes(node.func):
            for argument in node.args:
                if any(
                    is_guarded(p) and isinstance(object_at(p), type) for p in self.paths(argument)
                ):
                    self.remark(node, PATCHES)

    def _attributes_in_text(self, node: ast.Call, callees: set[str]) -> None:
        """attrgetter("a.b") and methodcaller("a", …) are as good as the attributes themselves."""
        given = node.args if "operator.attrgetter" in callees else node.args[:1]
        for one in given:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                for part in one.value.split("."):
                    self.reads(node, part)
            else:
                self.remark(node, CANNOT_READ)

    def _changes_classes(self, callee: ast.expr) -> bool:
        """Whether this may be a decorator of Python's own that writes to the class it is given."""
        if isinstance(callee, ast.Call):
            return self._changes_classes(callee.func)
        if isinstance(callee, ast.Name):
            bound = [value for value, _ in self.scope.find(callee.id)]
            if any(isinstance(v, ast.Call) and self._changes_classes(v.func) for v in bound):
                return True
        return any(
            p.startswith(("dataclasses.", "functools.", "typing.", "enum.", "abc.", "contextlib."))
            for p in self.paths(callee)
        )
