"""A first look at a submission that nobody knows, so that the right things are asked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.differentiation import as_tuple, draws_kept, draws_of
from autograder.contract.ending import errors_only
from autograder.observation.snapshot import is_unseen
from autograder.observation.syntax import operator_of
from autograder.running.containment import contained
from autograder.running.function_classes import classes_of, is_torchs
from autograder.running.submission import Submission, same_again
from autograder.running.watching import Storages


@dataclass(frozen=True)
class Survey:
    """What one call of forward showed.

    writes   it gives back an argument that it wrote to, and says so with mark_dirty
    draws    it gives other outputs where other random numbers are drawn; unsteady: where nothing is other
    drew     it draws, be it the same ones each time, from a seed of its own
    also     what else it offers: jvp, vmap, func, opcheck
    unseen   it gives tensors that nobody can look into element by element, or nests them
    seen     dtypes of tensors that it makes
    idle     parameters of modules among the arguments that its values depend on, and that backward gives nothing
    """

    writes: bool = False
    draws: bool = False
    drew: bool = False
    unsteady: bool = False
    also: tuple[str, ...] = ()
    unseen: bool = False
    seen: frozenset[torch.dtype] | None = None
    idle: tuple[str, ...] = ()


def survey(submission: Any, args: Sequence[Any]) -> Survey:
    """Never raises for what a submission does: one that stops shows nothing, and is asked as any other."""
    called = Submission(submission)
    with contained(), draws_kept(), torch.enable_grad():
        try:
            with errors_only():
                made = Storages()
                try:
                    with made:
                        given, first = _called(called, args, 1)
                except Exception:  # perhaps of the mode
                    given, first = _called(called, args, 1)
                drew = not draws_of("survey 1", apart=True).unused
                written = any(o is a and a._version for o in first for a in given)
            if any(is_unseen(o) or isinstance(o, dict | list | tuple) for o in first):
                return Survey(unseen=True)
            with errors_only():
                generator = any(isinstance(a, torch.Generator) for a in args)
                # Two of a few coins fall alike.
                draws = generator or any(
                    not _equal(first, _called(called, args, seed)[1])
                    for seed in range(2, 8 if drew else 3)
                )
                unsteady = draws and not _equal(first, _called(called, args, 1)[1])
        except Exception:
            return Survey()
        idle: tuple[str, ...] = ()
        with suppress(Exception), errors_only():  # a backward that stops is told of by its answers
            idle = () if draws else _idle(called, args)
    classes = [cls for cls in classes_of(first) if not is_torchs(cls)]
    also = []
    if isinstance(submission, torch._ops.OpOverload) or operator_of(submission) is not None:
        also.append("opcheck")
    if len(classes) == 1:
        (cls,) = classes
        also += ["jvp"] if cls.jvp is not Function.jvp else []  # type: ignore[attr-defined]
        own = cls.vmap is not Function.vmap or cls.generate_vmap_rule  # type: ignore[attr-defined]
        also += ["vmap"] if own and not draws else []
        also += ["func"] if {"jvp", "vmap"} <= set(also) else []
    return Survey(
        written and bool(classes),
        draws,
        draws or drew,
        unsteady,
        tuple(also),
        seen=made.dtypes,
        idle=idle,
    )


def _idle(called: Submission, args: Sequence[Any]) -> tuple[str, ...]:
    """Parameters that are none of the arguments themselves, without a gradient though other numbers give other outputs."""
    modules = [copy.deepcopy(a) for a in args if isinstance(a, torch.nn.Module)]
    parameters = {n: p for m in modules for n, p in m.named_parameters() if p.requires_grad}
    if not parameters:
        return ()
    left = iter(modules)
    ready = [next(left) if isinstance(a, torch.nn.Module) else a for a in args]
    first = _called(called, ready, 1)[1]
    sum(o.sum() for o in first if isinstance(o, Tensor) and o.requires_grad).backward()  # type: ignore[union-attr]
    idle = []
    for name, parameter in parameters.items():
        if parameter.grad is None:
            before = parameter.data
            parameter.data = before * 1.5 + 0.1
            moved = not _equal(first, _called(called, ready, 1)[1])
            parameter.data = before
            idle += [name] if moved else []
    return tuple(idle)


def _called(
    called: Submission, args: Sequence[Any], seed: int
) -> tuple[list[Any], tuple[Any, ...]]:
    """Copies of the arguments, and the outputs for them."""
    draws_of(f"survey {seed}", apart=True).again()
    ready = [_leaf(a).clone() if isinstance(a, Tensor) else same_again(a) for a in args]
    return ready, as_tuple(called(*ready))


def _leaf(tensor: Tensor) -> Tensor:
    floating = tensor.is_floating_point() or tensor.is_complex()
    return tensor.detach().clone().requires_grad_(floating)


def _equal(some: Sequence[Any], others: Sequence[Any]) -> bool:
    pairs = zip(some, others, strict=True)
    return len(some) == len(others) and all(
        torch.allclose(_numbers(a), _numbers(b))
        for a, b in pairs
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape
    )


def _numbers(tensor: Tensor) -> Tensor:
    return torch.view_as_real(tensor.detach().to(torch.complex128)).nan_to_num()
