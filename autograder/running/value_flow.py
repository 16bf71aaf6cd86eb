"""How the values of one run came about: the numbers of each operation, its line, and what it was made of; and runs
in which one of them is another, or what another expression gives where it is made."""

from __future__ import annotations

import contextlib
import linecache
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from autograder.contract.ending import errors_only
from autograder.observation.observation import Answer, Question
from autograder.observation.syntax import Span, code_at
from autograder.running.operations import (
    LARGEST,
    Array,
    Operation,
    Operations,
    Place,
    name_of,
    placed,
    recorded,
    span_of,
)
from autograder.running.watching import Framed


@dataclass(frozen=True, eq=False)
class Value:
    """What one operation gave.

    line   the learner's line that called it, or whose derivative it is part of; None: nobody knows
    text   of that line
    given  the values of other operations that it was computed from
    op     the operation: "mul", "bitwise_and", "sum[]" over an empty list of dimensions; "" for what
           a run ends with
    dtype  "float64"; "bool" for a mask
    made   the how many-th operation of its name made it, and which of its results it is; None: nothing made it
    spans  the expressions that gave it: the innermost, then the call of the function that it stands in, and so on
    view   it has the numbers of another value, in other places
    """

    numbers: Array
    line: int | None
    given: tuple[Value, ...]
    text: str = ""
    op: str = ""
    dtype: str = ""
    made: tuple[int, int] | None = None
    spans: tuple[Span, ...] = ()
    view: bool = False

    @property
    def mask(self) -> bool:
        """Whether it is made of True and False."""
        return self.dtype == "bool"

    @property
    def exchangeable(self) -> bool:
        """Whether other numbers may be put in its place."""
        return self.made is not None and (self.mask or "float" in self.dtype)

    @property
    def code(self) -> str:
        """The expression that gave it; where nobody knows that, its line."""
        return code_at(self.spans[0]) if self.spans else self.text.removeprefix("return ")


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

    operations, tensors  the same number by number: what was recorded, and the results
    """

    results: Mapping[tuple[str, int], Value]
    values: tuple[Value, ...]
    operations: Operations = field(default_factory=lambda: Operations(frozenset()))
    tensors: Mapping[tuple[str, int], Tensor] = field(default_factory=dict)


def flow_of(run: Callable[[Answer], Any], question: Question, files: frozenset[str]) -> Flow:
    """Repeat a run with every operation recorded.

    run  puts the question, fills the answer, and gives what backward returned, where that was heard
    """
    raw: Any = None
    answer = Answer()
    with contextlib.suppress(Exception), errors_only(), recorded(files) as operations:
        raw = run(answer)
    known: dict[tuple[Operation, int], Value] = {}
    ran: Counter[str] = Counter()
    for operation in operations.all:
        ran[operation.name] += 1
        places = [p for p in operation.given if isinstance(p, Place)]
        origins = [o for p in places for o in operations.origins(p, operation.order)]
        given = tuple(dict.fromkeys(known[o] for o in origins))
        text = linecache.getline(operation.file, operation.line or 0).strip()
        for which, made in enumerate(operation.results):
            if made is not None:
                known[operation, which] = Value(
                    made.values,
                    operation.line,
                    given,
                    text,
                    operation.name + "[]" * ([] in operation.call[1][1:2]),
                    str(made.dtype).removeprefix("torch."),
                    (ran[operation.name], which),
                    operation.spans,
                    made.storage in {p.storage for p in places}
                    and not operation.call[0]._schema.is_mutable,
                )
    results: dict[tuple[str, int], Value] = {}
    ends = {("output", k): t for k, t in enumerate(answer.outputs or ())}
    ends |= {("gradient", i): t for i, t in zip(question.wants, answer.gradients or (), strict=False)}  # fmt: skip
    ends |= {("gradient", i): t for i, t in enumerate(raw or ()) if isinstance(t, Tensor)}
    ends |= {("second", i): t for i, t in zip(question.wants, answer.second or (), strict=False)}
    tensors = {at: t for at, t in ends.items() if isinstance(t, Tensor) and placed(t) is not None}
    for at, tensor in tensors.items():
        place = placed(tensor)
        assert place is not None
        origins = operations.origins(place, len(operations.all) + 1)
        given = tuple(dict.fromkeys(known[o] for o in origins))
        results[at] = Value(place.values, None, given)
    return Flow(results, tuple(known.values()), operations, tensors)


# ---- runs in which one value is another ------------------------------------------------------------

Given = Mapping[str, Any]


class Looking(Framed):
    """Looks at each result of one operation; ``ran``: how often it has run. torch copies more, or less, where it is watched."""

    def __init__(self, op: str) -> None:
        super().__init__()
        self.op, self.ran = op.removesuffix("[]"), 0

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = func(*args, **kwargs)
        if name_of(func) == self.op:
            self.ran += 1
            return self.seen(func, result)
        return result

    def seen(self, func: Any, result: Any) -> Any:
        """What comes out in its place."""
        raise NotImplementedError


class Replaced(Looking):
    """Puts other numbers, in their own shape, in the place of a value: what would have come of them?"""

    def __init__(self, value: Value, numbers: Array) -> None:
        super().__init__(value.op)
        self.made, self.numbers = value.made, numbers

    def seen(self, func: Any, result: Any) -> Any:
        if self.made is None or self.ran != self.made[0]:
            return result
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)][self.made[1]]
        return _instead_of(made, torch.from_numpy(self.numbers), func, result)


class Rewritten(Looking):
    """Puts what another expression gives in the place of one, each time that a value is made there.

    span   where the expression stands: one of the value's
    given  further names: the arguments by those of the contract
    stops  whether it gave none once
    """

    def __init__(self, value: Value, span: Span, given: Given, text: str = "") -> None:
        super().__init__(value.op)
        self.value, self.span, self.given, self.text = value, span, given, text
        self.stops = False

    def seen(self, func: Any, result: Any) -> Any:
        frames = (f for f in self.frames() if f.f_code.co_filename == self.span.file)
        frame = next((f for f in frames if span_of(f) == self.span), None)
        if frame is None or not isinstance(result, Tensor) or func._schema.is_mutable:
            return result
        numbers = self.computing(frame)
        self.stops = self.stops or numbers is None
        return result if numbers is None else _instead_of(result, numbers, func, result)

    def computing(self, frame: FrameType) -> Tensor | None:
        """What is put there instead, where the expression is computed; None: nothing."""
        return self.computed(self.text, frame)

    def computed(self, text: str, frame: FrameType) -> Tensor | None:
        """What an expression gives; None where it stops."""
        try:
            made = eval(text, frame.f_globals, {**self.given, **frame.f_locals})
        except Exception:  # most of what is tried makes no sense
            return None
        return made.detach() if isinstance(made, Tensor) else None


class Tried(Rewritten):
    """What other expressions give there at the moment of the value, in a run which they do not change.

    others  what to try, where these names stand for numbers and tensors: pairs of anything and an expression
    found   with what each gives
    """

    def __init__(
        self, value: Value, span: Span, given: Given,
        others: Callable[[Given], Iterable[tuple[Any, str]]],
    ) -> None:  # fmt: skip
        super().__init__(value, span, given)
        self.others, self.found = others, list[tuple[Any, str, Tensor]]()

    def computing(self, frame: FrameType) -> None:
        if self.value.made is not None and self.ran == self.value.made[0]:
            for what, text in self.others(_known(self.given, frame)):
                if (numbers := self.computed(text, frame)) is not None:
                    self.found.append((what, text, numbers))


def _instead_of(made: Tensor, numbers: Tensor, func: Any, result: Any) -> Any:
    """A result of an operation with these numbers in the place of one tensor; what is written to keeps its place."""
    if func._schema.is_mutable:
        return (
            made.copy_(numbers.reshape(made.shape)) if made.numel() == numbers.numel() else result
        )
    new = numbers.to(made.device, made.dtype, copy=True)
    return tree_map_only(Tensor, lambda leaf: new if leaf is made else leaf, result)


def _known(given: Given, frame: FrameType) -> dict[str, Any]:
    """The numbers and floating tensors by name, those on ctx among them."""
    known: dict[str, Any] = {}
    for name, value in {**given, **frame.f_locals}.items():
        if isinstance(value, torch.autograd.function.FunctionCtx):
            known |= {f"{name}.{each}": v for each, v in vars(value).items()}
        else:
            known[name] = value
    return {name: value for name, value in known.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.is_floating_point() and value.numel() <= LARGEST
    return isinstance(value, int | float) and not isinstance(value, bool)
