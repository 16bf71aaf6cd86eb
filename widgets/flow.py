"""gradient_flow: a small graph with its values forward and its gradients backward, step by step.

Every number comes from running the operations, one at a time: forward on what came before, backward
with the upstream gradient that has arrived. So the learner's own Functions can stand in the graph.
"""

import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.friendly_error import refusal
from widgets.cells import Cells, cells_of, upright
from widgets.local import local_derivatives
from widgets.steps import LEAF, OWN, TORCH, Part, Step, StepThrough, Walk
from widgets.trace import snapshot
from widgets.wording import numbers, stopped
from widgets.xray_moves import fresh, moves_of


@dataclass(frozen=True)
class Operation:
    """One box of the graph.

    name   what stands in it; later operations refer to it by that
    call   a Function class, its apply, or any function of tensors
    of     names of inputs or earlier operations, one for each argument
    local  the local derivative in symbols, one for each argument, with {x} for the value of x: "2 × {x}"
    """

    name: str
    call: Any
    of: tuple[str, ...]
    local: tuple[str, ...] = ()


def gradient_flow(
    inputs: Mapping[str, Any] | None = None, operations: Sequence[Operation] | None = None
) -> StepThrough:
    """Show how values go forward and gradients come back through a small graph.

    Args:
        inputs: numbers or tensors by name; x = 2 and y = 3 by default.
        operations: the boxes in the order of the forward pass; the last one is the loss. By default
            x → Square, y → ReLU, both → Add → Loss.

    Raises:
        ValueError: for a name that is used twice or not there yet. What an operation raises is shown
            as the last step.
    """
    given = {"x": 2.0, "y": 3.0} if inputs is None else dict(inputs)
    return StepThrough(
        walk_of_flow(given, default_operations() if operations is None else operations)
    )


def default_operations(square: Any = torch.square, relu: Any = torch.relu) -> tuple[Operation, ...]:
    """x → Square, y → ReLU, both → Add → Loss; with other Functions for the first two, if given."""
    return (
        Operation("Square", square, ("x",), ("2 × {x}",)),
        Operation("ReLU", relu, ("y",)),
        Operation("Add", torch.add, ("Square", "ReLU")),
        Operation("Loss", torch.sum, ("Add",)),
    )


def walk_of_flow(inputs: Mapping[str, Any], operations: Sequence[Operation]) -> Walk:
    """The graph and its steps: inputs, each operation forward, each operation backward."""
    _refuse_unknown_names(inputs, operations)
    edges = tuple((source, one.name) for one in operations for source in one.of)
    parts = [Part(name, name, LEAF) for name in inputs]
    parts += [Part(one.name, one.name, OWN if _is_own(one.call) else TORCH) for one in operations]
    walked = _Flow({name: torch.as_tensor(value).detach() for name, value in inputs.items()})
    try:
        walked.forward(operations)
        walked.backward(operations)
    except Exception as error:
        walked.steps.append(Step("Error", f"{walked.at} {stopped(error)}", walked.at, wrong=True))
        error.__traceback__ = None
    moves = [
        move
        for part in parts
        for cells in walked.steps[0].forward.get(part.key, ())
        for move in moves_of(part, "forward", part.label, walked.values[part.key], cells)
    ]

    def moved(name: str, index: int, value: float) -> Walk:
        changed = fresh(
            [walked.values[one] for one in inputs], list(inputs), {(name, index): value}
        )
        with contextlib.redirect_stdout(io.StringIO()):
            return walk_of_flow(dict(zip(inputs, changed, strict=True)), operations)

    title = "Values forward, gradients backward"
    return Walk(title, tuple(parts), edges, tuple(walked.steps), moves=tuple(moves), moved=moved)


@dataclass
class _Flow:
    """Runs the operations one by one and notes a step for each."""

    values: dict[str, Tensor]
    gradients: dict[str, Tensor] = field(default_factory=dict)
    graphs: dict[str, tuple[list[Tensor], Tensor]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    at: str = ""

    def cells(self, caption: str, value: Tensor) -> tuple[Cells, ...]:
        return cells_of(caption, value, upright(list(self.values.values())))

    def forward(self, operations: Sequence[Operation]) -> None:
        words = ", ".join(f"`{name}` = {_numbers(value)}" for name, value in self.values.items())
        under = {name: self.cells("value", value) for name, value in self.values.items()}
        self.steps.append(Step("Forward", f"The inputs are {words}.", forward=under))
        for one in operations:
            self.at = one.name
            arguments = [_leaf(self.values[name]) for name in one.of]
            with torch.enable_grad():
                result = _function(one.call)(*arguments)
            self.graphs[one.name] = (arguments, result)
            self.values[one.name] = result.detach()
            made_of = ", ".join(_numbers(a.detach()) for a in arguments)
            self.steps.append(
                Step(
                    "Forward",
                    f"{one.name} of {made_of} is {_numbers(result.detach())}.",
                    one.name,
                    (one.of[0], one.name) if len(one.of) == 1 else None,
                    forward={one.name: self.cells("value", result)},
                )
            )

    def backward(self, operations: Sequence[Operation]) -> None:
        last = operations[-1].name
        self.gradients[last] = torch.ones_like(self.values[last])
        for one in reversed(operations):
            if one.name in self.gradients:
                self.at = one.name
                self.steps.append(self.one_back(one, first=one.name == last))

    def one_back(self, one: Operation, first: bool) -> Step:
        """The vector–Jacobian product of one operation, added to what its inputs have already."""
        upstream = self.gradients[one.name]
        arguments, result = self.graphs[one.name]
        wanted = {i: a for i, a in enumerate(arguments) if a.requires_grad}
        every = torch.autograd.grad(result, list(wanted.values()), upstream, allow_unused=True)
        found = dict(zip(wanted, every, strict=True))
        locals_ = local_derivatives(_function(one.call), arguments, found, upstream)
        words, under = [], {one.name: self.cells("gradient", upstream)}
        for position, source in enumerate(one.of):
            gradient = found.get(position)
            if gradient is None:
                continue
            before = self.gradients.get(source)
            self.gradients[source] = gradient if before is None else before + gradient
            words.append(self.sentence(one, position, upstream, gradient, locals_))
            if before is not None:
                words[-1] += f", added to {_numbers(before)}: {_numbers(self.gradients[source])}"
            under[source] = self.cells("gradient", self.gradients[source])
        local = {one.of[i]: self.cells("× local", value) for i, value in locals_.items()}
        start = "The loss has the gradient 1 with respect to itself. " if first else ""
        end = "; ".join(words) or "no input of it wants a gradient"
        text = f"{start}{one.name} gets {_numbers(upstream)}. {end[0].upper()}{end[1:]}."
        line = (one.of[0], one.name) if len(one.of) == 1 else None
        return Step("Backward", text, one.name, line, back=True, backward=under, local=local)

    def sentence(
        self,
        one: Operation,
        position: int,
        upstream: Tensor,
        gradient: Tensor,
        locals_: Mapping[int, Tensor],
    ) -> str:
        """ "to x goes 1 × 2 × 2 = 4"."""
        source = one.of[position]
        local = locals_.get(position)
        if local is None or local.dim():
            return f"to `{source}` goes {_numbers(gradient)}"
        known = {name: _numbers(value) for name, value in self.values.items()}
        symbols = one.local[position] if position < len(one.local) else ""
        factor = symbols.format(**known) if symbols else _numbers(local)
        return f"to `{source}` goes {_numbers(upstream)} × {factor} = {_numbers(gradient)}"


def _refuse_unknown_names(inputs: Mapping[str, Any], operations: Sequence[Operation]) -> None:
    if not operations:
        raise refusal("gradient_flow needs at least one operation.")
    known = set(inputs)
    for one in operations:
        for name in one.of:
            if name not in known:
                raise refusal(f"{one.name} uses {name!r}, which does not come before it.")
        if one.name in known:
            raise refusal(f"Two boxes are called {one.name!r}.")
        known.add(one.name)


def _is_own(call: Any) -> bool:
    owner = getattr(call, "__self__", call)
    return isinstance(owner, type) and issubclass(owner, Function)


def _function(call: Any) -> Callable[..., Tensor]:
    return call.apply if isinstance(call, type) and issubclass(call, Function) else call


def _leaf(value: Tensor) -> Tensor:
    copy = value.detach().clone()
    return copy.requires_grad_(copy.is_floating_point())


def _numbers(value: Tensor) -> str:
    return numbers(snapshot(value))
