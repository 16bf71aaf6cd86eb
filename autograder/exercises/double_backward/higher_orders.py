"""Cube, MyExp, SwishTwice and FirstOrderOnly of lesson 05: derivatives of derivatives, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.contract.exercise import Case, Cause, Exercise, Sampler, Scenario
from autograder.exercises.common_cases import ONE_TENSOR, elementwise_cases, fixed, kept
from autograder.exercises.sigmoid.activations import SWISH
from autograder.observation.compare import both, close, show
from autograder.running.watching import Watching

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def _derivatives(
    function: Callable[[Tensor], Tensor], x: Tensor, weights: Sequence[Tensor]
) -> tuple[list[Tensor | None], str]:
    """Derivatives of order 1 … len(weights) at x, and the error that ended them, or "".

    They are those of the loss y + y²/2, in which the upstream gradient depends on x too. Each order is
    the gradient of a weighted sum of the one before; None where nothing depends on x any more.
    """
    x = x.detach().clone().requires_grad_(True)
    found: list[Tensor | None] = []
    y = function(x)
    current = y + y * y / 2
    try:
        for weight in weights:
            if not current.requires_grad:
                return found + [None] * (len(weights) - len(found)), ""
            (current,) = torch.autograd.grad((current * weight).sum(), x, create_graph=True)
            found.append(current.detach().clone())
    except Exception as error:  # whatever the learner's backward raises is what was asked for
        return found, f"{type(error).__name__}: {error}"
    return found, ""


def derivatives_up_to(order: int, reference: Callable[[Tensor], Tensor], words: str) -> Scenario:
    """The experiment: all derivatives up to ``order`` are right. The first two have rules of their own."""

    def run(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
        x = s.uniform(4, low=-1.2, high=1.2)
        weights = [s.uniform(4, low=0.5, high=1.5) for _ in range(order)]
        found, error = _derivatives(submission, x, weights)
        return {"x": x, "weights": weights, "found": found, "error": error}

    def judge(data: dict[str, Any]) -> Cause | None:
        right, _ = _derivatives(reference, data["x"], data["weights"])
        for place, expected in enumerate(right):
            facts = {"order": _ORDINALS[place]}
            if place >= len(data["found"]):
                return Cause("higher/stops", facts, {"original": data["error"][:300]})
            got = data["found"][place]
            if not close(got, expected) and not (got is None and expected is None):
                shown = {"inputs": {"x": show(data["x"])}, **both(got, expected)}
                return Cause("higher/wrong", facts, shown)
        return None

    needs = ("output_value", "gradients_agree", "second_derivatives")
    return Scenario(words, "higher-derivative", run, judge, needs, given=("x", "weights"))


def left_behind(leaves: dict[str, Tensor]) -> list[str]:
    """The names of the leaves with a .grad, which ``.backward()`` fills and the caller's optimiser reads."""
    return [name for name, leaf in leaves.items() if leaf.grad is not None]


CUBE = Exercise(
    name="Cube",
    summary="x³, element by element; the first, second and third derivatives are right.",
    signature="(x)",
    reference=lambda x: x**3,
    cases=elementwise_cases(),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    hints=(
        "Write backward for the first derivative as always. For the second one torch differentiates "
        "the lines of your backward: which tensors in them does it have to know the history of?",
        "Save x itself and nothing made from it. 3x² is then computed in backward, where autograd can "
        "watch it when a further derivative is wanted.",
        "ctx.save_for_backward(x) in forward; in backward: x, = ctx.saved_tensors and return "
        "grad_output * 3 * x**2.",
    ),
    scenarios=(derivatives_up_to(3, lambda x: x**3, "the third derivative is right"),),
)


# Not +1000: e¹⁰⁰⁰ is infinite, value and slope alike. In float64 e⁷⁰⁰ is not.
_FAR64 = Case("inputs from 100 to 700", fixed([100.0, 300.0, 700.0]), role="special", second=True)
_FAR = Case(
    "very small and very large inputs in float32",
    fixed([-1000.0, -100.0, -30.0, -5.0, 0.0, 5.0, 30.0, 80.0]),
    role="extreme",
    digits=True,
)

MY_EXP = Exercise(
    name="MyExp",
    summary="eˣ, element by element; derivatives of any order are right.",
    signature="(x)",
    reference=torch.exp,
    cases=(*(case for case in elementwise_cases() if case.role != "extreme"), _FAR64, _FAR),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    hints=(
        "Which function has itself as its derivative? Then what is the only tensor that backward needs, "
        "and has forward made it anyway?",
        "Save the output, exactly the tensor that forward returns. When the second derivative is "
        "wanted, torch knows that this tensor came out of MyExp.",
        "y = torch.exp(x); ctx.save_for_backward(y); return y. In backward: return grad_output * "
        "y.",
    ),
    scenarios=(
        derivatives_up_to(5, torch.exp, "the third, fourth and fifth derivatives are right"),
    ),
)


class _ReleasedSwish(Function):
    """The Swish that the released cell holds, line by line: it saves an intermediate."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, beta: Tensor) -> Tensor:
        s = torch.sigmoid(beta * x)
        ctx.save_for_backward(x, beta, s)
        return x * s

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        x, beta, s = ctx.saved_tensors
        grad_x = grad_beta = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output * (s + beta * x * s * (1 - s))
        if ctx.needs_input_grad[1]:
            grad_beta = (grad_output * x * x * s * (1 - s)).sum_to_size(beta.shape)
        return grad_x, grad_beta


SWISH_TWICE = replace(
    SWISH,
    name="SwishTwice",
    summary="x · σ(beta · x), whose second derivatives are right too; a repair.",
    released=_ReleasedSwish.apply,
    hints=(
        "All formulas are right: gradcheck says so. Look at the three saved tensors and ask of each: is "
        "it an input, the output, or neither?",
        "s = σ(beta · x) is made in forward, where autograd is off. To the second derivative it is a "
        "constant. Where could it be made instead, so that autograd sees how it depends on x and beta?",
        "Save x and beta only, and begin backward with s = torch.sigmoid(beta * x). The rest stays.",
    ),
)


_ERF = ("erf", "erf_", "erfc", "special_erf", "erfinv")


def _operations(submission: Callable[..., Any], s: Sampler) -> dict[str, Any]:
    """The names of torch's operations in forward."""
    with Watching() as seen:
        submission(s.normal(3))
    return {"names": sorted({str(each).split(".")[1] for each in seen.operations})}


def _from_scipy(data: dict[str, Any]) -> Cause | None:
    used = [name for name in data["names"] if name in _ERF]
    return Cause("erf/of-torch", {"name": used[0]}, at=(used[0],)) if used else None


FIRST_ORDER_ONLY = Exercise(
    name="FirstOrderOnly",
    summary="erf(x) computed by SciPy; a second derivative is right or raises RuntimeError.",
    signature="(x)",
    reference=torch.erf,
    cases=elementwise_cases(),
    budget=kept(0),
    budget_words=ONE_TENSOR,
    second_order="right-or-refused",
    half=False,  # NumPy has no bfloat16
    meta=False,  # and no tensors without data
    hints=(
        "Two jobs. The way out of torch and back for the value; and one line in backward that notices "
        "that somebody wants to differentiate backward itself. What is different at that moment?",
        "Out and back: x.detach().cpu().numpy(), then torch.as_tensor(…, dtype=x.dtype, "
        "device=x.device). With create_graph=True grad mode is on while backward runs; else it is off.",
        "The first line of backward: if torch.is_grad_enabled(): raise RuntimeError('first order "
        "only'). Then grad_output * 2 / math.sqrt(math.pi) * torch.exp(-x**2).",
    ),
    scenarios=(
        Scenario(
            "the value comes from SciPy", "uses-builtin", _operations, _from_scipy,
            needs=("output_value",), free=("names",),
        ),
    ),
)  # fmt: skip
