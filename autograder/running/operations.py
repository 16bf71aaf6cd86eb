"""Every operation of one run, with its numbers: which others each was computed from.

Only for a run that has already failed: each tensor is copied before and after each operation.
A number is found again by where it lies in memory, which views of it share.
"""

from __future__ import annotations

import contextlib
import linecache
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.utils._pytree import tree_leaves

from autograder.observation.syntax import Span, code_at
from autograder.running.watching import Framed, name_of

LARGEST = 4096  # elements of a tensor; larger ones are not followed
MOST = 2000  # operations

Array = np.ndarray[Any, Any]


@dataclass(eq=False)
class Place:
    """Where a tensor's numbers lay: the storage, and the offset of each in it; with their values.

    held  the values of operations that lay there, the latest first
    """

    storage: int
    offsets: Array
    values: Array
    dtype: torch.dtype
    held: tuple[Value, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for tensors that lie in the same place in the same order and shape."""
        return self.storage, self.offsets.shape, self.offsets.tobytes()

    def ranked(self) -> Tensor:
        """Numbers between ½ and 1½ in the same order; what is no floating number as it is."""
        if not self.dtype.is_floating_point:
            return torch.from_numpy(self.values).to(self.dtype)
        _, ranks = np.unique(self.values, return_inverse=True)
        numbers = 0.5 + ranks.reshape(self.values.shape) / (ranks.max(initial=0) + 1)
        return torch.from_numpy(np.asarray(numbers)).requires_grad_()

    def number(self, flat: int) -> Number:
        """One of them."""
        value, offset = self.values.reshape(-1)[flat], self.offsets.reshape(-1)[flat]
        return Number(float(value), self.storage, int(offset), self.held)

    def meets(self, index: Any) -> Number:
        """The one that meets ``index`` of a result that the tensor is broadcast to."""
        shape = self.values.shape
        tail = index[len(index) - len(shape) :]
        at = [0 if size == 1 else int(i) for size, i in zip(shape, tail, strict=True)]
        return self.number(int(np.ravel_multi_index(at, shape)) if shape else 0)


@dataclass(frozen=True)
class Number:
    """One number on its way: its value, and where it lay; with the values of operations that lay there."""

    value: float
    storage: int = 0
    offset: int = -1
    held: tuple[Value, ...] = ()

    def meets(self, index: Any) -> Number:
        """It is the same everywhere."""
        return self


@dataclass(eq=False)
class Operation:
    """One operation as it ran.

    made      the tensors that came out; values: what they held afterwards (None: not followed)
    call      what ran, with its arguments, which are held so that no two tensors share a place
    line      the learner's line that called it, or whose derivative it is part of; None: nobody knows
    file      the file of that line
    again     it is part of the derivative of that line, and not called by it
    spans     the expressions that called it: of that line, of what called the function there, and so on
    inside    the same expression ran another right after it: it may be a step of a function in C++
    late      it ran in a backward pass
    given     the tensors as they lay before it ran (None: not followed), and the numbers of x ** 2
    """

    order: int
    call: tuple[Any, tuple[Any, ...], dict[str, Any]]
    file: str
    line: int | None
    again: bool
    spans: tuple[Span, ...] = ()
    inside: bool = False
    late: bool = False
    given: list[Place | Number | None] = field(default_factory=list)
    made: list[Tensor] = field(default_factory=list)
    values: list[Value | None] = field(default_factory=list)

    @property
    def name(self) -> str:
        """ "add" for aten::add.Tensor and for aten::add_.Tensor."""
        return name_of(self.call[0])


@dataclass(frozen=True, eq=False)
class Read:
    """A name that stands for a tensor which no operation of the same pass made: saved, handed on, a constant.

    span  where it is read first
    uses  the operations that take it, each the how many-th of its name, and the place among their tensors
    """

    name: str
    span: Span
    uses: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Value:
    """What one operation gave, or a name stands for, or a run ends with.

    given  the values of other operations that it was computed from
    text   of the learner's line
    op     the operation: "mul", "bitwise_and", "sum[]" over an empty list of dimensions; "read"; "" for what
           a run ends with
    made   the how many-th operation of its name made it, and which of its results it is; None: nothing made it
    view   it has the numbers of another value, in other places
    """

    given: tuple[Value, ...]
    place: Place
    operation: Operation | None = None
    text: str = ""
    op: str = ""
    made: tuple[int, int] | None = None
    view: bool = False
    read: Read | None = None

    @property
    def numbers(self) -> Array:
        return self.place.values

    @property
    def line(self) -> int | None:
        """The learner's line that called it, or whose derivative it is part of; None: nobody knows."""
        return self.read.span.line if self.read else self.operation.line if self.operation else None

    @property
    def spans(self) -> tuple[Span, ...]:
        """The expressions that gave it: the innermost, then the call of the function that it stands in, and so on."""
        return self.operation.spans if self.operation else ()

    @property
    def dtype(self) -> str:
        """ "float64"; "bool" for a mask; "" for what a run ends with."""
        return str(self.place.dtype).removeprefix("torch.") if self.op else ""

    @property
    def mask(self) -> bool:
        """Whether it is made of True and False."""
        return self.dtype == "bool"

    @property
    def exchangeable(self) -> bool:
        """Whether other numbers may be put in its place."""
        return bool(self.made or self.read) and (self.mask or "float" in self.dtype)

    @property
    def code(self) -> str:
        """The expression that gave it, or its name; where nobody knows that, its line."""
        return (
            self.read.name
            if self.read
            else code_at(self.spans[0])
            if self.spans
            else self.text.removeprefix("return ")
        )


def tensors_in(result: Any) -> list[Tensor]:
    """Those that an operation gave."""
    return [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]


def span_of(frame: FrameType) -> Span | None:
    """The expression that a frame is at."""
    code = frame.f_code
    found = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,))
    return None if None in found else Span(code.co_filename, *found)


def whole_numbers(result: Any) -> list[Any]:
    """What of a result may be a place, a size or a branch to code that is not torch's: whole numbers, and those of Python."""
    leaves = (each for each in tree_leaves(result) if each is not None)
    return [
        each.detach().clone() if isinstance(each, Tensor) else each
        for each in leaves
        if not isinstance(each, Tensor) or not (each.dtype.is_floating_point or each.dtype.is_complex or each.dtype == torch.bool)
    ]  # fmt: skip


class Operations(Framed):
    """Records the operations that run while it is on, the one that raised included.

    files  the files of the learner's code
    whole  the whole numbers that they gave, in their order
    """

    def __init__(self, files: frozenset[str]) -> None:
        super().__init__()
        self.files = files
        self.all: list[Operation] = []
        self.whole: list[Any] = []
        self.error: str | None = None  # the words of the one in which the last operation ended
        self._ran: Counter[str] = Counter()
        self._in: dict[int, list[Value]] = defaultdict(list)  # by storage, in their order
        self._read: dict[Any, Value] = {}

    @property
    def values(self) -> list[Value]:
        """All that were made or read, in their order."""
        found: dict[Value, None] = {}
        for each in self.all:
            given = (v for place in each.given if isinstance(place, Place) for v in place.held)
            found |= dict.fromkeys(v for v in given if v.read)
            found |= dict.fromkeys(v for v in each.values if v is not None)
        return [*found]

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(self.all) >= MOST:
            return func(*args, **kwargs)
        own = [frame for frame in self.frames() if frame.f_code.co_filename in self.files]
        node = torch._C._current_autograd_node()
        operation = Operation(
            len(self.all) + 1, (func, args, kwargs), *self._line(own, node), late=node is not None
        )
        if self.all and operation.spans:
            self.all[-1].inside = self.all[-1].spans == operation.spans
        self.all.append(operation)
        self._ran[name := operation.name] += 1
        self._takes(operation, own[0] if own and not func._schema.is_mutable else None)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.error = str(error)
            raise
        self.error = None
        self.whole += whole_numbers(result)
        operation.made = tensors_in(result)
        given = [each for each in operation.given if isinstance(each, Place)]
        values = tuple(dict.fromkeys(value for place in given for value in place.held))
        text = linecache.getline(operation.file, operation.line or 0).strip()
        for which, place in enumerate(map(placed, operation.made)):
            if place is None:
                operation.values.append(None)
                continue
            view = not func._schema.is_mutable and place.storage in {g.storage for g in given}
            op = name + "[]" * ([] in args[1:2])
            value = Value(values, place, operation, text, op, (self._ran[name], which), view)
            operation.values.append(value)
            if not view or place.key not in {g.key for g in given}:
                self._in[place.storage].append(value)
        return result

    def _takes(self, operation: Operation, frame: FrameType | None) -> None:
        func, args, kwargs = operation.call
        tensors = 0
        arguments = {each.name: each for each in func._schema.arguments}
        bound = [*zip(arguments.values(), args, strict=False)]
        for argument, value in bound + [(arguments[name], v) for name, v in kwargs.items()]:
            a_number = argument.name != "alpha" and "int" not in str(argument.type)
            for leaf in tree_leaves(value):
                if isinstance(leaf, Tensor):
                    operation.given.append(place := self.placed(leaf))
                    if place is not None and frame is not None and operation.spans:
                        self._reads(operation, place, leaf, frame, tensors)
                    tensors += 1
                elif a_number and type(leaf) in (int, float):
                    operation.given.append(Number(float(leaf)))

    def _reads(self, operation: Operation, place: Place, tensor: Tensor, frame: FrameType, which: int) -> None:  # fmt: skip
        """Put a name between an operation and what it takes, where no operation of this pass made that."""
        code = frame.f_code
        made = [v.operation for v in place.held if v.operation is not None]
        if made and any(each.late == operation.late for each in made):
            return
        known = [*frame.f_locals.items(), *((n, frame.f_globals.get(n)) for n in code.co_names)]
        known += [(f"ctx.{n}", t) for c in frame.f_locals.values() if isinstance(c, FunctionCtx) for n, t in vars(c).items()]  # fmt: skip
        text = code_at(operation.spans[0])
        names = [n for n, value in known if value is tensor and re.search(rf"\b{n}\b", text)]
        name = names[-1] if names else None
        if name is None or name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            return
        read = Value(place.held, place, op="read", read=Read(name, operation.spans[0]))
        read = self._read.setdefault((code, name, place.key), read)
        assert read.read is not None
        read.read.uses.append((operation.name, self._ran[operation.name], which))
        place.held = (read,)

    def _line(self, own: list[FrameType], node: Any) -> tuple[str, int | None, bool, tuple[Span, ...]]:  # fmt: skip
        if own:
            spans = tuple(filter(None, map(span_of, own)))
            return own[0].f_code.co_filename, own[0].f_lineno, False, spans
        said = "".join((node.metadata if node is not None else {}).get("traceback_") or ())
        for file, line in reversed(re.findall(r'File "([^"]+)", line (\d+)', said)):
            if file in self.files:
                return file, int(line), True, ()
        return "", None, True, ()

    def placed(self, tensor: Tensor) -> Place | None:
        """Where the numbers of a tensor lie now, and who put them there, or made this view where nothing was written since."""
        place = placed(tensor)
        if place is None:
            return None
        left, held = np.unique(place.offsets), list[Value]()
        for value in reversed(self._in[place.storage]):
            if value.view:
                if not held and value.place.key == place.key:
                    held.append(value)
                    break
            elif len(left) and (here := np.isin(left, value.place.offsets)).any():
                held.append(value)
                left = left[~here]
        place.held = tuple(held)
        return place


@contextlib.contextmanager
def recorded(files: frozenset[str]) -> Iterator[Operations]:
    """Record the operations of the block, those of derivatives with the lines that these are of.

    Anomaly mode notes in which line each node of the graph was made.
    """
    before = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    operations = Operations(files)
    try:
        with operations:
            yield operations
    finally:
        torch.autograd.set_detect_anomaly(*before)


def placed(tensor: Tensor) -> Place | None:
    """Where the numbers of a tensor lie; None for what is too large to follow, or has none."""
    strided = tensor.layout == torch.strided and not tensor.is_meta and not tensor.is_complex()
    if not strided or tensor.numel() > LARGEST:
        return None
    steps = np.asarray(tensor.stride(), dtype=np.int64)
    offsets = tensor.storage_offset() + np.tensordot(steps, np.indices(tuple(tensor.shape)), 1)
    values = tensor.detach().to("cpu", torch.float64, copy=True).numpy()
    return Place(tensor.untyped_storage()._cdata, np.asarray(offsets), values, tensor.dtype)
