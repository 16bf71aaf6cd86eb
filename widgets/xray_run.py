"""Runs what xray is to show, forward and backward once or twice, and makes a walk of the trace."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from autograder.running import containment
from autograder.running.function_classes import files_of
from autograder.running.trace import Trace, record
from widgets.runs import argument_names, counting, parameters
from widgets.steps import Step, Walk
from widgets.wording import SAID
from widgets.xray_expected import Expected
from widgets.xray_steps import Story, safe_walk_of

NO_BACKWARD = "no output requires a gradient, so no backward can run"
REFUSES = frozenset({"refused", "right-or-refused", "not-judged"})


@dataclass(frozen=True)
class Run:
    """What is to be run.

    fn            as the learner passed it
    function      what is called
    title         of the walk
    arguments     copies, for this run alone
    upstream      None, a gradient, a tuple of them, or what makes them of the outputs
    expected      the right values, where they are known
    keep          values kept of each tensor; None for all
    directions    weights of the gradients in a second backward; 1, 2, 3, … where there are none
    second_order  what the exercise's contract says of second derivatives; "" without one
    live_upstream whether a second backward differentiates by grad_output, too
    mixed         whether a second backward is one of a sum with the cubes of the inputs
    between       arguments of another call, between forward and backward; () for none
    """

    fn: Any
    function: Callable[..., Any]
    title: str
    arguments: list[Any]
    upstream: Any = None
    expected: Expected | None = None
    keep: int | None = 12
    directions: Sequence[Tensor | None] = ()
    second_order: str = ""
    live_upstream: bool = True
    mixed: bool = False
    between: Sequence[Any] = ()

    @property
    def names(self) -> list[str]:
        """What the arguments are called."""
        known = argument_names(self.fn) if isinstance(self.fn, type) else parameters(self.function)
        return [*known, *(f"argument {i}" for i in range(len(known), len(self.arguments)))]

    def walk(self, order: int = 1) -> Walk:
        """Forward and backward under the tracer; what goes wrong becomes the last step."""
        known: dict[str, object] = {
            name: value
            for name, value in zip(self.names, self.arguments, strict=False)
            if isinstance(value, Tensor)
        }
        labels = _Labels()
        said, allowed = "", False
        recording = record(keep=self.keep, hold=True, engine=True)
        # A notebook that an error stops shows nothing; the error is what this is to show.
        with warnings.catch_warnings(), torch.enable_grad(), recording as trace:
            warnings.simplefilter("ignore")
            try:
                outputs = self._forward()
                if self.between:
                    self.function(*self.between)
                if order == 1:
                    torch.autograd.backward(*_asked(outputs, self.upstream))
                else:
                    labels = self._twice(outputs, known)
            except Exception as error:
                said = error_words(error, self.fn, trace)
                twice = order == 2 and isinstance(error, RuntimeError)
                allowed = twice and self.second_order in REFUSES and _was_recorded(trace)
                error.__traceback__ = None  # it would keep the learner's tensors alive
        story = Story(
            self.title, known, self.expected, said, allowed, labels.gradients, labels.asked
        )
        walk = safe_walk_of(trace, story)
        if order == 2 and self.second_order == "refused" and not said:
            text = "A second derivative came out. The contract says that every attempt is refused."
            walk = walk.with_last(Step("Not refused", text, wrong=True))
        return walk

    def _forward(self) -> tuple[Any, ...]:
        output = self.function(*self.arguments)
        return tuple(output) if isinstance(output, tuple | list) else (output,)

    def _twice(self, outputs: tuple[Any, ...], known: dict[str, object]) -> "_Labels":
        """Gradients with create_graph=True, and the gradients of those."""
        roots, upstream = _asked(outputs, self.upstream)
        given = [g.detach().clone().requires_grad_(self.live_upstream) for g in upstream]
        several = len(given) > 1
        words = [f"grad_output {i + 1}" if several else "grad_output" for i in range(len(given))]
        leaves = dict(zip(words, given, strict=True)) if self.live_upstream else {}
        known.update(leaves)
        wanted = {
            name: value
            for name, value in zip(self.names, self.arguments, strict=False)
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


def _asked(outputs: tuple[Any, ...], upstream: Any) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs that backward starts at, and their upstream gradients."""
    if callable(upstream):
        gradients = upstream(outputs)
    elif upstream is None:
        gradients = [counting(value) for value in outputs]
    else:
        gradients = list(upstream) if isinstance(upstream, tuple | list) else [upstream]
    pairs = [
        (value, gradient)
        for value, gradient in zip(outputs, gradients, strict=False)
        if isinstance(value, Tensor) and value.requires_grad and gradient is not None
    ]
    if not pairs:
        raise RuntimeError(NO_BACKWARD)
    return [value for value, _ in pairs], [gradient for _, gradient in pairs]


def _was_recorded(trace: Trace) -> bool:
    """Whether a backward was asked for with create_graph=True: then an error may be a refusal."""
    return any(call.grad_mode for app in trace.applications for call in app.backwards)
