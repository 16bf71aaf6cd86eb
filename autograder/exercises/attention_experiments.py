"""Experiments of lesson 07 that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.second_order import Verdict, asks_grad_output
from autograder.modes import Watching
from autograder.observation import Answer
from autograder.structure import look_inside
from autograder.trace import storage_of

_QUERIES, _KEYS, _BLOCK = 7, 8, 4  # L, S and a block size well below both

# ---- second derivatives in every loss ------------------------------------------------------

# In each of them the upstream gradient of the output is a constant or depends on the output only:
# the cases' own second derivatives have one that requires grad, which once_differentiable notices.
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Σ out": lambda out, q: out.sum(),
    "Σ out + Σ q³": lambda out, q: out.sum() + (q**3).sum(),
    "Σ out²": lambda out, q: (out**2).sum(),
    "Σ out² + Σ q³": lambda out, q: (out**2).sum() + (q**3).sum(),
}


def _once(
    function: Callable[..., Any], loss: str, tensors: list[Tensor], more: tuple[Any, ...]
) -> tuple[Tensor, Tensor]:
    """q, and a sum of the gradients for q, k and v that can be differentiated again."""
    q, k, v = (t.detach().clone().requires_grad_(True) for t in tensors)
    total = LOSSES[loss](function(q, k, v, *more), q)
    first = torch.autograd.grad(total, (q, k, v), create_graph=True)
    return q, sum(((g * (i + 1)).sum() for i, g in enumerate(first)), torch.zeros(()))


def _by_grad(q: Tensor, total: Tensor) -> Tensor | None:
    return torch.autograd.grad(total, q, retain_graph=True)[0]


def _by_backward(q: Tensor, total: Tensor) -> Tensor | None:
    total.backward()
    return q.grad


_WAYS = {"torch.autograd.grad": _by_grad, ".backward()": _by_backward}


def _outcome(
    loss: str, how: str, error: Exception | None, value: Tensor | None = None
) -> dict[str, Any]:
    return {
        "loss": loss, "how": how, "value": None if value is None else value.detach().clone(),
        "error": "" if error is None else f"{type(error).__name__}: {error}",
        "refused": isinstance(error, RuntimeError),
    }  # fmt: skip


def run_attempts(*more: Any) -> Callable[[Callable[..., Any], Sampler], dict[str, Any]]:
    """A run that takes second derivatives of several losses; ``more`` follows q, k, v."""

    def run(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        tensors = [s.normal(3, 2), s.normal(4, 2), s.normal(4, 3)]
        outcomes = []
        for loss in LOSSES:
            try:
                once = _once(submission, loss, tensors, more)
            except Exception as error:  # before the two ways part: both end in it
                outcomes += [_outcome(loss, how, error) for how in _WAYS]
                continue
            for how, again in _WAYS.items():
                try:
                    outcomes.append(_outcome(loss, how, None, again(*once)))
                except Exception as error:  # which kind of error it is, is what is judged
                    outcomes.append(_outcome(loss, how, error))
        return {"tensors": tensors, "outcomes": outcomes}

    return run


def judge_attempts(
    reference: Callable[..., Tensor], *more: Any, may_be_right: bool
) -> Callable[[dict[str, Any]], Verdict]:
    """A judge of those outcomes: RuntimeError, or (where allowed) the right number."""

    def judge(data: dict[str, Any]) -> Verdict:
        for outcome in data["outcomes"]:
            if outcome["refused"]:
                continue
            if outcome["error"]:
                return (
                    f"A second derivative is refused with {outcome['error'].split(':')[0]}; the "
                    "contract asks for RuntimeError.",
                    'raise RuntimeError("…") with a sentence that says why.',
                    {"original": outcome["error"][:300]},
                )
            right = _by_grad(*_once(reference, outcome["loss"], data["tensors"], more))
            got = outcome["value"]
            is_right = close(got, right)
            if is_right and may_be_right:
                continue
            said = asks_grad_output(data["outcomes"], "Σ out² + Σ q³", "Σ out + Σ q³")
            return said or _silent(outcome, got, right, is_right)
        return None

    return judge


def _silent(outcome: dict[str, Any], got: Any, right: Any, is_right: bool) -> Verdict:
    words = "a right" if is_right else "a wrong"
    message = (
        f"For the loss {outcome['loss']} {words} second derivative, taken with {outcome['how']}, comes out, "
        "and no error."
    )
    if is_right:
        message += " First order only means that every attempt is refused."
    return (
        message,
        "With create_graph=True grad mode is on while backward runs. Begin backward with "
        "`if torch.is_grad_enabled(): raise RuntimeError(...)`. once_differentiable alone is silent in "
        "sums with other functions of the input.",
        {
            "actual": "None" if got is None else show(got),
            "expected": f"RuntimeError (the true value is {show(right)})",
        },
    )


# ---- what is kept, and what is ever made ---------------------------------------------------


def run_kept(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """One forward of one head; gives every tensor that is kept for backward."""
    args: list[Any] = [s.normal(_QUERIES, 2), s.normal(_KEYS, 2), s.normal(_KEYS, 2)]
    for tensor in args:
        tensor.requires_grad_(True)
    mask = s.uniform(_QUERIES, _KEYS) < 0.8
    mask[:, 0] = True
    args.append(mask)
    answer = Answer()
    look_inside(answer, args, (), lambda: (submission(*args),), lambda outputs: None)
    return {"kept": [[k.holder, k.dtype, list(k.shape)] for k in answer.kept]}


def judge_kept(data: dict[str, Any]) -> Verdict:
    """No floating-point tensor of L×S elements stays alive between forward and backward."""
    for holder, dtype, shape in data["kept"]:
        if "float" in dtype and math.prod(shape) >= _QUERIES * _KEYS:
            place = "outside ctx" if holder == "hidden" else holder
            return (
                f"A {dtype} tensor of shape {tuple(shape)} stays alive for backward, in {place}: with "
                f"L = {_QUERIES} and S = {_KEYS} that is a whole matrix of scores.",
                "Keep q, k, v, the output and one logsumexp a row; compute the weights again in backward.",
                {"shape": list(shape)},
            )
    return None


class _Largest(Watching):
    """The largest result of any operation: elements in memory, shape, operation."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0
        self.shape: tuple[int, ...] = ()
        self.operation = ""
        self.is_bool = False

    def saw(self, operation: Any, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            elements = tensor.numel()
            if elements <= self.elements:
                continue
            # An expanded tensor has many elements and few cells: what counts is memory.
            elements = min(elements, storage_of(tensor)[1] // tensor.element_size())
            if elements > self.elements:
                self.elements, self.shape = elements, tuple(tensor.shape)
                self.operation = str(operation).removesuffix(".default")
                self.is_bool = tensor.dtype == torch.bool


# (causal, dtype, which of q, k and v need a gradient): whatever an answer may make whole matrices for.
_PASSES: tuple[tuple[bool, torch.dtype, str], ...] = (
    (True, torch.float64, "qkv"),
    (False, torch.bfloat16, "v"),
    (False, torch.float64, ""),
)


def run_largest(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Passes with block_size 4: the elements, the shape and the operation of the largest tensor."""
    found = []
    for causal, dtype, wanted in _PASSES:
        sizes = {"q": (_QUERIES, 3), "k": (_KEYS, 3), "v": (_KEYS, 2)}
        tensors = {name: s.normal(*size).to(dtype) for name, size in sizes.items()}
        for name in wanted:
            tensors[name].requires_grad_(True)
        with _Largest() as seen:
            out = submission(*tensors.values(), causal, _BLOCK)
        found.append(["forward", seen.elements, list(seen.shape), seen.operation, seen.is_bool])
        if wanted:
            upstream = s.normal(_QUERIES, 2).to(dtype)
            with _Largest() as seen:
                torch.autograd.grad(out, [tensors[name] for name in wanted], upstream)
            found.append(
                ["backward", seen.elements, list(seen.shape), seen.operation, seen.is_bool]
            )
    return {"largest": found}


def judge_largest(data: dict[str, Any]) -> Verdict:
    """No tensor of L×S elements is made, not even for a moment."""
    whole = _QUERIES * _KEYS
    passes = [
        each for each in _PASSES for _ in range(1 + bool(each[2]))
    ]  # one more with a backward
    sometimes = {each[0] for each in data["largest"] if each[1] < whole}
    for (name, elements, shape, operation, is_bool), asked in zip(
        data["largest"], passes, strict=False
    ):
        if elements < whole:
            continue
        return (
            f"{name} makes a {'bool ' if is_bool else ''}tensor of {elements} elements, shape {tuple(shape)}, "
            f"{'as a mask of the whole matrix is, ' if is_bool else ''}"
            f"{_words(*asked) if name in sometimes else 'in every case'}: "
            f"for L = {_QUERIES}, S = {_KEYS}, block_size = {_BLOCK} no tensor of L·S = {whole} elements "
            "may exist, not even for a moment.",
            "Work on one tile at a time: block_size queries against block_size keys. A causal mask too is "
            "made for one tile only, from the positions of its rows and columns.",
            {"operation": operation, "shape": list(shape), "elements": elements},
        )
    return None


def _words(causal: bool, dtype: torch.dtype, wanted: str) -> str:
    """One of the passes in words."""
    words = [f"with causal={causal}"]
    if dtype != torch.float64:
        words.append(f"in {str(dtype).removeprefix('torch.')}")
    if wanted != "qkv":
        words.append(f"where {f'only {wanted}' if wanted else 'nothing'} needs a gradient")
    return ", ".join(words)
