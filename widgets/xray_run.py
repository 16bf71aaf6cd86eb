"""Runs what xray is to show, forward and backward once or twice, and makes a walk of the trace."""

import contextlib
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from autograder.contract.differentiation import Draws
from autograder.running import containment
from autograder.running.function_classes import files_of
from widgets.local import local_derivatives
from widgets.runs import argument_names, counting, parameters
from widgets.steps import Step, Walk
from widgets.trace import Trace, record
from widgets.wording import SAID
from widgets.xray_expected import Expected
from widgets.xray_moves import Moved, fresh, movable, output_names, whole
from widgets.xray_steps import Story, safe_walk_of

NO_BACKWARD = "no output requires a gradient, so no backward can run"
MOST_KEPT = 256  # values of a tensor: many more than are drawn
REFUSES = frozenset({"refused", "right-or-refused", "not-judged"})


@dataclass(frozen=True)
class Run:
    """What is to be run.

    fn            as the learner passed it
    function      what is called
    title         of the walk
    arguments     copied for each run
    upstream      None, a gradient, a tuple of them, or what makes them of the outputs
    expected      the right values for numbers that were moved and for the outputs that came, where they are known
    keep          values kept of each tensor; None for all
    directions    weights of the gradients in a second backward; 1, 2, 3, … where there are none
    second_order  what the exercise's contract says of second derivatives; "" without one
    live_upstream whether a second backward differentiates by grad_output, too
    mixed         whether a second backward is one of a sum with the cubes of the inputs
    between       arguments of another call, between forward and backward; () for none
    moved         numbers that were moved: (name of the argument or output, place) → value
    draws         the random numbers of every walk
    """

    fn: Any
    function: Callable[..., Any]
    title: str
    arguments: list[Any]
    upstream: Any = None
    expected: Callable[[Moved, Sequence[Any]], Expected] | None = None
    keep: int | None = MOST_KEPT
    directions: Sequence[Tensor | None] = ()
    second_order: str = ""
    live_upstream: bool = True
    mixed: bool = False
    between: Sequence[Any] = ()
    moved: Moved = field(default_factory=dict)
    draws: Draws = field(default_factory=Draws)

    @property
    def names(self) -> list[str]:
        """What the arguments are called."""
        known = argument_names(self.fn) if isinstance(self.fn, type) else parameters(self.function)
        return [*known, *(f"argument {i}" for i in range(len(known), len(self.arguments)))]

    def walk(self, order: int = 1) -> Walk:
        """Forward and backward under the tracer; what goes wrong becomes the last step.

        Every walk draws the same random numbers, and leaves the learner's as they are.
        """
        found = Draws()
        self.draws.again()
        try:
            return self._walk(order)
        finally:
            found.again()

    def _walk(self, order: int) -> Walk:
        arguments = fresh(self.arguments, self.names, self.moved)
        known: dict[str, object] = {
            name: value
            for name, value in zip(self.names, arguments, strict=False)
            if isinstance(value, Tensor)
        }
        labels = _Labels()
        said, allowed, outputs = "", False, ()
        recording = record(keep=self.keep, hold=True, engine=True)
        # A notebook that an error stops shows nothing; the error is what this is to show.
        with warnings.catch_warnings(), torch.enable_grad(), recording as trace:
            warnings.simplefilter("ignore")
            try:
                outputs = self._forward(arguments)
                if self.between:
                    self.function(*self.between)
                if order == 1:
                    torch.autograd.backward(*self._asked(outputs))
                else:
                    labels = self._twice(outputs, known, arguments)
            except Exception as error:
                said = error_words(error, self.fn, trace)
                twice = order == 2 and isinstance(error, RuntimeError)
                allowed = twice and self.second_order in REFUSES and _was_recorded(trace)
                error.__traceback__ = None  # it would keep the learner's tensors alive
        right = self.expected(self.moved, outputs) if self.expected is not None else None
        local = self._local(trace) if order == 1 and not said else {}
        story = Story(
            self.title, known, right, said, allowed, labels.gradients, labels.asked, local
        )
        walk = movable(safe_walk_of(trace, story), known, trace, order)
        walk = replace(walk, moved=partial(self._again, order=order))
        if order == 2 and self.second_order == "refused" and not said:
            text = "A second derivative came out. The contract says that every attempt is refused."
            walk = walk.with_last(Step("Not refused", text, wrong=True))
        return walk

    def _again(self, name: str, index: int, value: float, order: int) -> Walk:
        """The walk with one number moved; what the learner's code prints is said once, not again."""
        with contextlib.redirect_stdout(io.StringIO()):
            return replace(self, moved={**self.moved, (name, index): value}).walk(order)

    def _local(self, trace: Trace) -> dict[int, Tensor]:
        """Local derivatives, where a single Function stands between the leaves and the output."""
        alone = len(trace.applications) == 1 and sum(n.leaf is None for n in trace.nodes) == 1
        calls = trace.applications[0].backwards if alone and not self.between else []
        if len(calls) != 1:
            return {}
        returned = {i: whole(shot) for i, shot in enumerate(calls[0].returned or ())}
        upstream = [shot for shot in map(whole, calls[0].received) if shot is not None]
        given = fresh(self.arguments, self.names, self.moved)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            self.draws.again()
            return local_derivatives(self.function, given, returned, upstream[0])
        return {}

    def _forward(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        output = self.function(*arguments)
        return tuple(output) if isinstance(output, tuple | list) else (output,)

    def _asked(self, outputs: tuple[Any, ...]) -> tuple[list[Tensor], list[Tensor]]:
        """The outputs that backward starts at, and their upstream gradients."""
        if callable(self.upstream):
            gradients = self.upstream(outputs)
        elif self.upstream is None:
            gradients = [counting(value) for value in outputs]
        else:
            several = isinstance(self.upstream, tuple | list)
            gradients = list(self.upstream) if several else [self.upstream]
        if self.moved:
            gradients = fresh(gradients, output_names(len(outputs)), self.moved)
        pairs = [
            (value, gradient)
            for value, gradient in zip(outputs, gradients, strict=False)
            if isinstance(value, Tensor) and value.requires_grad and gradient is not None
        ]
        if not pairs:
            raise RuntimeError(NO_BACKWARD)
        return [value for value, _ in pairs], [gradient for _, gradient in pairs]

    def _twice(
        self, outputs: tuple[Any, ...], known: dict[str, object], arguments: Sequence[Any]
    ) -> "_Labels":
        """Gradients with create_graph=True, and the gradients of those."""
        roots, upstream = self._asked(outputs)
        given = [g.detach().clone().requires_grad_(self.live_upstream) for g in upstream]
        several = len(given) > 1
        words = [f"grad_output {i + 1}" if several else "grad_output" for i in range(len(given))]
        leaves = dict(zip(words, given, strict=True)) if self.live_upstream else {}
        known.update(leaves)
        wanted = {
            name: value
            for name, value in zip(self.names, arguments, strict=False)
            if isinstance(value, Tensor) and value.requires_grad
        }
        if self.mixed:
            terms = [(root * g).sum() for root, g in zip(roots, given, strict=True)]
            total = torch.stack([*terms, *((x**3).sum() for x in wanted.values())]).sum()
            roots, given = [total], [torch.ones_like(total)]
        first = torch.autograd.grad(
            roots, list(wanted.values()), given, create_graph=True, allow_unused=True
        )
        weights = [
            weight if weight is not None else counting(gradient)
            for weight, gradient in zip(self.directions or [None] * len(first), first, strict=True)
        ]
        every = [
            (name, gradient, weight)
            for name, gradient, weight in zip(wanted, first, weights, strict=True)
            if gradient is not None
        ]
        # Where none has a history, torch says so itself.
        usable = [one for one in every if one[1].requires_grad] or every
        labels = _Labels(tuple(name for name, _, _ in usable), (*wanted, *leaves))
        torch.autograd.grad(
            [gradient for _, gradient, _ in usable],
            [*wanted.values(), *leaves.values()],
            [torch.ones_like(g) if weight is None else weight for _, g, weight in usable],
            allow_unused=True,
        )
        return labels


@dataclass(frozen=True)
class _Labels:
    """Of a second backward: the gradients it starts at, and by what it differentiates them."""

    gradients: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


def error_words(error: Exception, fn: Any, trace: Trace) -> str:
    """One sentence: where it stopped, with what, and at which line of the learner's."""
    files = files_of(fn)
    failure = containment.failure_from(error, "call", files)
    if isinstance(error, NotImplementedError) and failure.own_frame and not failure.message:
        return f"`{failure.function}` is not written yet: it raises NotImplementedError."
    words = first_line(failure.kind, failure.message)
    if failure.own_frame and failure.line:
        source = failure.source.replace("`", "'")
        words += f" It happened in {failure.function}, line {failure.line}: `{source}`"
    return words


def first_line(kind: str, message: str) -> str:
    """An error in one sentence: its kind, and the first line of what it says."""
    first = message.splitlines()[0][:SAID].replace("`", "'").strip() if message.strip() else ""
    end = "" if first.endswith((".", "!", "?", ":", "…")) else "."
    return f"{kind}: {first}{end}" if first else f"{kind}."


def _was_recorded(trace: Trace) -> bool:
    """Whether a backward was asked for with create_graph=True: then an error may be a refusal."""
    return any(call.grad_mode for app in trace.applications for call in app.backwards)
