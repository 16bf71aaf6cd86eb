"""Looks inside one forward and backward: which operations ran, and which storages stay alive.

A tensor in a closure or a global hides from ``saved_tensors_hooks`` and from ctx, so storages are
counted where they are made: a dispatch mode sees every operation's results and keeps weak
references to their storages.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, resolve_name

from autograder.contract.differentiation import as_tuple
from autograder.observation.observation import Answer, Kept
from autograder.observation.snapshot import storage_of, tensors_within, who_is
from autograder.running.carried import World, Written, attributes_of, saved_of
from autograder.running.function_classes import (
    custom_nodes,
    in_backward,
    instead_of_backwards,
    is_torchs,
)
from autograder.running.moving_points import QUOTIENT, UNLIKE, followed
from autograder.running.operation_runs import Results
from autograder.running.watching import Storages, work_of


class _Calls(TorchFunctionMode):
    """Public torch functions by identity, whatever name the learner gave them."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: dict[Any, None] = {}

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        self.functions[func] = None
        return func(*args, **(kwargs or {}))


def _names(calls: _Calls, ran: Storages) -> tuple[str, ...]:
    """The functions that were called by their public names, and the operations: aten.add.Tensor, aten.exp."""
    functions = (str(resolve_name(f) or getattr(f, "__qualname__", f)) for f in calls.functions)
    operations = (str(operation).removesuffix(".default") for operation in ran.operations)
    return tuple(dict.fromkeys([*functions, *operations]))


def look_inside(
    answer: Answer,
    args: list[Any],
    classes: Iterable[type],
    forward: Callable[[], tuple[Any, ...]],
    backward: Callable[[tuple[Any, ...]], None],
    of_class: bool,
) -> Results:
    """Run forward, count what stays alive, run backward; fill in the answer. Gives what backward's operations were given.

    of_class  nothing but a class's own methods runs in forward, for which torch records nothing

    Operations of backward are noted and counted only while the learner's own backward runs.
    """
    calls = _Calls()
    with _young(), Storages(calls) as storages, calls:
        outputs = forward()
    answer.forward_ops = _names(calls, storages)
    answer.data["recorded_in_forward"] = storages.recorded and of_class
    answer.kept = tuple(_kept(args, outputs, storages))
    called, ran = _Calls(), Results()
    try:
        with watched(classes, ran, called):
            backward(outputs)
    finally:
        answer.data["operations"] = work_of(ran.operations)
        answer.backward_ops = _names(called, ran)
        answer.data["recorded_in_backward"] = ran.recorded
    return ran


def look_around(
    classes: Iterable[type],
    run: Callable[[Sequence[Any]], None],
    inputs: Sequence[Sequence[Any]],
    *seen: Results,
) -> str:
    """What is to be said of the operations of a derivative, as they run with inputs that are a little other too.

    After a few of these it is looked whether there may be a quotient at all.

    seen  what ran with the question's own inputs, where that is not the first of the inputs
    """
    results, found, all_of_them = [*seen], "", len(seen) + len(inputs)
    for args in inputs:
        results.append(Results())
        try:
            with watched(classes, results[-1]):
                run(args)
        except Exception:  # it ran with the inputs beside these
            return UNLIKE
        if len(results) in (*_LOOKS, all_of_them):
            found = followed(results, len(results) == all_of_them)
            if found != QUOTIENT:
                break
    return found


SOME_BYTES = 256  # of what ctx holds outside of tensors; fewer are settings
_LOOKS = 2, 4  # how many runs come before a look


@contextlib.contextmanager
def watched(
    classes: Iterable[type], ran: Results, *modes: AbstractContextManager[Any]
) -> Iterator[None]:
    """Remember what runs in every backward of ``classes``, with what it is given, on ctx or by the classes."""
    classes = tuple(classes)

    def told(user: Callable[..., Any], ctx: Any, *given: Any) -> Any:
        held = [*given, *saved_of(ctx), *(v for _, v in attributes_of(ctx))]
        held += [v for cls in classes for v in vars(cls).values() if isinstance(v, Tensor)]
        ran.told_by(tensor for _, tensor in tensors_within(held, ""))
        return user(ctx, *given)

    with in_backward(classes, *modes, ran, ran.arrays), instead_of_backwards(classes, told):
        yield


@contextlib.contextmanager
def _young() -> Iterator[None]:
    """What is made in the block stays young for Python's collector: to look at everything there is takes 0.1 s."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def kept_of_many(
    call: Callable[[], Any], others: Mapping[str, Written], world: World | None, args: Sequence[Any]
) -> tuple[Any, tuple[Kept, ...]]:
    """What a call gives, and what stays alive for its backward; of what ctx holds outside of tensors, what depends on numbers.

    others  what ctx holds where the numbers are others, by name
    """
    with _young(), Storages() as storages:
        output = call()
    outputs = as_tuple(output)
    kept = _kept(list(args), outputs, storages)
    holds = world.holds(outputs) if world else {}
    unlike = {name: held.unlike(others.get(name)) for name, held in holds.items()}
    if sum(unlike.values()) > SOME_BYTES:
        sizes = {name: len(held.bytes) for name, held in holds.items() if unlike[name]}
        kept += [Kept(name, "numbers", (size // 8,), "float64", size, 0) for name, size in sizes.items()]  # fmt: skip
    return output, tuple(kept)


def kept_by_nodes(args: Sequence[Any], outputs: tuple[Any, ...]) -> list[Kept]:
    """Every distinct storage that a hand-written node keeps, inputs and outputs included."""
    kept: list[Kept] = []
    seen: set[int] = set()

    def note(holder: str, tensor: Tensor) -> None:
        key, size = storage_of(tensor)
        if key in seen:
            return
        seen.add(key)
        own = tensor.numel() * tensor.element_size()
        who = _name(tensor, args, outputs)
        # A saved input (or a view of one) keeps the bytes it covers, whatever its storage held before.
        counted = min(own, size) if who != "intermediate" else size
        dtype = str(tensor.dtype).removeprefix("torch.")
        like = _like(tensor, args, outputs) if who == "intermediate" else ""
        kept.append(Kept(holder, who, tuple(tensor.shape), dtype, counted, key, like))

    for node in custom_nodes(outputs):
        for i, tensor in enumerate(saved_of(node)):
            if isinstance(tensor, Tensor):
                note(f"saved[{i}]", tensor)
        for path, tensor in _on(node):
            note(path, tensor)
    return kept


def _on(ctx: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors that somebody put on ctx, in whatever way, with their paths."""
    return (each for n, v in attributes_of(ctx) for each in tensors_within(v, f"ctx.{n}"))


def on_ctx(args: Sequence[Any], outputs: tuple[Any, ...]) -> list[list[str]]:
    """[ctx.name, who it is] of every tensor that is an attribute of ctx, and not saved."""
    return [
        [path, who_is(tensor, tuple(args), outputs)]
        for node in custom_nodes(outputs) if not is_torchs(node._forward_cls)
        for path, tensor in _on(node)
    ]  # fmt: skip


def _kept(args: list[Any], outputs: tuple[Any, ...], storages: Storages) -> list[Kept]:
    """Every distinct storage kept for backward, those that no node shows included."""
    kept = kept_by_nodes(args, outputs)
    known = {storage_of(t)[0] for t in (*args, *outputs) if isinstance(t, Tensor)}
    known |= {each.storage for each in kept}
    left = storages.left(known)
    if left:
        gc.collect(1)  # garbage in cycles is not kept for backward: look again before saying so
        left = storages.left(known)
    for made in left:
        dtype = str(made.dtype).removeprefix("torch.")
        kept.append(Kept("hidden", "intermediate", made.shape, dtype, made.size, made.storage))
    return kept


def _like(tensor: Tensor, args: Sequence[Any], outputs: tuple[Any, ...]) -> str:
    """The input or output whose numbers an intermediate has, "mask" and so on, or "" for any other."""
    for kind, group in (("output", outputs), ("input", args)):
        for i, other in enumerate(group):
            same = isinstance(other, Tensor) and other.shape == tensor.shape
            if same and tensor.dtype == other.dtype and torch.equal(tensor, other):
                return f"{kind}[{i}]"
    zero = tensor == 0
    if tensor.numel() and bool(zero.all()):
        return "zeros"
    masks = {"mask": 1, "mask of −inf": -torch.inf}
    return next((m for m, n in masks.items() if bool((zero | (tensor == n)).all())), "")


def _name(tensor: Tensor, args: Sequence[Any], outputs: tuple[Any, ...]) -> str:
    """who_is, but a saved output counts as the output: unpacking it makes a new tensor object."""
    who = who_is(tensor, tuple(args), outputs)
    if who.startswith("view of "):
        kind, index = who.removeprefix("view of ").rstrip("]").split("[")
        whole = (args if kind == "input" else outputs)[int(index)]
        if whole.shape == tensor.shape and whole.stride() == tensor.stride():
            return who.removeprefix("view of ")
    return who
