"""Function classes: which there are, where they are written, and other methods for them for a while."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import islice, takewhile
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad
from torch.autograd.function import once_differentiable

from autograder.observation.observation import KERNEL
from autograder.observation.syntax import codes_of, registered
from autograder.running.watching import PlainMode, upwards

MOST_NODES = 2000  # of a graph that are looked at
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # autograder/
TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


@contextlib.contextmanager
def patched(patches: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """Set (class or module, name, new value) for the block; afterwards each is as it was.

    Make all new values before: a subclass may inherit from a class that is patched first.
    """
    undo: list[tuple[Any, str, Any]] = []
    try:
        for cls, name, new in patches:
            undo.append((cls, name, vars(cls).get(name)))
            setattr(cls, name, new)
        yield
    finally:
        for cls, name, old in reversed(undo):
            if old is None:
                delattr(cls, name)
            else:
                setattr(cls, name, old)


@contextlib.contextmanager
def instead_of_backward(run: Callable[..., Any]) -> Iterator[None]:
    """In the block ``run(original, roots, …)`` is called for every backward pass of torch."""
    name = "_engine_run_backward"
    original = getattr(torch.autograd, name)
    with patched(
        [(torch.autograd, name, functools.wraps(original)(functools.partial(run, original)))]
    ):
        yield


@contextlib.contextmanager
def instead_of_derivatives(run: Callable[..., Any]) -> Iterator[None]:
    """As ``instead_of_backward``, and for every tangent too that a tensor gets in forward mode."""
    new = functools.partial(run, forward_ad.make_dual)
    with instead_of_backward(run), patched([(forward_ad, "make_dual", new)]):
        yield


@contextlib.contextmanager
def passes_inside(
    codes: Mapping[types.CodeType, str], asked: types.CodeType
) -> Iterator[list[str]]:
    """Gives the names of the methods with these codes that ask torch for a derivative themselves, by either mode.

    asked  the code that calls the submission in the block: nobody looks beyond it
    """
    found: list[str] = []

    def run(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        inside = takewhile(lambda frame: frame.f_code is not asked, upwards(sys._getframe(1)))
        found.extend(islice((codes[f.f_code] for f in inside if f.f_code in codes), 1))
        return original(*args, **kwargs)

    with instead_of_derivatives(run):
        yield found


@contextlib.contextmanager
def derivatives_taken() -> Iterator[list[str]]:
    """Gives a word for each time that torch is asked in the block for a derivative: by either mode, a node, a kernel."""
    found: list[str] = []

    def run(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        found.append(original.__name__)
        return original(*args, **kwargs)

    with instead_of_derivatives(run), _Nodes(found):
        yield found


class _Nodes(PlainMode):
    """Notes the operations that a node of a graph runs, whoever called it, and torch's own derivatives."""

    def __init__(self, found: list[str]):
        super().__init__()
        self._found = found

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if torch._C._current_autograd_node() is not None or KERNEL.search(str(func)):
            self._found.append(str(func))
        return func(*args, **kwargs)


def functions(root: type = Function) -> Iterator[type]:
    """Every Function class that is not torch's own, depth first; those that it makes of custom operators too."""
    cls: type
    for cls in root.__subclasses__():
        if not is_torchs(cls):
            yield cls
        yield from functions(cls)


def is_torchs(cls: type) -> bool:
    """Whether it is torch's own; not what torch makes of somebody's operator."""
    return (cls.__module__ or "").startswith("torch.") and not of_operator(cls)


def of_operator(cls: type) -> bool:
    """Whether torch made this class of a custom operator: it takes one more argument, at the end."""
    return cls.__name__.startswith("GeneratedBackwardFor_") and cls.__module__ == _OF_OPERATORS


_OF_OPERATORS = "torch._library.autograd"


def files_of(submission: Any) -> frozenset[str]:
    """The files in which a submission's functions are written."""
    found = set()
    candidates = [submission, *registered(submission).values()]
    if isinstance(submission, type):
        for base in submission.__mro__:
            if not (base.__module__ or "").startswith("torch"):
                candidates += list(vars(base).values())
    for value in candidates:
        found |= {code.co_filename for code in codes_of(value)}
    return frozenset(f for f in found if not f.startswith((TORCH, OWN)) and not _is_pythons(f))


def _is_pythons(file: str) -> bool:
    """Whether it is of the standard library: what decorates a submission is not the learner's."""
    return file.startswith(_PYTHON) and "-packages" not in file


def nodes_behind(outputs: Iterable[Any]) -> Iterator[Any]:
    """The nodes of the graph of these outputs, each once."""
    queue: list[Any] = [o.grad_fn for o in outputs if isinstance(o, Tensor)]
    visited: set[Any] = {None}
    while queue and len(visited) < MOST_NODES:
        node = queue.pop()
        if node not in visited:
            visited.add(node)
            yield node
            queue += [n for n, _ in node.next_functions]


def custom_nodes(outputs: Iterable[Any]) -> Iterator[Any]:
    """Those with a hand-written backward."""
    return (node for node in nodes_behind(outputs) if hasattr(node, "_forward_cls"))


def classes_of(outputs: Iterable[Any]) -> tuple[type, ...]:
    """The classes whose hand-written backward the graph of these outputs holds."""
    return tuple(dict.fromkeys(node._forward_cls for node in custom_nodes(outputs)))


def backwards_of(classes: Iterable[type]) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """(what holds it, its name there, function) of each backward, vjp and jvp that somebody wrote."""
    for cls in classes:
        formula = getattr(cls, "backward", None)
        if of_operator(cls) and (info := _registered_in(formula)) is not None:
            yield info, "_backward_fn", info._backward_fn
            continue
        for name in ("backward", "vjp", "jvp"):
            if (written := getattr(cls, name, None)) not in (None, getattr(Function, name)):
                yield cls, name, written


def _registered_in(function: Any) -> Any:
    """What holds the formula of an operator: torch's backward around it knows it, itself or by another function."""
    held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    deeper = (_registered_in(value) for value in held if inspect.isfunction(value))
    return next(
        (v for v in held if getattr(v, "_backward_fn", None)), next(filter(None, deeper), None)
    )


# The code that every backward has which the decorator made.
_ONCE = once_differentiable(lambda ctx: None).__code__


def without_once_differentiable(classes: Iterable[type]) -> list[tuple[type, str, Any]]:
    """What ``patched`` takes to run each backward without that decorator; [] where none has it."""
    found = []
    for cls, name, wrapper in backwards_of(classes):
        inner = getattr(wrapper, "__wrapped__", None)
        if inner is not None and getattr(wrapper, "__code__", None) is _ONCE:
            found.append((cls, name, staticmethod(getattr(inner, "__func__", inner))))
    return found


@contextlib.contextmanager
def in_backward(classes: Iterable[type], *modes: AbstractContextManager[Any]) -> Iterator[None]:
    """Run every backward of ``classes`` under the modes; each can be entered again and again."""

    def under_modes(user: Callable[..., Any], *args: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for mode in modes:
                stack.enter_context(mode)
            return user(*args)

    with instead_of_backwards(classes, under_modes):
        yield


@contextlib.contextmanager
def instead_of_backwards(classes: Iterable[type], run: Callable[..., Any]) -> Iterator[None]:
    """In the block ``run(user, ctx, …)`` is called for every backward of ``classes``, the function ``user``."""
    new = [
        (cls, name, staticmethod(functools.wraps(user)(functools.partial(run, user))))
        for cls, name, user in backwards_of(classes)
    ]
    with patched(new):
        yield
