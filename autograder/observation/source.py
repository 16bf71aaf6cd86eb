"""The learner's own source: which line to point at. Read as text and AST, never run."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from autograder.observation.syntax import (
    SAVING,
    at_once,
    bindings,
    called,
    codes_of,
    defined_as,
    handed_on,
    name_of,
    raises_not_implemented,
    registered,
)

Place = tuple[int, str]  # the number of a line as the learner sees it, and its text


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
        """The source of a class, a function, or what is registered for an operator; empty when none can be read.

        It is looked for in the file or notebook cell of their code: inspect knows no classes of notebooks.
        """
        owner = getattr(submission, "__self__", None)
        target = owner if isinstance(owner, type) else submission
        is_class = isinstance(target, type)
        operator = {} if is_class else registered(target)
        written = vars(target) if is_class else operator or {"": target}
        codes = {name: code for name, each in written.items() for code in codes_of(each)}
        for code in codes.values():
            lines = linecache.getlines(code.co_filename)
            whole = cls.parse("".join(lines))
            if operator:
                there = {n: whole._starting(c) for n, c in codes.items() if c.co_filename == code.co_filename}  # fmt: skip
                whole.methods |= {name: node for name, node in there.items() if node is not None}
                return whole
            node = whole._around(code, target.__name__) if is_class else whole._starting(code)
            if node is not None:
                return cls.of_tree(node, lines)
        return cls()

    def _starting(self, code: CodeType) -> ast.FunctionDef | None:
        """The function of this code, which begins with its decorators."""
        functions = defined_as(code, self.nodes)
        return next((n for n in functions if isinstance(n, ast.FunctionDef)), None)

    def _around(self, code: CodeType, name: str) -> ast.ClassDef | None:
        """The class of this name that the code stands in."""
        classes = (n for n in self.nodes if isinstance(n, ast.ClassDef) and n.name == name)
        return next((n for n in classes if n.lineno <= code.co_firstlineno <= (n.end_lineno or 0)), None)  # fmt: skip

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

    def parts(self, method: str) -> list[ast.AST]:
        """Every node of a method, its decorators included; none where it is not there."""
        return list(ast.walk(self.methods[method])) if method in self.methods else []

    def line_of(self, node: ast.AST) -> Place:
        """(line number as the learner sees it, its text)."""
        number = node.lineno + self.offset  # type: ignore[attr-defined]
        return number, self.text_of(number)

    def text_of(self, number: int) -> str:
        """The text of a line of this source, by the number the learner sees; "" where it has none."""
        place = number - self.offset - 1
        return self.lines[place].strip() if 0 <= place < len(self.lines) else ""

    def returned(self, method: str, ended: Mapping[str, int]) -> Place | None:
        """The line of the ``return`` of a method that ran; None if nobody knows which.

        ended  the lines in which methods with several of them ended (``Answer.returned_at``)
        """
        statement = self._return(method, ended)
        return None if statement is None else self.line_of(statement)

    def _return(self, method: str, ended: Mapping[str, int]) -> ast.Return | None:
        node = self.methods.get(method)
        within = (n for part in node.body for n in at_once(part)) if node is not None else ()
        returns = [n for n in within if isinstance(n, ast.Return) and n.value is not None]
        if method in ended:
            line = ended[method] - self.offset
            returns = [n for n in returns if n.lineno <= line <= (n.end_lineno or n.lineno)]
        return returns[0] if len(returns) == 1 else None

    def returned_expression(
        self, method: str, position: int, ended: Mapping[str, int]
    ) -> Place | None:
        """The line where the value returned at ``position`` is made: followed through one name."""
        last = self._return(method, ended)
        if last is None:
            return None
        function, value = self.methods[method], last.value
        if isinstance(value, ast.Tuple) and position < len(value.elts):
            value = value.elts[position]
        made = bindings(function, value.id) if isinstance(value, ast.Name) else []
        # None stands where nothing is made yet.
        made = [b for b in made if not _is_none(getattr(b, "value", None))] or made
        # Of several the last one made it, unless they stand in branches: then nobody knows which.
        if len(made) == 1 or all(each in function.body for each in made):
            return self.line_of(max(made, key=lambda n: n.lineno, default=last))
        return self.line_of(last)

    def same_code(self, other: Source, *methods: str) -> bool:
        """Whether the methods' bodies are the same code; comments, docstrings and layout do not count."""
        both = [(self.methods.get(m), other.methods.get(m)) for m in methods]
        return all(a is not None and b is not None and _text(a) == _text(b) for a, b in both)

    def cut_off(self) -> tuple[str, int, str] | None:
        """(what, line, its text): what takes a tensor out of the graph, in backward or as it is saved."""
        saves = (n for m in SAVING for n in self.parts(m) if called(n) == "save_for_backward")
        saved = (part for call in saves for a in call.args for part in ast.walk(a))  # type: ignore[attr-defined]
        return self._cut([*self._reached("backward"), *self._reached("vjp"), *saved])

    def _reached(self, method: str) -> Iterator[ast.AST]:
        """The nodes of a method, and those of the functions of its file that it calls."""
        functions, seen = {**functions_of(self.lines), **self.methods}, [method]
        for name in seen:
            for node in ast.walk(functions[name]) if name in functions else ():
                yield node
                if called(node) in functions and called(node) not in (*seen, *SAVING):
                    seen.append(called(node))

    def cut_in(self, function: str) -> tuple[str, int, str] | None:
        """The same anywhere in one function, its decorators included."""
        return self._cut(self.parts(function) or self.parts(next(iter(self.methods), "")))

    def _cut(self, parts: Iterable[ast.AST]) -> tuple[str, int, str] | None:
        cut = next((part for part in parts if name_of(part) in _CUTS), None)
        return None if cut is None else (_CUTS[name_of(cut)], *self.line_of(cut))

    def condition(self, line: int) -> Place | None:
        """The line of the innermost ``if`` around a line of the file, else of one in it; None where there is none."""
        nodes = Source.parse("\n".join(map(str.rstrip, self.lines))).nodes
        line -= self.offset
        ifs = [n for n in nodes if isinstance(n, ast.If | ast.IfExp) and n.lineno <= line <= (n.end_lineno or 0)]  # fmt: skip
        around = max(ifs, key=lambda n: (isinstance(n, ast.If), n.lineno), default=None)
        return None if around is None else self.line_of(around.test)

    def ends(self, method: str) -> Place | None:
        """The last statement of a method."""
        node = self.methods.get(method)
        return None if node is None else self.line_of(node.body[-1])

    def first(self, method: str, test: Callable[[ast.AST], Any]) -> Place | None:
        """The first line of a method (or of its decorators) with a node that passes a test."""
        found = filter(test, self.parts(method))
        first = min(found, key=lambda n: (n.lineno, n.col_offset), default=None)  # type: ignore[attr-defined]
        return None if first is None else self.line_of(first)

    def saves(self) -> Place | None:
        """The line that decides what backward can read: the first call of save_for_backward."""
        return next(filter(None, (self.first_call(m, "save_for_backward") for m in SAVING)), None)

    def writes_in_place(self, method: str) -> Place | None:
        """The first line of a method that writes in place, where the source shows one."""
        return self.first(method, _writes)

    def first_call(self, method: str, *names: str) -> Place | None:
        """The line of the first call whose dotted name ends in a name: in the first of these that is called."""

        def line(name: str) -> Place | None:
            return self.first(method, lambda node: called(node) == name)

        return next(filter(None, map(line, names)), None)

    def mentions(self, method: str, name: str) -> Place | None:
        """The first line of a method (or of its decorators) that uses a name, alone or as an attribute."""
        return self.first(method, lambda node: name_of(node) == name)

    def never_reads(self, method: str, attribute: str) -> bool:
        """Whether a method surely reads no attribute of this name: its text is there, and hands its first argument to nobody."""
        node = self.methods.get(method)
        return node is not None and not self.mentions(method, attribute) and not handed_on(node)

    def assigned(self, method: str, attribute: str) -> Place | None:
        """The line of a method that sets an attribute of this name (``ctx.mask = …``)."""
        return self.first(method, lambda node: _set(node) == attribute)

    def attributes_set(self, method: str) -> set[str]:
        """The names of the attributes that a method sets on anything."""
        return {_set(node) for node in self.parts(method)} - {""}

    def is_stub(self, method: str) -> bool:
        """Whether a method still is the released stub: nothing but ``raise NotImplementedError``."""
        node = self.methods.get(method)
        body = _body(node) if node is not None else []
        return len(body) == 1 and raises_not_implemented(body[0])

    def has_stub(self, method: str) -> bool:
        """Whether ``raise NotImplementedError()`` still stands at the end of a method's body."""
        node = self.methods.get(method)
        return node is not None and any(raises_not_implemented(s) for s in node.body)


def functions_of(lines: Sequence[str]) -> dict[str, ast.FunctionDef]:
    """The functions of a file or cell by name; none where it cannot be read."""
    return Source.parse("\n".join(map(str.rstrip, lines))).methods


def at(place: Place | None) -> dict[str, Any]:
    """A line and its text as a finding's evidence names them; nothing where there is none."""
    return {} if place is None else {"line": place[0], "source": place[1]}


def _set(node: ast.AST) -> str:
    """The attribute that a node sets; "" for any other."""
    return node.attr if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) else ""


def _writes(node: ast.AST) -> bool:
    """Whether a statement or a call writes in place: x += 1, x[i] = 1, x.add_(1), f(x, inplace=True)."""
    if isinstance(node, ast.Assign):
        parts = [part for target in node.targets for part in ast.walk(target)]
        return any(isinstance(p, ast.Subscript) and isinstance(p.ctx, ast.Store) for p in parts)
    name = called(node)
    keywords = node.keywords if isinstance(node, ast.Call) else []
    by_name = name.endswith("_") and not name.endswith("__")
    by_name = by_name and name not in ("requires_grad_", "mark_dirty")
    told = any(k.arg == "inplace" and ast.unparse(k.value) == "True" for k in keywords)
    return by_name or told or isinstance(node, ast.AugAssign)


# Names that take a tensor out of the graph, as the learner writes them.
_CUTS = {
    "detach": "detach()", "detach_": "detach_()", "data": ".data", "no_grad": "torch.no_grad()",
    "inference_mode": "torch.inference_mode()", "numpy": "numpy()", "item": "item()", "tolist": "tolist()",
    "once_differentiable": "once_differentiable",
}  # fmt: skip


def _is_none(value: ast.AST | None) -> bool:
    """Whether None is written there, or a tuple of it."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_none, value.elts))
    return isinstance(value, ast.Constant) and value.value is None


def _body(node: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a method, without its docstring."""
    return node.body[ast.get_docstring(node) is not None :]


def _text(node: ast.FunctionDef) -> list[str]:
    return list(map(ast.unparse, _body(node)))
