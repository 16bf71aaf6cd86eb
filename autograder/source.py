"""The learner's own source: which line to point at. Read as text and AST, never run."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.calls import codes_of
from autograder.causes.made_at import NOTHING_SEEN, Seen, where_made


@dataclass
class Source:
    """The methods of a submission by name, with the line numbers of the cell or file.

    nodes  every node of its syntax tree
    """

    methods: dict[str, ast.FunctionDef] = field(default_factory=dict)
    offset: int = 0
    lines: list[str] = field(default_factory=list)
    nodes: list[ast.AST] = field(default_factory=list)

    @classmethod
    def of(cls, submission: Any) -> Source:
        """The source of a class or function; empty when there is none to be read."""
        target = getattr(submission, "__self__", None)
        if not isinstance(target, type):
            target = submission
        if isinstance(target, type) and (found := _class_in_its_file(target)) is not None:
            return cls.of_tree(*found)
        try:
            lines, first = inspect.getsourcelines(target)
        except (OSError, TypeError):
            return cls()
        return cls.parse("".join(lines), max(first, 1))

    @classmethod
    def parse(cls, text: str, first: int = 1) -> Source:
        """Source from text; ``first`` is the number of its first line."""
        try:
            tree = ast.parse(textwrap.dedent(text))
        except (SyntaxError, ValueError):
            return cls()
        return cls.of_tree(tree, text.splitlines(), first - 1)

    @classmethod
    def of_tree(cls, tree: ast.AST, lines: list[str], offset: int = 0) -> Source:
        """Source from a syntax tree and the lines of its file."""
        nodes = list(ast.walk(tree))
        found = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef)}
        return cls(found, offset, lines, nodes)

    def known_as(self, name: str) -> Source:
        """The same, where a plain function has another name than its exercise: check(mine, exercise=…)."""
        if self.methods and name not in self.methods:
            self.methods = {name: next(iter(self.methods.values())), **self.methods}
        return self

    def line_of(self, node: ast.AST) -> tuple[int, str]:
        """(line number as the learner sees it, its text)."""
        number = node.lineno  # type: ignore[attr-defined]
        text = self.lines[number - 1].strip() if number <= len(self.lines) else ""
        return number + self.offset, text

    def text_of(self, number: int) -> str:
        """The text of a line of this source, by the number the learner sees; "" where it has none."""
        place = number - self.offset - 1
        return self.lines[place].strip() if 0 <= place < len(self.lines) else ""

    def returned(self, method: str, ended: Mapping[str, int]) -> tuple[int, str] | None:
        """The line of the ``return`` of a method that ran; None if nobody knows which.

        ended  the lines in which methods with several of them ended (``Answer.returned_at``)
        """
        statement = self._return(method, ended)
        return None if statement is None else self.line_of(statement)

    def _return(self, method: str, ended: Mapping[str, int]) -> ast.Return | None:
        node = self.methods.get(method)
        within = _without_inner_functions(node) if node is not None else ()
        returns = [n for n in within if isinstance(n, ast.Return) and n.value is not None]
        if method in ended:
            line = ended[method] - self.offset
            returns = [n for n in returns if n.lineno <= line <= (n.end_lineno or n.lineno)]
        return returns[0] if len(returns) == 1 else None

    def returned_expression(
        self, method: str, position: int, ended: Mapping[str, int], seen: Seen = NOTHING_SEEN
    ) -> tuple[int, str] | None:
        """The line where the value returned at ``position`` is made: followed through one name."""
        last = self._return(method, ended)
        if last is None:
            return None
        saving = [self.methods[m] for m in ("forward", "setup_context") if m in self.methods]
        return self.line_of(where_made(self.methods[method], last, position, seen, saving))

    def same_code(self, other: Source, *methods: str) -> bool:
        """Whether the methods' bodies are the same code; comments, docstrings and layout do not count."""
        both = [(self.methods.get(m), other.methods.get(m)) for m in methods]
        return all(a is not None and b is not None and _body(a) == _body(b) for a, b in both)

    def cut_off(self) -> tuple[str, int, str] | None:
        """(what, line, its text): what takes a tensor out of the graph, in backward or as it is saved."""
        places: list[ast.AST] = [self.methods[m] for m in ("backward", "vjp") if m in self.methods]
        for method in ("forward", "setup_context"):
            node = self.methods.get(method)
            for call in ast.walk(node) if node is not None else ():
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(
                    "save_for_backward"
                ):
                    places += call.args
        return self._cut(places)

    def cut_in(self, function: str) -> tuple[str, int, str] | None:
        """The same anywhere in one function, its decorators included."""
        node = self.methods.get(function) or next(iter(self.methods.values()), None)
        return self._cut([node]) if node is not None else None

    def _cut(self, places: Sequence[ast.AST]) -> tuple[str, int, str] | None:
        for place in places:
            for part in ast.walk(place):
                name = part.attr if isinstance(part, ast.Attribute) else ""
                name = part.id if isinstance(part, ast.Name) else name
                if name in _CUTS:
                    return (_CUTS[name], *self.line_of(part))
        return None

    def is_one_return(self, method: str) -> bool:
        """Whether a method does nothing but return an expression (a docstring aside)."""
        node = self.methods.get(method)
        body = [s for s in node.body if not isinstance(s, ast.Expr)] if node is not None else []
        return len(body) == 1 and isinstance(body[0], ast.Return)

    def first_call(self, method: str, name: str) -> tuple[int, str] | None:
        """The line of the first call whose dotted name ends in ``name``."""
        node = self.methods.get(method)
        found = [
            child
            for child in (ast.walk(node) if node is not None else ())
            if isinstance(child, ast.Call) and ast.unparse(child.func).split(".")[-1] == name
        ]
        return self.line_of(min(found, key=lambda n: (n.lineno, n.col_offset))) if found else None

    def mentions(self, method: str, name: str) -> bool:
        """Whether a method or its decorators use a name, alone or as an attribute."""
        return self.first_mention(method, name) is not None

    def first_mention(self, method: str, name: str) -> tuple[int, str] | None:
        """The first line of a method (or of its decorators) that uses a name."""
        node = self.methods.get(method)
        found = [
            n
            for n in (ast.walk(node) if node is not None else ())
            if (isinstance(n, ast.Name) and n.id == name)
            or (isinstance(n, ast.Attribute) and n.attr == name)
        ]
        return self.line_of(min(found, key=lambda n: n.lineno)) if found else None

    def mentions_anywhere(self, name: str) -> bool:
        """Whether any method uses a name."""
        return any(self.mentions(method, name) for method in self.methods)

    def reads_needs_from_the_start(self, method: str) -> bool:
        """Whether ctx.needs_input_grad is indexed by a bare variable, or walked over from position 0."""
        node = self.methods.get(method)
        if node is None:
            return False
        needs = [n for n in ast.walk(node) if isinstance(n, ast.Attribute)]
        needs = [n for n in needs if n.attr == "needs_input_grad"]
        indexed = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and n.value in needs]
        if any(isinstance(n.slice, ast.Name) for n in indexed):
            return True
        harmless = [n.value for n in indexed]
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and ast.unparse(call.func) in (
                "len",
                "any",
                "all",
                "enumerate",
            ):
                harmless += call.args
        return any(n not in harmless for n in needs)

    def assigned(self, method: str, attribute: str) -> tuple[int, str] | None:
        """The line of a method that sets an attribute of this name (``ctx.mask = …``)."""
        for node in self._attributes_set(method):
            if node.attr == attribute:
                return self.line_of(node)
        return None

    def attributes_set(self, method: str) -> set[str]:
        """The names of the attributes that a method sets on anything."""
        return {node.attr for node in self._attributes_set(method)}

    def _attributes_set(self, method: str) -> list[ast.Attribute]:
        node = self.methods.get(method)
        return [
            child
            for child in (ast.walk(node) if node is not None else ())
            if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store)
        ]

    def view_put_back(self, method: str) -> tuple[tuple[int, str], str, str] | None:
        """Where ``old = x[i]`` is meant as a copy: (its line, "old", "x"), if x[…] = old comes later."""
        node = self.methods.get(method)
        statements = [n for n in ast.walk(node) if isinstance(n, ast.Assign)] if node else []
        for first in statements:
            name, value = first.targets[0], first.value
            if not isinstance(name, ast.Name) or not isinstance(value, ast.Subscript):
                continue
            for later in statements:
                target = later.targets[0]
                back = isinstance(later.value, ast.Name) and later.value.id == name.id
                same = isinstance(target, ast.Subscript) and (
                    ast.dump(target.value) == ast.dump(value.value)
                )
                if back and same:
                    return self.line_of(first), name.id, ast.unparse(value.value)
        return None

    def is_stub(self, method: str) -> bool:
        """Whether a method still is the released stub: nothing but ``raise NotImplementedError``."""
        node = self.methods.get(method)
        if node is None:
            return False
        body = [
            s
            for s in node.body
            if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        ]
        return len(body) == 1 and _raises_not_implemented(body[0])

    def has_stub(self, method: str) -> bool:
        """Whether ``raise NotImplementedError()`` still stands at the end of a method's body."""
        node = self.methods.get(method)
        return node is not None and any(_raises_not_implemented(s) for s in node.body)


# Names that take a tensor out of the graph, as the learner writes them.
_CUTS = {
    "detach": "detach()", "detach_": "detach_()", "data": ".data", "no_grad": "torch.no_grad()",
    "inference_mode": "torch.inference_mode()", "numpy": "numpy()", "item": "item()",
    "once_differentiable": "once_differentiable",
}  # fmt: skip


def _without_inner_functions(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Every node of a function, without those of functions that are defined in it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop(0)
        yield current
        if not isinstance(current, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(current)


def _body(node: ast.FunctionDef) -> list[str]:
    """The statements of a method as text, without its docstring."""
    statements = [ast.unparse(s) for s in node.body]
    return statements[1:] if ast.get_docstring(node) is not None else statements


def _raises_not_implemented(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _class_in_its_file(target: type) -> tuple[ast.ClassDef, list[str]] | None:
    """(its node, the lines of its file or notebook cell): found through one of its methods.

    inspect knows no classes of notebooks, and in files it parses everything once more.
    """
    for value in vars(target).values():
        for code in codes_of(value):
            lines = linecache.getlines(code.co_filename)
            try:
                tree = ast.parse("".join(lines))
            except (SyntaxError, ValueError):
                continue
            for node in ast.walk(tree):
                if not isinstance(node, ast.ClassDef) or node.name != target.__name__:
                    continue
                if node.lineno <= code.co_firstlineno <= (node.end_lineno or 0):
                    return node, lines
    return None
