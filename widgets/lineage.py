"""Where a second derivative loses sight of an input, seen while backward itself is recorded.

Autograd can differentiate a backward only along tensors that have a history. A saved intermediate
comes back without one, and so does what `detach`, `.data`, NumPy or `no_grad` give. Each operation
of such a backward is looked at on its way: where a tensor that has lost its history meets one that
has one, the walk back of the second derivative will end. What a trace holds of it is plain data."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from autograder.observation.snapshot import Moment, moment, storage_of

_LOSERS = frozenset({"detach", "detach_", "data", "grad"})  # grad: torch.autograd.grad, leaf.grad
_LEAVERS = frozenset({"numpy", "tolist", "item", "__array__"})
_MAKERS = frozenset({"as_tensor", "tensor", "from_numpy", "asarray"})
OUTSIDE = "outside torch"


@dataclass(frozen=True)
class Cut:
    """A tensor without history met one with a history.

    origin    where the history was lost: "saved[2]", "ctx.s", "detach", "no_grad", "outside torch"
    node      name and sequence number of the node of the graph that they met in; None: the tensor
              without history is all that this place had
    """

    origin: str
    node: tuple[str, int] | None


class Lineage(TorchFunctionMode):
    """Follows tensors without history through the operations of one backward. Changes nothing.

    Args:
        kept: what came out of forward without history: storage → the name it is kept under.
        guarded: runs one step of the tracer; errors in it never reach the learner's code.
    """

    def __init__(self, kept: Mapping[int, str], guarded: Callable[..., Any]) -> None:
        super().__init__()
        self.cuts: list[Cut] = []
        self._kept, self._guarded = kept, guarded
        self._known: dict[int, tuple[Tensor, frozenset[str]]] = {}  # by id; alive, so ids stay true
        self._left = False

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self._guarded(self._follow, _name_of(func), (args, kwargs), result)
        return result

    def finish(self, returned: Any) -> list[Cut]:
        """The cuts of the backward that returned this; forgets every tensor."""
        for value in tree_leaves(returned):
            if isinstance(value, Tensor) and not value.requires_grad:
                self.cuts += [Cut(origin, None) for origin in sorted(self._origins(value))]
        self._known.clear()
        return list(dict.fromkeys(self.cuts))

    def _follow(self, name: str, given: Any, result: Any) -> None:
        tensors = [value for value in tree_leaves(given) if isinstance(value, Tensor)]
        live = any(tensor.requires_grad for tensor in tensors)
        self._left = self._left or ((live or bool(self._known)) and name in _LEAVERS)
        lost = frozenset().union(*map(self._origins, tensors))
        for made in tree_leaves(result):
            if not isinstance(made, Tensor) or not _has_derivative(made):
                continue
            if made.requires_grad:
                node = made.grad_fn
                if node is not None and lost:
                    place = (node.name(), sequence_of(node))
                    self.cuts += [Cut(origin, place) for origin in sorted(lost)]
            elif origins := lost | self._lost_here(name, live, tensors):
                self._known[id(made)] = (made, origins)

    def _lost_here(self, name: str, live: bool, tensors: list[Tensor]) -> frozenset[str]:
        """Where an operation itself loses the history of what it was given."""
        if live and name in _LOSERS:
            return frozenset({name})
        if live and not torch.is_grad_enabled():
            return frozenset({"no_grad"})
        if self._left and not tensors and name in _MAKERS:
            return frozenset({OUTSIDE})
        return frozenset()

    def _origins(self, tensor: Tensor) -> frozenset[str]:
        if tensor.requires_grad or not _has_derivative(tensor):
            return frozenset()
        if id(tensor) in self._known:
            return self._known[id(tensor)][1]
        kept = self._kept.get(storage_of(tensor)[0])
        return frozenset() if kept is None else frozenset({kept})


def sequence_of(node: Any) -> int:
    """The number autograd gave a node when it was made; -1 where it has none."""
    number = getattr(node, "_sequence_nr", None)
    return int(number()) if callable(number) else -1


def _has_derivative(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _name_of(func: Any) -> str:
    """ "mul", "detach"; for a property such as `.data` the property's name."""
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        return getattr(getattr(func, "__self__", None), "__name__", name)
    return name


@dataclass
class Snapshot(Moment):
    """A tensor as it was at one moment."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    bytes: int
    storage: int
    storage_bytes: int
    requires_grad: bool


def snapshot(value: Any, keep: int | None = 12) -> Any:
    """A Snapshot of a tensor with at most ``keep`` values (None: all of them); other values as text."""
    now = moment(value, keep)
    if not isinstance(now, Moment):
        return now
    storage, storage_bytes = storage_of(value)
    return Snapshot(
        now.version, now.values, tuple(value.shape), str(value.dtype).removeprefix("torch."),
        str(value.device), value.numel() * value.element_size(), storage, storage_bytes,
        value.requires_grad,
    )  # fmt: skip


@dataclass
class Saved:
    """One tensor kept for backward: where (``saved[0]``, ``ctx.mask``), what it is, and a snapshot."""

    holder: str
    who: str
    snapshot: Snapshot | None


@dataclass
class Backward:
    """One call of backward, from the moment ``order`` to the moment ``ended`` (0: it never did).

    ``returned`` is what the learner's code returned, unrepaired.
    ``cuts`` are the places where a second derivative through this call loses sight of an input.
    """

    order: int
    ended: int = 0
    received: list[Snapshot | None] = field(default_factory=list)
    returned: list[Any] | None = None
    returned_type: str = ""
    grad_mode: bool = False
    needs: tuple[bool, ...] = ()
    upstream_changed: list[int] = field(default_factory=list)
    saved_changed: list[int] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    error: str | None = None


@dataclass
class Application:
    """One ``apply`` of one class. ``context`` is the id of its ctx, which is its node in the graph."""

    order: int
    cls: type
    name: str
    style: str
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    single: bool = True
    saved: list[Saved] = field(default_factory=list)
    attributes: list[Saved] = field(default_factory=list)
    plain_attributes: dict[str, str] = field(default_factory=dict)
    inputs_changed: list[int] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    error: str | None = None
    context: int = 0
    marked_dirty: int = 0


@dataclass
class Node:
    """One node of the graph that a backward walks.

    application  index of the application (in Trace.applications) whose backward it calls, or None
    next         (number of the next node, which of its outputs) per input; None: no gradient wanted
    leaf         a weak reference to the tensor whose .grad it adds to, or None
    sequence     the number autograd gave it when it was made; with the name, it says which node it is
    """

    number: int
    name: str
    application: int | None
    next: list[tuple[int, int] | None] = field(default_factory=list)
    leaf: weakref.ref[Tensor] | None = None
    sequence: int = -1


@dataclass
class Event:
    """One thing the engine did.

    kind       "starts": gradients are the upstream gradients, nodes the roots
               "receives", "sends": what a node was given and, repaired, what it handed on
               "accumulates": gradients are a leaf's .grad before, what was added, .grad after
               "ends" (gradients: what torch.autograd.grad returned), "error": text says which
    """

    order: int
    kind: str
    node: int | None = None
    gradients: list[Any] = field(default_factory=list)
    text: str = ""
    roots: list[int] = field(default_factory=list)


@dataclass
class Trace:
    """Everything that was recorded, in order. ``notes`` are what the tracer could not see, and why.

    ``nodes`` and ``events`` are what the engine did, where ``record`` was asked to watch it.
    """

    applications: list[Application] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock
