"""How the values of one run came about: the numbers of each operation, its line, and what it was made of; and runs
in which one of them is another, or what another expression gives where it is made."""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.autograd.graph import _engine_run_backward
from torch.utils._pytree import tree_map_only

from autograder.contract.ending import errors_only
from autograder.observation.observation import Answer, Question
from autograder.observation.syntax import Span
from autograder.running.function_classes import patched
from autograder.running.operations import (
    LARGEST,
    MOST,
    Array,
    Number,
    Operation,
    Operations,
    Place,
    Read,
    Value,
    recorded,
    span_of,
    tensors_in,
    whole_numbers,
)
from autograder.running.watching import Framed, name_of


def ancestors(end: Value) -> list[Value]:
    """The values that a value was computed from, and itself, what came first first, or nearly so."""
    order: dict[Value, None] = {}
    seen: set[Value] = set()
    waiting = [(end, False)]
    while waiting:
        value, ready = waiting.pop()
        if ready:
            order.setdefault(value)
        elif value not in seen:
            seen.add(value)
            waiting.append((value, True))
            waiting += [(given, False) for given in reversed(value.given)]
    return list(order)


@dataclass(frozen=True)
class Flow:
    """The results of a run by kind and place, ("output", 0) or ("gradient", 1), and every value on the way.

    operations  what was recorded
    """

    results: Mapping[tuple[str, int], Value]
    values: Sequence[Value]
    operations: Operations = field(default_factory=lambda: Operations(frozenset()))


def flow_of(run: Callable[[Answer], Any], question: Question, files: frozenset[str]) -> Flow:
    """Repeat a run with every operation recorded.

    run  puts the question, fills the answer, and gives what backward returned, where that was heard
    """
    raw: Any = None
    answer = Answer()
    with contextlib.suppress(Exception), errors_only(), recorded(files) as operations:
        raw = run(answer)
    ends = {("output", k): t for k, t in enumerate(answer.outputs or ())}
    for kind, found in (("gradient", answer.gradients), ("second", answer.second)):
        ends |= {(kind, i): t for i, t in zip(question.wants, found or (), strict=False)}
    ends |= {("gradient", i): t for i, t in enumerate(raw or ()) if isinstance(t, Tensor)}
    tensors = {at: t for at, t in ends.items() if isinstance(t, Tensor)}
    places = {at: place for at, t in tensors.items() if (place := operations.placed(t))}
    results = {at: Value(place.held, place) for at, place in places.items()}
    return Flow(results, operations.values, operations)


# ---- from a number to what it was computed from --------------------------------------------------

_PICKS = frozenset({"where", "masked_fill"})  # each number is that of one argument


@dataclass(frozen=True)
class Origin:
    """Where a number came from: an element, counted flat, of what an operation gave."""

    of: Value
    flat: int

    @property
    def value(self) -> float:
        return float(self.of.numbers.reshape(-1)[self.flat])

    @property
    def operation(self) -> Operation:
        assert self.of.operation is not None
        return self.of.operation

    @cached_property
    def sources(self) -> list[Number]:
        """The numbers that it was computed from, in the order of the arguments."""
        operation, shape = self.operation, self.of.numbers.shape
        if operation.name.endswith("_like") or operation.name.startswith("new_"):
            return []  # made beside a tensor, and not of its numbers
        if torch.Tag.pointwise in operation.call[0].tags and operation.name not in _PICKS:
            index = np.unravel_index(self.flat, shape)
            return [each.meets(index) for each in operation.given if each is not None]
        numbers = [each for each in operation.given if isinstance(each, Number)]
        found = self._by_slope()
        if not found and not numbers and len(operation.given) == 1:
            (only,) = operation.given
            if isinstance(only, Place) and only.values.shape == shape:  # x.int()
                return [only.number(self.flat)]
            return []
        return found or numbers  # x[mask] = number

    def _by_slope(self) -> list[Number]:
        """Those in tensors that it has a derivative by.

        They are not derivatives of the numbers themselves, of which many have slope 0, nor of equal ones,
        whose maximum is anywhere: in place of each number stands its rank.
        """
        func, *given = self.operation.call
        places = [each for each in self.operation.given if not isinstance(each, Number)]
        leaves = [None if place is None else place.ranked() for place in places]
        left = iter(leaves)

        def stand_in(tensor: Tensor) -> Tensor:
            leaf = next(left)
            return tensor if leaf is None else leaf.clone()  # the operation may write to it

        wanted = [(p, x) for p, x in zip(places, leaves, strict=True) if p and x is not None and x.requires_grad]  # fmt: skip
        try:
            with torch.enable_grad():
                args, kwargs = tree_map_only(Tensor, stand_in, given)
                made = tensors_in(func(*args, **kwargs))
            end = made[self.operation.values.index(self.of)].reshape(-1)[self.flat]
            slopes = torch.autograd.grad(end, [leaf for _, leaf in wanted], allow_unused=True)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):  # it has no derivative
            return []
        return [
            place.number(int(element))
            for (place, _), slope in zip(wanted, slopes, strict=True)
            if slope is not None
            for element in slope.reshape(-1).nonzero().reshape(-1)
        ]


def origin(number: Number) -> Origin | None:
    """The operation that wrote a number; None: it was given."""
    waiting = list(number.held)
    for value in waiting:
        if value.view or value.read:
            waiting += value.given
        elif value.place.storage == number.storage:
            here = np.flatnonzero(value.place.offsets.reshape(-1) == number.offset)
            if len(here):
                return Origin(value, int(here[0]))
    return None


# ---- runs in which one value is another ------------------------------------------------------------

Given = Mapping[str, Any]


class Other(Framed):
    """A mode for a run that goes another way; ``count``: its operations so far. A loop that no longer ends is stopped.

    whole  what ``whole_numbers`` gave of the code as it stands: where another one comes out the run ends, as it does
           where Python or NumPy reads a tensor. What is native takes such numbers for places in memory. None: it goes on
    """

    count = 0
    whole: Sequence[Any] | None = None

    def __enter__(self) -> Any:
        self._left = iter(self.whole or ())
        self._reading = patched(
            [(Tensor, name, _ends) for name in _READS * (self.whole is not None)]
        )
        self._reading.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._reading.__exit__(*error)

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.count += 1
        if self.count > 2 * MOST:
            raise RecursionError(f"more than {2 * MOST} operations")
        result = self.ran_as(func, args, kwargs)
        if self.whole is not None and not all(map(_same, whole_numbers(result), self._left)):
            _ends()
        return result

    def ran_as(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the operation gives here."""
        raise NotImplementedError


_READS = ("numpy", "tolist", "data_ptr")


def _ends(*_: Any) -> Any:
    raise RuntimeError("other numbers than those of the code as it stands would leave torch")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and torch.equal(one, other)
    return type(one) is type(other) and bool(one == other)


class Looking(Other):
    """Looks at what an operation gives where it makes a value. torch copies more, or less, where it is watched."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value, self.op, self.left = value, value.op.removesuffix("[]"), (value.made or (0,))[0]

    def ran_as(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        mine = name_of(func) == self.op
        self.left -= mine
        return self.seen(func, result) if mine and self.left == 0 else result

    def seen(self, func: Any, result: Any) -> Any:
        """What comes out in its place."""
        raise NotImplementedError


class Replaced(Looking):
    """Puts other numbers, in their own shape, in the place of a value: what would have come of them?

    What is written to keeps its place. A function in C++ writes past its memory where a step of it has fewer
    dimensions: there the shape stays.
    """

    def __init__(self, value: Value, numbers: Array) -> None:
        super().__init__(value)
        self.numbers = numbers

    def seen(self, func: Any, result: Any) -> Any:
        assert self.value.made is not None
        assert self.value.operation is not None
        made = tensors_in(result)[self.value.made[1]]
        numbers = torch.from_numpy(self.numbers)
        inside = self.value.operation.inside or self.whole is not None
        if func._schema.is_mutable or (inside and numbers.shape != made.shape):
            same = func._schema.is_mutable and made.numel() == numbers.numel()
            return made.copy_(numbers.reshape(made.shape)) if same else result
        new = numbers.to(made.device, made.dtype, copy=True)
        return tree_map_only(Tensor, lambda leaf: new if leaf is made else leaf, result)


class Reread(Other):
    """Puts other numbers where a name is read: of one that stands for a tensor which no operation of that pass made."""

    def __init__(self, read: Read, numbers: Array) -> None:
        super().__init__()
        self.uses, self.numbers, self.ran = {*read.uses}, numbers, Counter[str]()

    def ran_as(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name, which = name_of(func), itertools.count()
        self.ran[name] += 1

        def given(tensor: Tensor) -> Tensor:
            mine = (name, self.ran[name], next(which)) in self.uses
            other = torch.from_numpy(
                self.numbers
            )  # of another shape it may be written past its memory
            return other.to(tensor.device, tensor.dtype) if mine and other.shape == tensor.shape else tensor  # fmt: skip

        args, kwargs = tree_map_only(Tensor, given, (args, kwargs))
        return func(*args, **kwargs)


class Tried(Looking):
    """What other expressions give at the moment at which a value is made, in a run which they do not change.

    span    where the expression stands: one of the value's
    given   further names: the arguments by those of the contract
    others  what to try, where these names stand for numbers and tensors: pairs of anything and an expression
    found   with what each gives
    """

    def __init__(
        self, value: Value, span: Span, given: Given,
        others: Callable[[Given], Iterable[tuple[Any, str]]],
    ) -> None:  # fmt: skip
        super().__init__(value)
        self.span, self.given, self.others = span, given, others
        self.found = list[tuple[Any, str, Tensor]]()

    def seen(self, func: Any, result: Any) -> Any:
        # A pass that the expression itself has begun would wait for itself.
        frames = takewhile(lambda f: f.f_code is not _engine_run_backward.__code__, self.frames())
        there = (f for f in frames if f.f_code.co_filename == self.span.file)
        frame = next((f for f in there if span_of(f) == self.span), None)
        if frame is not None and isinstance(result, Tensor) and not func._schema.is_mutable:
            space = {**frame.f_globals, **self.given, **frame.f_locals}
            for what, text in self.others(names_in(frame, self.given)):
                with contextlib.suppress(Exception):  # most of what is tried makes no sense
                    if self.whole is None or torchs_alone(text, space):
                        made = eval(text, space)
                        self.found += [(what, text, made.detach())] * isinstance(made, Tensor)
        return result


_VALUES = Tensor | int | float | complex | str | tuple | list | torch.dtype | torch.device | FunctionCtx | None  # fmt: skip
_HARMLESS = ("torch", "math", "builtins")  # modules whose functions look where they read


def torchs_alone(text: str, space: Given) -> bool:
    """Whether an expression has nothing but tensors, plain values, and functions of torch's and Python's own."""
    tree = [*ast.walk(ast.parse(text, mode="eval"))]
    named = [n for n in tree if isinstance(n, ast.Name | ast.Attribute)]
    called = [n.func for n in tree if isinstance(n, ast.Call)]
    return all(each in named for each in called) and all(_is_harmless(n, space) for n in named)


def _is_harmless(node: ast.Name | ast.Attribute, space: Given) -> bool:
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):  # of what an operation gives
        return hasattr(Tensor, node.attr) if isinstance(node, ast.Attribute) else False
    value = eval(ast.unparse(node), dict(space))
    if isinstance(value, _VALUES) or isinstance(getattr(value, "__self__", None), Tensor):
        return True
    module = str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))
    return module.partition(".")[0] in _HARMLESS and "._ops" not in module


def names_in(frame: FrameType, given: Given) -> dict[str, Any]:
    """The numbers and floating tensors by name, those on ctx among them; what can be written there before what is given."""
    own, kept = frame.f_locals, dict[str, Any]()
    for name, value in own.items():
        if isinstance(value, FunctionCtx):
            kept |= {f"{name}.{each}": v for each, v in vars(value).items()}
    known = {**own, **kept, **given, **own}
    return {name: value for name, value in known.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.is_floating_point() and value.numel() <= LARGEST
    return is_plain_number(value)


def is_plain_number(value: Any) -> bool:
    """Whether it is a number of Python's own, and no bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)
