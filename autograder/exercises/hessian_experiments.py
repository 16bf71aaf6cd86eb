"""Experiments on hvp that cases cannot say: what runs, and how it is judged.

Every ``run_…`` gets the submission and a Sampler in the learner's process and returns plain data;
every ``judge_…`` gets that data and returns None, or (message, hint, evidence).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from textwrap import shorten
from typing import Any

import torch
from torch import Tensor

from autograder.compare import close, show
from autograder.exercise import Sampler
from autograder.exercises.second_order import Operations, Verdict

_UNKNOWNS = 30
_READY_MADE = ("torch.autograd.functional",)


@contextlib.contextmanager
def _engine_calls() -> Iterator[list[int]]:
    """The yielded list gets one entry for each time that torch's engine walks a graph.

    A hook on a tensor inside f misses a pass that only walks the graph of a gradient.
    """
    calls: list[int] = []
    own: Any = torch.autograd
    engine = own._engine_run_backward

    def counted(*args: Any, **more: Any) -> Any:
        calls.append(1)
        return engine(*args, **more)

    own._engine_run_backward = counted
    try:
        yield calls
    finally:
        own._engine_run_backward = engine


def run_hvp(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """One product with 30 unknowns: backward passes, evaluation points, sizes, who called f."""
    x, v = s.normal(_UNKNOWNS), s.normal(_UNKNOWNS)
    seen: dict[str, Any] = {"passes": 0, "elsewhere": 0, "rounded": 0, "ready_made": ""}

    def count(gradient: Tensor) -> None:
        seen["passes"] += 1

    def f(point: Tensor) -> Tensor:
        inside: Any = sys._getframe(1)
        while inside is not None:
            module = str(inside.f_globals.get("__name__", ""))
            if module.startswith(_READY_MADE):
                seen["ready_made"] = f"{module}.{inside.f_code.co_name}"
            inside = inside.f_back
        if not torch._C._functorch.is_functorch_wrapped_tensor(point):
            seen["elsewhere"] += not torch.equal(point.detach(), x)
            seen["rounded"] += torch.equal(point.detach(), x.float().double())
        step = point * 1.0
        if step.requires_grad:
            step.register_hook(count)
        return (step**4).sum() / 12 + torch.sin(step[1:] * step[:-1]).sum()

    with Operations() as sizes, _engine_calls() as calls:
        hvp(f, x.clone(), v.clone())
    seen["passes"] = max(seen["passes"], len(calls))
    return {**seen, "largest": sizes.largest, "unknowns": _UNKNOWNS}


def judge_ready_made(data: dict[str, Any]) -> Verdict:
    """torch's ready-made product is not called."""
    if not data["ready_made"]:
        return None
    if data["ready_made"].endswith(("hessian", "jacobian")):
        return (
            f"{data['ready_made']} forms the whole Hessian; its product with v needs two backward passes and no "
            "matrix.",
            "Differentiate the gradient, weighted with v, once more: torch.autograd.grad, called twice, is all "
            "you need.",
            {},
        )
    return (
        f"{data['ready_made']} does the work here; this exercise builds it.",
        "torch.autograd.grad, called twice, is all you need.",
        {},
    )


def judge_exact(data: dict[str, Any]) -> Verdict:
    """f is differentiated at x, not at points near it."""
    if not data["elsewhere"]:
        return None
    if data["elsewhere"] == data["rounded"]:
        return (
            "f is evaluated at x rounded to float32, not at x itself.",
            "Stay in the dtype of x: look for .float() and for a tensor made without a dtype.",
            {},
        )
    return (
        "f is evaluated at points other than x: this is a difference quotient of gradients.",
        "The exact product needs one evaluation of f: differentiate the gradient once more.",
        {},
    )


def judge_passes(data: dict[str, Any]) -> Verdict:
    """Two backward passes, however many unknowns there are."""
    if data["passes"] <= 2:
        return None
    return (
        ("The Hessian is formed row by row: " if data["passes"] > data["unknowns"] else "")
        + f"{data['passes']} backward passes for {data['unknowns']} unknowns; 2 are enough.",
        "Do not build the Hessian row by row. Weight the gradient with v first, then differentiate "
        "that one number."
        if data["passes"] > 3
        else "The Hessian is symmetric: the gradient, weighted with v, is all that is differentiated again.",
        {"passes": data["passes"]},
    )


def judge_size(data: dict[str, Any]) -> Verdict:
    """No tensor of the size of the Hessian."""
    if data["largest"] < data["unknowns"] ** 2:
        return None
    return (
        f"A tensor of {data['largest']} elements is made for {data['unknowns']} unknowns: the Hessian "
        "is formed.",
        "The product with v needs vectors only.",
        {"largest": data["largest"]},
    )


def run_linear(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Products for f linear in x: the gradient is a constant, once with a trainable weight."""
    x, v = s.normal(4), s.normal(4)
    weight = s.normal(4).requires_grad_(True)
    results: list[Any] = []
    for f in (lambda t: 2.5 * t.sum(), lambda t: (weight * t).sum()):
        try:
            result = hvp(f, x.clone(), v)
            results.append(result.detach().clone() if isinstance(result, Tensor) else result)
        except NotImplementedError:
            raise
        except Exception as error:  # the error that learners meet here is explained by the judge
            results.append(f"{type(error).__name__}: {error}")
    return {"results": results, "zeros": torch.zeros_like(x)}


# (words of the original message, what they mean where f is linear)
_LINEAR_ERRORS = (
    ("does not require grad", "the gradient does not require grad"),
    ("not have been used in the graph", "the gradient does not depend on x"),
)


def judge_linear(data: dict[str, Any]) -> Verdict:
    """A linear f has the Hessian 0."""
    words = ("whose gradient is a constant", "whose gradient is a trainable weight")
    for result, which in zip(data["results"], words, strict=True):
        if close(result, data["zeros"]):
            continue
        hint = (
            "Its Hessian is 0, so the answer is zeros of x's shape. Ask gradient.requires_grad before "
            "the second pass, and let torch.autograd.grad put zeros where nothing is connected: "
            "allow_unused=True, materialize_grads=True."
        )
        start = f"For a linear f, {which},"
        if isinstance(result, Tensor):
            values = {"actual": show(result), "expected": show(data["zeros"])}
            return f"{start} the result is not zero.", hint, values
        if not isinstance(result, str):
            return f"{start} the result is {result}; zeros of x's shape are asked for.", hint, {}
        known = [meaning for original, meaning in _LINEAR_ERRORS if original in result]
        why = known[0] if known else shorten(result, 160, placeholder=" …").rstrip(".")
        return f"{start} the second pass stops: {why}.", hint, {"original": result[:300]}
    return None


def run_tidy_hvp(hvp: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """Whether x and a weight inside f are left without .grad."""
    x = s.normal(4).requires_grad_(True)
    weight = s.normal(4).requires_grad_(True)
    hvp(lambda t: (weight * t**3).sum(), x, s.normal(4))
    return left_behind({"x": x, "a weight inside f": weight})


def left_behind(leaves: dict[str, Tensor]) -> dict[str, Any]:
    return {"left": [name for name, leaf in leaves.items() if leaf.grad is not None]}


def judge_tidy(data: dict[str, Any]) -> Verdict:
    """No .grad is left behind."""
    if not data["left"]:
        return None
    return (
        f"Afterwards .grad of {' and '.join(data['left'])} is filled: the caller's next optimiser step "
        "would use it.",
        ".backward() adds to the .grad of every leaf it meets. torch.autograd.grad gives back what you "
        "ask for and leaves .grad alone.",
        {"left": data["left"]},
    )
