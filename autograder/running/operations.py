"""Every operation of one run, with its numbers: which others each was computed from.

Only for a run that has already failed: each tensor is copied before and after each operation.
A number is found again by where it lies in memory, which views of it share.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from autograder.observation.syntax import Span
from autograder.running.watching import Framed

LARGEST = 4096  # elements of a tensor; larger ones are not followed
MOST = 2000  # operations

Array = np.ndarray[Any, Any]
_PICKS = frozenset({"where", "masked_fill"})  # each number is that of one argument


@dataclass
class Place:
    """Where a tensor's numbers lay: the storage, and the offset of each in it; with their values."""

    storage: int
    offsets: Array
    values: Array
    dtype: torch.dtype

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


@dataclass(frozen=True)
class Number:
    """One number on its way: its value, where it lay, and before which operation it was read."""

    value: float
    storage: int = 0
    offset: int = -1
    before: int = 0


@dataclass(eq=False)
class Operation:
    """One operation as it ran.

    call      what ran, with its arguments, which are held so that no two tensors share a place
    line      the learner's line that called it, or whose derivative it is part of; None: nobody knows
    file      the file of that line
    again     it is part of the derivative of that line, and not called by it
    spans     the expressions that called it: of that line, of what called the function there, and so on
    tensors   those it was given
    given     the same as they lay before it ran (None: not followed), and the numbers of x ** 2
    made      the tensors that came out; results: the same as they lay afterwards
    """

    order: int
    call: tuple[Any, tuple[Any, ...], dict[str, Any]]
    file: str
    line: int | None
    again: bool
    spans: tuple[Span, ...] = ()
    tensors: list[Tensor] = field(default_factory=list)
    given: list[Place | Number | None] = field(default_factory=list)
    made: list[Tensor] = field(default_factory=list)
    results: list[Place | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        func, args, kwargs = self.call
        arguments = {each.name: each for each in func._schema.arguments}
        bound = [*zip(arguments.values(), args, strict=False)]
        for argument, value in bound + [(arguments[name], v) for name, v in kwargs.items()]:
            a_number = argument.name != "alpha" and "int" not in str(argument.type)
            for leaf in tree_leaves(value):
                if isinstance(leaf, Tensor):
                    self.tensors.append(leaf)
                    self.given.append(placed(leaf))
                elif a_number and type(leaf) in (int, float):
                    self.given.append(Number(float(leaf)))

    @property
    def name(self) -> str:
        """ "add" for aten::add.Tensor and for aten::add_.Tensor."""
        return name_of(self.call[0])

    def slopes(self, which: int, flat: int) -> list[Tensor | None]:
        """The derivatives of one element of a result, by tensor: which numbers it was made of.

        They are not those of the numbers themselves, of which many have slope 0, nor of equal ones,
        whose maximum is anywhere: in place of each number stands its rank.
        """
        places = [each for each in self.given if not isinstance(each, Number)]
        ranked = iter([place and place.ranked() for place in places])
        leaves: list[Any] = []

        def stand_in(tensor: Tensor) -> Any:
            leaf: Any = next(ranked)
            leaves.append(leaf)
            # Not the leaf itself: the operation may write to it.
            return tensor if leaf is None else leaf.clone()

        func, args, kwargs = self.call
        try:
            with torch.enable_grad():
                result = func(*tree_map_only(Tensor, stand_in, args), **tree_map_only(Tensor, stand_in, kwargs))  # fmt: skip
            made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)][which]
            wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
            found = iter(torch.autograd.grad(made.reshape(-1)[flat], wanted, allow_unused=True))
        except (RuntimeError, TypeError, ValueError, NotImplementedError):  # it has no derivative
            return [None] * len(places)
        return [next(found) if leaf is not None and leaf.requires_grad else None for leaf in leaves]


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a number came from: the operation, and the numbers that it was computed from.

    sources  in the order of the arguments
    """

    value: float
    operation: Operation
    sources: list[Number]


def span_of(frame: FrameType) -> Span | None:
    """The expression that a frame is at."""
    code = frame.f_code
    found = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,))
    return None if None in found else Span(code.co_filename, *found)


def name_of(func: Any) -> str:
    """ "add" for aten::add.Tensor and for aten::add_.Tensor."""
    name = str(func._schema.name).partition("::")[2]
    return name.removesuffix("_") or name


class Operations(Framed):
    """Records the operations that run while it is on, the one that raised included.

    files  the files of the learner's code
    """

    def __init__(self, files: frozenset[str]) -> None:
        super().__init__()
        self.files = files
        self.all: list[Operation] = []
        self.error: str | None = None  # the words of the one in which the last operation ended
        self._writers: dict[int, list[tuple[Operation, int]]] = {}
        self._views: dict[tuple[Any, ...], list[tuple[Operation, int]]] = {}
        self._origins: dict[tuple[Operation, int, int], Origin] = {}

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(self.all) >= MOST:
            return func(*args, **kwargs)
        operation = Operation(len(self.all) + 1, (func, args, kwargs), *self._line())
        self.all.append(operation)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self.error = str(error)
            raise
        self.error = None
        operation.made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        operation.results = [*map(placed, operation.made)]
        given = [place for place in operation.given if isinstance(place, Place)]
        for which, place in enumerate(operation.results):
            if place is None:
                continue
            if func._schema.is_mutable or place.storage not in {g.storage for g in given}:
                self._writers.setdefault(place.storage, []).append((operation, which))
            elif place.key not in {g.key for g in given}:  # another view
                self._views.setdefault(place.key, []).append((operation, which))
        return result

    def _line(self) -> tuple[str, int | None, bool, tuple[Span, ...]]:
        own = [frame for frame in self.frames() if frame.f_code.co_filename in self.files]
        if own:
            spans = tuple(filter(None, map(span_of, own)))
            return own[0].f_code.co_filename, own[0].f_lineno, False, spans
        node: Any = torch._C._current_autograd_node()
        said = "".join((node.metadata if node is not None else {}).get("traceback_") or ())
        for file, line in reversed(re.findall(r'File "([^"]+)", line (\d+)', said)):
            if file in self.files:
                return file, int(line), True, ()
        return "", None, True, ()

    def shaped(self, tensor: Tensor, before: int) -> Operation | None:
        """The operation that gave a tensor its shape; what was saved is another object in the same place."""
        place = tensor.data_ptr(), tensor.shape
        earlier = reversed(self.all[: before - 1])
        return next((o for o in earlier if any((m.data_ptr(), m.shape) == place for m in o.made)), None)  # fmt: skip

    # ---- from a number to what it was computed from -----------------------------------------
    def number(self, tensor: Tensor, index: int) -> Number:
        """One element of a tensor that is still alive, as it was at the end."""
        place = placed(tensor)
        assert place is not None
        return _at(place, index, len(self.all) + 1)

    def origin(self, number: Number) -> Origin | None:
        """The operation that wrote a number; None: it was given."""
        for operation, which in reversed(self._writers.get(number.storage, [])):
            place = operation.results[which]
            if operation.order < number.before and place is not None:
                found = np.flatnonzero(place.offsets.reshape(-1) == number.offset)
                if len(found):
                    key = operation, which, int(found[0])
                    if key not in self._origins:
                        value = float(place.values.reshape(-1)[found[0]])
                        self._origins[key] = Origin(value, operation, self._sources(*key))
                    return self._origins[key]
        return None

    def origins(self, place: Place, before: int) -> list[tuple[Operation, int]]:
        """The same, or the operation that made this view of it, where nothing was written since."""
        written = self.written(place, before)
        since = max((operation.order for operation, _ in written), default=0)
        views = [v for v in self._views.get(place.key, []) if since < v[0].order < before]
        return views[-1:] or written

    def written(self, place: Place, before: int) -> list[tuple[Operation, int]]:
        """The operations, and which of their results, that wrote what a tensor held at a time."""
        left, found = np.unique(place.offsets), []
        for operation, which in reversed(self._writers.get(place.storage, [])):
            result = operation.results[which]
            if operation.order < before and len(left) and result is not None:
                here = np.isin(left, result.offsets)
                if here.any():
                    found.append((operation, which))
                    left = left[~here]
        return found

    def _sources(self, operation: Operation, which: int, flat: int) -> list[Number]:
        if operation.name.endswith("_like") or operation.name.startswith("new_"):
            return []  # made beside a tensor, and not of its numbers
        shape, order, given = operation.made[which].shape, operation.order, operation.given
        index = np.unravel_index(flat, shape)
        if torch.Tag.pointwise in operation.call[0].tags and operation.name not in _PICKS:
            return [_element(each, index, order) for each in given if each is not None]
        numbers = [each for each in given if isinstance(each, Number)]
        places = [each for each in given if not isinstance(each, Number)]
        found = [
            _at(place, int(element), order)
            for place, slope in zip(places, operation.slopes(which, flat), strict=True)
            if place is not None and slope is not None
            for element in slope.reshape(-1).nonzero().reshape(-1)
        ]
        if not found and not numbers and len(places) == 1 and places[0] is not None:
            alike = operation.tensors[0].shape == shape  # x.int()
            return [_element(places[0], index, order)] if alike else []
        return found or numbers  # x[mask] = number


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


def _at(place: Place, flat: int, before: int) -> Number:
    value, offset = place.values.reshape(-1)[flat], place.offsets.reshape(-1)[flat]
    return Number(float(value), place.storage, int(offset), before)


def _element(place: Place | Number, index: Any, before: int) -> Number:
    """The element that meets ``index`` of a result that the tensor is broadcast to."""
    if isinstance(place, Number):
        return place
    shape = place.values.shape
    tail = index[len(index) - len(shape) :] if shape else ()
    at = tuple(0 if size == 1 else int(i) for size, i in zip(shape, tail, strict=True))
    return Number(float(place.values[at]), place.storage, int(place.offsets[at]), before)
