"""Runs in which one of the learner's functions has other code: what would come of another expression in it?"""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from torch.autograd.function import FunctionCtx

from autograder.observation.syntax import Span, defined_as, name_of, span_of_node
from autograder.running.value_flow import Other, is_plain_number, names_in
from autograder.running.watching import traced

_MOST = 20_000  # lines of a run, whose loops need not end
_FIELDS = ("value", "test", "iter", "target", "targets")  # of statements


class Noted:
    """Notes which functions of these files end while it is on, and what numbers and tensors they know then.

    found  in their order
    calls  how many calls of any function there were: what a run takes
    """

    def __init__(self, files: frozenset[str]) -> None:
        self.files, self.found, self.calls = files, dict[FunctionType, dict[str, Any]](), 0
        self._codes, self._spaces = dict[CodeType, dict[str, Any]](), dict[int, dict[str, Any]]()
        self._classes = set[type]()

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        self.calls += event in ("call", "c_call")
        if event == "return" and frame.f_code.co_filename in self.files:
            self._codes[frame.f_code] = names_in(frame, {})
            self._spaces[id(frame.f_globals)] = frame.f_globals
            # A class that no global name stands for is that of a ctx.
            contexts = (v for v in frame.f_locals.values() if isinstance(v, FunctionCtx))
            self._classes |= {cls for ctx in contexts for cls in type.mro(getattr(ctx, "_forward_cls", object))}  # fmt: skip

    def __enter__(self) -> None:
        self._before = sys.getprofile()
        sys.setprofile(self._note)

    def __exit__(self, *error: Any) -> None:
        sys.setprofile(self._before)
        values: list[Any] = [v for space in self._spaces.values() for v in [*space.values()]]
        values += self._classes
        owned = (each for v in values if isinstance(v, type) for each in vars(v).values())
        made = {f.__code__: f for f in map(_function, (*values, *owned)) if f is not None}
        self.found = {made[code]: names for code, names in self._codes.items() if code in made}


def _function(value: Any) -> FunctionType | None:
    """The function that something is, or wraps; that of a custom operator."""
    function = getattr(value, "__func__", getattr(value, "_init_fn", value))
    while isinstance(inner := getattr(function, "__wrapped__", None), FunctionType):
        function = inner
    return function if isinstance(function, FunctionType) else None


def calls_kernels(function: FunctionType) -> bool:
    """Whether a function names a kernel: with other code around it, that may write past its memory."""
    named = (function.__globals__.get(name) for name in function.__code__.co_names)
    return any(type(each).__module__.startswith("triton") for each in named)


@dataclass(frozen=True)
class Expression:
    """An expression of a function, or a statement; the value of a number that it finds in its module.

    node    where the function is defined; None: it stands outside
    tree    the expression there; holder, field: what it is a part of
    """

    function: FunctionType
    node: ast.FunctionDef | ast.Lambda | None
    tree: Any
    holder: ast.AST
    field: str

    @property
    def file(self) -> str:
        """Where the function's code stands."""
        return self.function.__code__.co_filename

    @property
    def is_target(self) -> bool:
        """Whether something is assigned to it."""
        return self.field in ("target", "targets")

    @property
    def under_own_names(self) -> set[str]:
        """Of what it gives a name, that which has this name already: x = ctx.x; ctx.u, ctx.v = u, 2 * v."""
        target, value = getattr(self.holder, "targets", [None])[0], self.tree
        if target is None or self.is_target:
            return set()
        both = zip(*(getattr(each, "elts", [each]) for each in (target, value)), strict=False)
        named = [(ast.unparse(v), name_of(v) == name_of(t) != "") for t, v in both]
        return {v for v, own in named if own} - {v for v, own in named if not own}

    def run(self, other: Any, names: Mapping[str, Any]) -> Recoded:
        """A run with what ``other`` gave."""
        if self.node is not None:
            return Recoded(self.function, other, names)
        found = {name_of(self.holder.targets[0]): other}  # type: ignore[attr-defined]
        return Recoded(self.function, self.function.__code__, {}, found)

    def other(self, text: str) -> Any:
        """The function's code with another expression there, or another statement, or another number; None where it is none."""
        if self.node is None:
            with contextlib.suppress(Exception):  # most of what is tried makes no sense
                return eval(text, dict(self.function.__globals__))
            return None
        try:
            new: Any = ast.parse(text).body[0]
        except SyntaxError:
            return None
        new = getattr(new, "value", new) if isinstance(self.tree, ast.expr) else new
        for each in ast.walk(new):
            ast.copy_location(each, self.tree)
            if self.is_target and isinstance(each, ast.Name | ast.Tuple):
                each.ctx = ast.Store()
        self._exchange(self.tree, new)
        try:
            return _compiled(self.node, self.function.__code__)
        except (SyntaxError, ValueError):
            return None
        finally:
            self._exchange(new, self.tree)

    def _exchange(self, one: Any, other: Any) -> None:
        held = getattr(self.holder, self.field)
        if isinstance(held, list):
            held[held.index(one)] = other
        else:
            setattr(self.holder, self.field, other)


def expressions(function: FunctionType) -> Iterator[Expression]:
    """Those that the statements of a function compute, and the last of what each assigns to."""
    node = _definition(function)
    for part in ast.walk(node) if node is not None else ():
        for name in _FIELDS if isinstance(part, ast.stmt | ast.comprehension) else ():
            held = getattr(part, name, None)
            tree = held[-1] if isinstance(held, list) else held
            if node is not None and isinstance(tree, ast.expr):
                yield Expression(function, node, tree, part, name)


def numbers_around(functions: Iterable[FunctionType]) -> Iterator[Expression]:
    """What stands for numbers that functions find in their module."""
    used = {n: f for f in functions for n in f.__code__.co_names if is_plain_number(f.__globals__.get(n))}  # fmt: skip
    for file in dict.fromkeys(f.__code__.co_filename for f in used.values()):
        for part in ast.parse("".join(linecache.getlines(file))).body:
            if isinstance(part, ast.Assign) and name_of(part.targets[0]) in used:
                yield Expression(used[name_of(part.targets[0])], None, part.value, part, "value")


def conditions(function: FunctionType) -> Iterator[Expression]:
    """What a function asks to decide what runs, the outermost first; a loop's condition is none."""
    node = _definition(function)
    for part in ast.walk(node) if node is not None else ():
        if node is not None and isinstance(part, ast.If | ast.IfExp):
            yield Expression(function, node, part.test, part, "test")


def statements(function: FunctionType) -> list[Expression]:
    """Those that a function may do without, the innermost first: what it defines, and its last return, are none."""
    node, found = _definition(function), list[Expression]()
    if node is None:
        return []
    for part in ast.walk(node):
        for name in ("body", "orelse"):
            held = getattr(part, name, None)
            for tree in held if isinstance(held, list) else ():
                needed = isinstance(tree, ast.Return) and part is node
                if not needed and not isinstance(tree, ast.FunctionDef | ast.ClassDef | ast.Pass):
                    found.append(Expression(function, node, tree, part, name))
    return found[::-1]


def expression_of(functions: Iterable[FunctionType], span: Span) -> Expression | None:
    """The expression that stands there, in the outermost of these functions."""
    there = [f for f in functions if f.__code__.co_filename == span.file]
    for function in sorted(there, key=lambda f: f.__code__.co_firstlineno):
        node = _definition(function)
        for part in ast.walk(node) if node is not None else ():
            for name, held in ast.iter_fields(part):
                for tree in held if isinstance(held, list) else [held]:
                    if isinstance(tree, ast.expr) and span_of_node(tree, span.file) == span and node is not None:  # fmt: skip
                        return Expression(function, node, tree, part, name)
    return None


def _definition(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    """Where a function is defined, without what decorates it; None where two of that name begin in one line."""
    code = function.__code__
    tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    found = list(defined_as(code, ast.walk(tree)))
    for node in found:
        getattr(node, "decorator_list", []).clear()
    return found[0] if len(found) == 1 else None


def _compiled(node: ast.FunctionDef | ast.Lambda, old: CodeType) -> CodeType | None:
    """The code of a definition. What it takes from a function around it, it takes from one here."""
    store = [ast.Name(name, ast.Store()) for name in old.co_freevars]
    inner = node if isinstance(node, ast.FunctionDef) else ast.Expr(node)
    body: list[ast.stmt] = [*(ast.Assign([name], ast.Constant(None)) for name in store), inner]
    around = ast.FunctionDef("around", ast.arguments([], [], None, [], [], None, []), body, [])
    whole = compile(ast.fix_missing_locations(ast.Module([around], [])), old.co_filename, "exec", dont_inherit=True)  # fmt: skip
    codes = [whole]
    while codes:
        code = codes.pop()
        if code.co_name == old.co_name:
            return code if code.co_freevars == old.co_freevars else None
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    return None


class Recoded(Other):
    """A function that has other code while the mode is on. A loop that no longer ends is stopped.

    names  what else the code may name: what has these names already keeps them
    found  other numbers for those that it finds in its module
    """

    def __init__(
        self, function: FunctionType, other: CodeType, names: Mapping[str, Any] = {},
        found: Mapping[str, Any] = {},
    ) -> None:  # fmt: skip
        super().__init__()
        self.function, self.code, self.other, self.lines = function, function.__code__, other, 0
        space = function.__globals__
        self.before = {name: space[name] for name in found}
        self.names = {name: v for name, v in names.items() if name not in space} | dict(found)
        # A loop need not end: here, or where this function is called, or one in it.
        self._watch = traced(lambda code: code.co_filename == other.co_filename, self._ran, True)

    def __enter__(self) -> Any:
        self.function.__code__ = self.other
        self.function.__globals__.update(self.names)
        self._watch.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._watch.__exit__(None, None, None)
        for name in self.names:
            self.function.__globals__.pop(name, None)
        self.function.__globals__.update(self.before)
        self.function.__code__ = self.code

    def _ran(self, frame: FrameType, event: str) -> None:
        self.lines += 1
        if self.lines > _MOST:
            raise RecursionError(f"more than {_MOST} lines")

    def ran_as(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return func(*args, **kwargs)
