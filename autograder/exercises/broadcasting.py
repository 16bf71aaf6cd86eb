"""Lesson 03, broadcasting: ``unbroadcast`` and ``Multiply``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Misconception, Sampler, bytes_of
from autograder.exercises.linear_slips import MULTIPLY_SLOPES, MULTIPLY_VALUES

LESSON = "03_linear"

# ---- unbroadcast -----------------------------------------------------------------------------


def sum_down(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """``grad`` summed down to ``shape``, with size-0 dimensions summed too."""
    extra = grad.dim() - len(shape)
    kept = [i for i, size in enumerate(shape) if size == 1 and grad.shape[i + extra] != 1]
    dims = [*range(extra), *(i + extra for i in kept)]
    return grad.sum(dims, keepdim=True).reshape(tuple(shape)) if dims else grad


def _down_case(
    name: str, grad: tuple[int, ...], shape: tuple[int, ...] | list[int], **more: Any
) -> Case:
    return Case(name, lambda s: (s.normal(*grad), shape), wants=(0,), **more)


UNBROADCAST = Exercise(
    name="unbroadcast",
    lesson=LESSON,
    summary="grad summed down to shape: the reverse of broadcasting a tensor of that shape.",
    signature="(grad, shape)",
    reference=sum_down,
    cases=(
        _down_case("(3, 4) down to (4,): a new leading dimension", (3, 4), (4,), visible=True),
        _down_case("(3, 4) down to (3, 1): a stretched dimension", (3, 4), (3, 1), visible=True),
        _down_case("(2, 3, 4) down to (3, 1): both at once", (2, 3, 4), (3, 1), visible=True),
        _down_case("the shape it has already", (3, 4), (3, 4)),
        _down_case("(3, 4) down to (), a single number", (3, 4), ()),
        _down_case("(1, 3) down to (3,): a new leading dimension of size 1", (1, 3), (3,)),
        _down_case("(1, 1) down to (), a single number", (1, 1), ()),
        _down_case("(3, 4) down to [1, 1], the shape given as a list", (3, 4), [1, 1]),
        _down_case("(2, 3, 4, 2) down to (3, 1, 2)", (2, 3, 4, 2), (3, 1, 2)),
        _down_case("(2, 1, 3) down to (1, 3): a 1 that was never stretched", (2, 1, 3), (1, 3)),
        # Told apart only by lengths of 1 and 2: which dimension was stretched, and from what.
        _down_case("(1, 4, 3) down to (1, 3): behind a leading 1", (1, 4, 3), (1, 3)),
        _down_case("(2, 1, 5) down to (1, 1): beside a leading 2", (2, 1, 5), (1, 1)),
        _down_case("(5, 2, 1) down to (1, 1): stretched to 2", (5, 2, 1), (1, 1)),
        _down_case("a single number (no dimensions)", (), (), role="special"),
        _down_case("an empty batch, (0, 4) down to (4,)", (0, 4), (4,), role="empty"),
        _down_case(
            "an empty batch, (0, 3) down to (1, 3)",
            (0, 3),
            (1, 3),
            role="empty",
            advice="A 1 in shape can be stretched to 0 as well, and a sum over nothing is 0: ask whether the "
            "two sizes differ (!= 1), not whether grad's is larger (> 1).",
        ),
        _down_case(
            "(2, 0, 3) down to (0, 1)",
            (2, 0, 3),
            (0, 1),
            role="empty",
            advice="Both have no element at all: the number of elements tells nothing here. Compare the shapes, and "
            "avoid reductions without a dim.",
        ),
    ),
    hints=(
        "Broadcasting does two things: it puts new dimensions in front, and it stretches dimensions of "
        "size 1. Whatever was repeated has to be summed. Undo the two things one after the other.",
        "First sum over dimension 0 as long as grad has more dimensions than shape. Then go through "
        "shape: where it says 1 and grad has another size, sum over that dimension and keep it "
        "(keepdim=True).",
        "while grad.dim() > len(shape): grad = grad.sum(0). Then for i, size in enumerate(shape): if "
        "size == 1 and grad.shape[i] != 1: grad = grad.sum(i, keepdim=True). Return grad.",
    ),
    is_function=True,
    second_order="not-judged",
    gradcheck=False,
    float32=False,
    half=False,
    meta=False,
    forward_slips=(
        ForwardSlip(
            "The result is a mean over the broadcast dimensions, not a sum.",
            "Each use of the tensor adds its own part to the gradient: nothing is divided.",
            lambda grad, shape: (
                sum_down(grad, shape) / (grad.numel() / max(torch.empty(tuple(shape)).numel(), 1))
            ),
        ),
        ForwardSlip(
            "One slice of grad is picked; the other copies are dropped.",
            "All copies count: sum over them.",
            lambda grad, shape: _first_slice(grad, shape),
        ),
        ForwardSlip(
            "Everything is summed, and the total stands in every element.",
            "Sum only over the dimensions that broadcasting made or stretched.",
            lambda grad, shape: grad.sum().expand(tuple(shape)),
        ),
    ),
)


def _first_slice(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """The mistake of taking one copy of the gradient instead of the sum of all."""
    while grad.dim() > len(shape):
        grad = grad[0]
    for i, size in enumerate(shape):
        if size == 1:
            grad = grad.narrow(i, 0, 1)
    return grad


# ---- Multiply --------------------------------------------------------------------------------


def _factors(name: str, a: tuple[int, ...], b: tuple[int, ...], **more: Any) -> Case:
    return Case(name, lambda s: (s.away_from(*a), s.away_from(*b)), **more)


def _large_factors(s: Sampler) -> tuple[Tensor, Tensor]:
    ends = torch.tensor([-1000.0, 1000.0, 1e-3], dtype=torch.float64)
    return ends + s.uniform(2, 3), s.uniform(3, low=0.5, high=1.5)


def _zero_factors(s: Sampler) -> tuple[Tensor, Tensor]:
    a = s.normal(2, 3)
    a[0, 1] = 0.0
    return a, torch.tensor([0.0, 1.5, -2.0], dtype=torch.float64)


def _product_misconception(message: str, hint: str, formula: Any) -> Misconception:
    return Misconception(
        message, hint, lambda a, b, *, grad_output: (formula(a, b, grad_output, 0), formula(a, b, grad_output, 1))
    )  # fmt: skip


def _own_factor(a: Tensor, b: Tensor, g: Tensor, position: int) -> Tensor:
    own = (a, b)[position]
    return sum_down(g * own, own.shape)


def _whole_output(a: Tensor, b: Tensor, g: Tensor, position: int) -> Tensor:
    return sum_down(g * a * b, (a, b)[position].shape)


def _no_factor(a: Tensor, b: Tensor, g: Tensor, position: int) -> Tensor:
    return sum_down(g, (a, b)[position].shape)


def _all_summed(a: Tensor, b: Tensor, g: Tensor, position: int) -> Tensor:
    return (g * (b, a)[position]).sum().expand((a, b)[position].shape)


def _summed_first(a: Tensor, b: Tensor, g: Tensor, position: int) -> Tensor:
    shape = (a, b)[position].shape
    return sum_down(sum_down(g, shape) * (b, a)[position], shape)


def _one_copy(a: Tensor, b: Tensor, g: Tensor, position: int) -> Tensor:
    return _first_slice((g * (b, a)[position]).expand(g.shape), (a, b)[position].shape)


MULTIPLY = Exercise(
    name="Multiply",
    lesson=LESSON,
    summary="a · b, element by element, for any two shapes that broadcast.",
    signature="(a, b)",
    reference=lambda a, b: a * b,
    cases=(
        _factors("a matrix times a row", (3, 4), (4,), visible=True),
        _factors("a column times a row: both are stretched", (3, 1), (1, 4), visible=True),
        _factors("two matrices of one shape", (2, 3), (2, 3)),
        _factors("a single number times a matrix", (), (2, 3)),
        _factors("a row times a batch of matrices", (4,), (2, 3, 4)),
        Case(
            "zeros among the factors",
            _zero_factors,
            role="special",
            second=True,
            advice="a · b divided by b does not give a back where b is 0. Save the factors themselves.",
        ),
        _factors("a batch of matrices times a column", (2, 3, 4), (3, 1), role="batch"),
        _factors("a batch of matrices times a row", (3, 2, 4), (4,), role="batch"),
        _factors("two single numbers", (), (), role="batch"),
        _factors("an empty batch times a row", (0, 4), (4,), role="empty"),
        _factors(
            "an empty batch times a single row of two dimensions", (0, 3), (1, 3), role="empty"
        ),
        Case("inputs of ±1000", _large_factors, role="extreme"),
    ),
    budget=lambda args, outputs: bytes_of(args[0], args[1]),
    budget_words="a and b",
    hints=(
        "When a grows a little, by how much does a · b grow? Which tensor does that gradient need, and "
        "which shape must it have in the end?",
        "The product grad_output * b has the shape of the output. Where a was broadcast, every copy of "
        "an element of a contributes: sum the product down to the shape of a. You have just written the "
        "function for that.",
        "grad_a = unbroadcast(grad_output * b, a.shape) and grad_b = unbroadcast(grad_output * a, "
        "b.shape), each only where ctx.needs_input_grad says so.",
    ),
    misconceptions=(
        _product_misconception(
            "Each factor's gradient is multiplied by the factor itself, not by the other one.",
            "When a grows by 1, a · b grows by b.",
            _own_factor,
        ),
        _product_misconception(
            "The gradient is multiplied by the output a · b.",
            "The derivative of a · b with respect to a is b alone.",
            _whole_output,
        ),
        _product_misconception(
            "grad_output is handed on without the other factor: that is the backward of a + b.",
            "When a grows by 1, a · b grows by b.",
            _no_factor,
        ),
        _product_misconception(
            "grad_output is summed before it is multiplied by the other factor; the sum belongs after it.",
            "Every copy of an element has its own partner in the other factor: multiply first, then sum the "
            "products down to the shape.",
            _summed_first,
        ),
        _product_misconception(
            "Everything is summed to one number, and each element gets the total.",
            "Sum only over the dimensions that broadcasting made or stretched.",
            _all_summed,
        ),
        _product_misconception(
            "Of a factor that was broadcast only one copy gets its gradient; the others are dropped.",
            "All copies are the same element: their gradients are summed.",
            _one_copy,
        ),
        *MULTIPLY_SLOPES,
    ),
    forward_slips=(
        ForwardSlip("The output is a + b.", "The contract is the product.", lambda a, b: a + b),
        ForwardSlip("The output is a².", "Multiply a by b.", lambda a, b: (a * a).expand_as(a * b)),
        *MULTIPLY_VALUES,
    ),
)
