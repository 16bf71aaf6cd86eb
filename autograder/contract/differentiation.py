"""What a learner's Function and a reference have in common: derivatives, torch.func's too, and random numbers."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.func import grad, hessian, jacfwd, jacrev, vmap

from autograder.contract.ending import ended_in
from autograder.observation.observation import Question
from autograder.observation.snapshot import dense


class _NumPys:
    """NumPy's random state, which takes 30 µs to read or to set: where nothing was drawn since, neither is done.

    Nothing was, where its place and two of its numbers are as they were.
    """

    def __init__(self) -> None:
        self._known: tuple[Any, Any] = None, None
        self._generator: Any = None

    def _at(self) -> Any:
        generator = numpy.random.get_bit_generator()  # type: ignore[attr-defined]
        if generator is not self._generator:  # what it holds, as NumPy's mt19937_state lays it out
            self._generator = generator
            mersenne = isinstance(generator, numpy.random.MT19937)
            self._numbers = (ctypes.c_uint32 * 625).from_address(generator.ctypes.state_address) if mersenne else None  # fmt: skip
        numbers = self._numbers
        return object() if numbers is None else (numbers[0], numbers[623], numbers[624])

    def get(self) -> Any:
        if self._known[0] != self._at():
            self._known = self._at(), numpy.random.get_state()
        return self._known[1]

    def set(self, state: Any) -> None:
        if self._known[0] != self._at() or self._known[1] is not state:
            numpy.random.set_state(state)
            self._known = self._at(), state


_numpys = _NumPys()


class Draws:
    """The random numbers of torch, NumPy and Python that are drawn from here on, to be drawn once more."""

    def __init__(self) -> None:
        self.states = torch.get_rng_state(), _numpys.get(), random.getstate()

    @property
    def unused(self) -> bool:
        """Whether nothing was drawn since."""
        now = Draws().states
        return torch.equal(now[0], self.states[0]) and repr(now[1:]) == repr(self.states[1:])

    def again(self) -> None:
        torch.set_rng_state(self.states[0])
        _numpys.set(self.states[1])
        random.setstate(self.states[2])


_kept: ContextVar[bool] = ContextVar("kept", default=False)


@contextlib.contextmanager
def draws_kept() -> Iterator[None]:
    """What is drawn after the block is what would have been drawn without it."""
    before, outer = (None, None) if _kept.get() else (Draws(), _kept.set(True))
    try:
        yield
    finally:
        if before is not None and outer is not None:
            before.again()
            _kept.reset(outer)


@contextlib.contextmanager
def same_draws(question: Question) -> Iterator[None]:
    """Random numbers drawn in the block are the same in all questions about one case: so is the verdict."""
    with draws_kept():
        draws_of(question.case).again()
        yield


@functools.lru_cache(256)
def draws_of(case: str, apart: bool = False) -> Draws:
    """The random numbers that a submission draws where it is asked about the case of this name.

    apart  those of NumPy are others than in other cases as well, which takes its time
    """
    theirs, seed = Draws(), zlib.crc32(case.encode())
    states = torch.Generator().manual_seed(seed).get_state(), random.Random(case).getstate()
    theirs.states = states[0], _of_numpy(seed * apart), states[1]
    return theirs


@functools.lru_cache(256)
def _of_numpy(seed: int) -> Any:
    return numpy.random.RandomState(seed).get_state()


def as_tuple(output: Any) -> tuple[Any, ...]:
    """What a function gave, one output or several."""
    return tuple(output) if isinstance(output, tuple | list) else (output,)


def paired(
    outputs: Sequence[Any], upstream: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor]]:
    """The outputs that have an upstream gradient, and those gradients."""
    roots, grads = [], []
    for o, g in zip(outputs, upstream, strict=False):
        # An output of the wrong shape has no upstream gradient: the shape is the finding.
        if g is not None and isinstance(o, Tensor) and o.requires_grad and o.shape == g.shape:
            roots.append(o)
            grads.append(g)
    return roots, grads


def gradients_of(
    outputs: Sequence[Any], upstream: Sequence[Tensor | None], inputs: Sequence[Tensor], **more: bool
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """The gradients as torch gives them; None for each where there is nothing to differentiate."""
    roots, grads = paired(outputs, upstream)
    if not roots or not inputs:
        return (None,) * len(inputs)
    return torch.autograd.grad(roots, list(inputs), grads, allow_unused=True, **more)


def copied(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None or tensor.is_meta else dense(tensor.detach()).to("cpu", copy=True)


def second_order(
    outputs: Sequence[Any],
    upstream: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    directions: Sequence[Tensor | None],
    mixed: bool,
    keep_graph: bool = False,
) -> tuple[tuple[Tensor | None, ...], tuple[Tensor | None, ...]]:
    """(first, second) derivatives; second holds those for the inputs and then (not if ``mixed``) for the upstreams.

    The same code measures the learner's Function and the reference. ``keep_graph`` leaves the graph of
    the outputs usable; without it the second derivatives alone are taken twice, which they have to survive. In a
    ``mixed`` loss what arrives from above is a constant, as from sum(): whoever asks grad_output whether a second
    derivative is wanted hears no.
    """
    roots, grads = paired(outputs, upstream)
    total, leaves = torch.zeros(()), [*inputs, *grads]
    if mixed:
        leaves, grads = list(inputs), [g.detach() for g in grads]
        total = sum(((x**3).sum().real for x in inputs), total)
    total = sum((product(o, g) for o, g in zip(roots, grads, strict=True)), total)
    first = torch.autograd.grad(total, list(inputs), create_graph=True, allow_unused=True)
    weighted = zip(first, directions, strict=True)
    contraction = sum((product(g, d) for g, d in weighted if g is not None and d is not None), torch.zeros(()))  # fmt: skip
    for kept in (keep_graph,) if keep_graph or mixed else (True, False):
        second = torch.autograd.grad(contraction, leaves, allow_unused=True, retain_graph=kept)
    return tuple(map(copied, first)), tuple(map(copied, second))


def product(one: Tensor, other: Tensor) -> Tensor:
    """The real inner product, also of complex numbers: what torch takes gradients of."""
    return (one * other.conj()).sum().real


BATCH = 3  # examples in the batch that vmap is given


def transformed(call: Callable[..., Any], q: Question) -> dict[str, list[Tensor] | str]:
    """What each transform gives for the first output of a function, for the arguments in ``wants``.

    An error is its words. The outputs are weighted with the upstream gradient of the question where a number is needed.
    """
    args = [a.detach().clone() if isinstance(a, Tensor) else a for a in q.args]
    tensors, places = [args[i] for i in q.wants], tuple(range(len(q.wants)))

    def outputs(*given: Tensor) -> Tensor:
        moved = dict(enumerate(args)) | dict(zip(q.wants, given, strict=True))
        first: Tensor = as_tuple(call(*moved.values()))[0]
        return first

    def number(*given: Tensor) -> Tensor:
        weights = q.upstream[0]
        assert weights is not None
        return (weights * outputs(*given)).sum()

    batch = [torch.stack([t * (1 - 0.1 * k) for k in range(BATCH)]) for t in tensors]
    asked = {
        "grad": lambda: grad(number, places)(*tensors),
        "jacrev": lambda: jacrev(outputs, places)(*tensors),
        "jacfwd": lambda: jacfwd(outputs, places)(*tensors),
        "hessian": lambda: hessian(number, places)(*tensors),
        "vmap(grad)": lambda: vmap(grad(number, places))(*batch),
    }
    return {name: _given(ask) for name, ask in asked.items()}


def _given(ask: Callable[[], Any]) -> list[Tensor] | str:
    try:
        flat, _ = torch.utils._pytree.tree_flatten(ask())
    except NotImplementedError:
        raise
    except Exception as error:  # whichever it is: the transform does not work
        return ended_in(error)
    return [t for t in map(copied, flat) if t is not None]
