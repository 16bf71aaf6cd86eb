"""What was handed in, made callable in one way; what kind of thing it is, and what it is given."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import getattr_static
from types import CodeType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import FunctionCtx
from torch.utils._pytree import tree_leaves

from autograder.contract.ending import a_call
from autograder.contract.functions import resolve
from autograder.observation.observation import Named, Question
from autograder.observation.snapshot import dense
from autograder.observation.syntax import codes_of
from autograder.running.function_classes import files_of
from autograder.running.watching import METHODS, with_several_returns

FUNCTION_CLASS, OTHER_CLASS, INSTANCE, OTHER = "function-class", "class", "instance", "other"
OWN_APPLY = "function-class with an apply of its own"


@dataclass(frozen=True)
class Kind:
    """What kind of thing was handed in, as plain data.

    what  FUNCTION_CLASS, OWN_APPLY, OTHER_CLASS, INSTANCE (of a Function) or OTHER (functions among them)
    """

    what: str
    callable: bool
    type_name: str


def kind_of(value: Any) -> Kind:
    """Looks at the type only: nothing of the submission runs."""
    what = INSTANCE if isinstance(value, Function) else OTHER
    if isinstance(value, type):
        # Through an apply of its own, torch's way to forward and backward may not be taken.
        of_function = FUNCTION_CLASS if _applied_by_torch(value) else OWN_APPLY
        what = of_function if issubclass(value, Function) else OTHER_CLASS
    return Kind(what, callable(value), type(value).__name__)


def _applied_by_torch(value: Any) -> bool:
    """Whether it is a Function class without an apply of its own."""
    made = isinstance(value, type) and issubclass(value, Function)
    return made and getattr_static(value, "apply") is getattr_static(Function, "apply")


class Submission:
    """A Function class, or a callable that applies one, made callable in one way.

    A class with an apply of its own is such a callable: what it applies, and to what, is for it to say.
    """

    def __init__(self, value: Any):
        self.value = value
        owner = value if isinstance(value, type) else getattr(value, "__self__", None)
        of_class = isinstance(owner, type) and issubclass(owner, Function)
        self.is_class = _applied_by_torch(owner)
        written: Any = owner if of_class else value  # MySigmoid.apply says as much as MySigmoid
        self.target = written.apply if of_class and not self.is_class else written
        self.files = files_of(written)
        self.several_returns = with_several_returns(written)

    def __call__(self, *args: Any) -> Any:
        with a_call("forward"):
            return self.target.apply(*args) if self.is_class else self.target(*args)

    @property
    def opened(self) -> Callable[..., Any] | None:
        """The forward of a class as a plain function, which autograd sees into; None: it is no class."""
        if not self.is_class:
            return None
        split = self.target.setup_context is not Function.setup_context
        forward = self.target.forward
        return forward if split else lambda *args: forward(_NoContext(args), *args)

    @cached_property
    def codes(self) -> dict[CodeType, str]:
        """Its methods' code, with their names; {} where it is no class."""
        written = ((n, getattr(cls, n)) for n in METHODS for cls in self.classes)
        return {code: name for name, each in written for code in codes_of(each)}

    @property
    def classes(self) -> tuple[type, ...]:
        """The classes to trace; () means every Function there is (a wrapper may use any)."""
        return (self.target,) if self.is_class else ()


class _NoContext:
    """What stands in for ctx where nothing is kept. Attributes may be set on it."""

    def __init__(self, args: Sequence[Any]) -> None:
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)

    def __getattr__(self, name: str) -> Any:
        """A method of torch's context, whichever it has, that does nothing."""
        if callable(getattr(FunctionCtx, name, None)):
            return lambda *_: None
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def fresh_arguments(question: Question, args: Sequence[Any] | None = None) -> list[Any]:
    """Fresh copies of the arguments: leaves, in the layout and on the device of the question."""
    made: list[Any] = []
    first, last = question.more.get("same", (-1, -1))
    for position, value in enumerate(map(same_again, question.args if args is None else args)):
        if isinstance(value, Named):
            value = resolve(value)
        elif isinstance(value, torch.nn.Module):
            value = copy.deepcopy(value).to(question.device)
        elif isinstance(value, Tensor):
            value = value.to(question.device, copy=True)
            if question.layout == "transposed":
                value = transposed(value)
            if position in question.wants:
                value.requires_grad_(True)
        made.append(made[first] if position == last else value)
    return made


def same_again(value: Any) -> Any:
    """A generator that draws what this one draws; anything else as it is."""
    return value.clone_state() if isinstance(value, torch.Generator) else value


def transposed(tensor: Tensor) -> Tensor:
    """The same values with other strides: dimensions stored in reverse order, every second element."""
    if tensor.dim() == 0:
        return tensor
    roomy = tensor.new_zeros(*reversed(tensor.shape), 2)
    view = roomy[..., 0].permute(*reversed(range(tensor.dim())))
    view.copy_(tensor)
    return view.detach()


def fresh_upstream(question: Question, outputs: Sequence[Any]) -> list[Tensor | None]:
    """The upstream gradients for these outputs, in the dtype of each, as torch hands them over; None where a question has none."""
    made: list[Tensor | None] = []
    for given, output in zip(question.upstream, outputs, strict=False):
        if given is None or not isinstance(output, Tensor):
            made.append(None)
            continue
        dtype = output.dtype if output.is_complex() == given.is_complex() else given.dtype
        given = given.to(output.device, dtype, copy=True)
        if question.layout == "expanded":
            given = given.expand(output.shape)
        elif question.layout in ("transposed", "consumer"):
            given = transposed(given)
        made.append(given)
    return made


def adapted(
    submission: Any,
    given: Callable[[Sequence[Any]], Sequence[Any]] = lambda args: args,
    made: Callable[[Any], Any] = lambda outputs: outputs,
) -> Callable[..., Any]:
    """The same with something done to its arguments, and to what it gives."""
    called = Submission(submission)
    return lambda *args: made(called(*given(args)))


def cloned(args: Sequence[Any]) -> list[Any]:
    """Copies that are no leaves: torch lets nobody write to a leaf that requires grad."""
    return [a.clone() if isinstance(a, Tensor) else a for a in args]


def all_dense(outputs: Any) -> Any:
    """Outputs that one can look into, by operations that torch differentiates; what is nested in a row."""
    return dense(outputs) if isinstance(outputs, Tensor) else tuple(map(dense, tree_leaves(outputs)))  # fmt: skip
