"""What a trace holds: one run of Function classes as plain data."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from autograder.lineage import Cut
from autograder.snapshot import Snapshot


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
    input_ids: list[int] = field(default_factory=list)
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
