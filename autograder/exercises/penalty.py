"""gradient_penalty of lesson 05: a loss that is made of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, ForwardSlip, Named, Scenario
from autograder.exercises import penalty_experiments as experiments
from autograder.exercises.hessian_experiments import judge_tidy
from autograder.exercises.penalty_mistakes import MADE_OTHERWISE, of_critic, of_gradient

LESSON = "05_double_backward"


def _lengths(critic: Callable[[Tensor], Tensor], x: Tensor, power: float = 0.5) -> Tensor:
    """(Σ of the squared gradient of each sample) to a power; shape (N,)."""
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(critic(x).sum(), x)
    return (gradient.flatten(1) ** 2).sum(1) ** power


# Small numbers that are added so that the root has a slope at 0; the norm's own slope there is agreed.
_SMALL = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
_EXACT_NORM = (
    "A small number is added to the length of the gradient; the contract asks for the exact norm.",
    "torch.linalg.vector_norm is exact, and its gradient at a zero vector is 0: nothing has to be added.",
)


def _under_the_root(small: float) -> Callable[..., Tensor]:
    return lambda critic, x: (((_lengths(critic, x, 1.0) + small).sqrt() - 1) ** 2).mean()


def _beside_the_root(small: float) -> Callable[..., Tensor]:
    return lambda critic, x: ((_lengths(critic, x) + small - 1) ** 2).mean()


def _mean_of_squares(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    features = x[0].numel()
    return (((_lengths(critic, x, 1.0) / features).sqrt() - 1) ** 2).mean()


def _over_the_batch(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(critic(x).sum(), x)
    return ((gradient.flatten(1).norm(dim=0) - 1) ** 2).mean()


def _over_dimensions(*dims: int) -> Callable[..., Tensor]:
    """The penalty with the norm over these dimensions, those that a sample has."""

    def penalty(critic: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        x = x.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(critic(x).sum(), x)
        there = [d for d in dims if -gradient.dim() < d < gradient.dim()]
        return ((gradient.norm(dim=there) - 1) ** 2).mean()

    return penalty


def _critic_case(name: str, critic: Named, *shape: int, **more: Any) -> Case:
    return Case(name, lambda s: (critic, s.normal(*shape)), **more)


GRADIENT_PENALTY = Exercise(
    name="gradient_penalty",
    lesson=LESSON,
    summary="the mean over the batch of (‖∇ₓ critic(x)‖₂ − 1)², differentiable in the critic's parameters.",
    signature="(critic, x)",
    reference=experiments.reference_penalty,
    cases=(
        _critic_case("samples with 3 features", Named("tanh_critic", (0.8,)), 4, 3, visible=True),
        _critic_case(
            "a critic that gives a column (N, 1)",
            Named("quadratic_critic", (0.6,)),
            5,
            2,
            visible=True,
        ),
        _critic_case("samples of shape (2, 3)", Named("tanh_critic", (1.1,)), 4, 2, 3),
        _critic_case(
            "pictures: samples of shape (2, 3, 2)", Named("column_critic", (0.3,)), 3, 2, 3, 2
        ),
        _critic_case("a batch of a single sample", Named("quadratic_critic", (0.4,)), 1, 4),
        _critic_case("steep samples", Named("quadratic_critic", (2.0,)), 3, 4),
    ),
    hints=(
        "The penalty is made of a gradient, and is itself differentiated when the critic trains. So "
        "which argument of torch.autograd.grad keeps the gradient in the graph?",
        "x = x.detach().requires_grad_(True); differentiate critic(x).sum() with respect to x (each "
        "sample's score depends on that sample alone); flatten all but the batch dimension for the norm.",
        "(g,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True); "
        "((torch.linalg.vector_norm(g.flatten(1), dim=1) - 1) ** 2).mean().",
    ),
    is_function=True,
    second_order="not-judged",
    gradcheck=False,
    may_use_autograd=True,
    float32=False,
    half=False,
    meta=False,
    forward_slips=(
        ForwardSlip(
            "One norm is taken over the whole batch.",
            "Every sample has its own gradient and its own length: flatten(1), then the norm over dim 1.",
            lambda critic, x: (_lengths(critic, x, 1.0).sum().sqrt() - 1) ** 2,
        ),
        ForwardSlip(
            "The penalties of the batch are summed; the mean is asked for.",
            "The size of the batch should not matter: .mean().",
            lambda critic, x: ((_lengths(critic, x) - 1) ** 2).sum(),
        ),
        ForwardSlip(
            "The square root is missing: the squared length is compared with 1.",
            "‖g‖ = √Σ g².",
            lambda critic, x: ((_lengths(critic, x, 1.0) - 1) ** 2).mean(),
        ),
        ForwardSlip(
            "The 1 is not subtracted: this pulls all gradients to zero.",
            "The target length is 1: (‖g‖ − 1)².",
            lambda critic, x: (_lengths(critic, x) ** 2).mean(),
        ),
        ForwardSlip(
            "The difference from 1 is not squared: its absolute value is taken.",
            "(‖g‖ − 1)².",
            lambda critic, x: (_lengths(critic, x) - 1).abs().mean(),
        ),
        ForwardSlip(
            "The difference from 1 is not squared.",
            "(‖g‖ − 1)², so that both sides of 1 are penalised.",
            lambda critic, x: (_lengths(critic, x) - 1).mean(),
        ),
        ForwardSlip(
            "The mean is taken before the square.",
            "First the penalty of every sample, then the mean of the penalties.",
            lambda critic, x: (_lengths(critic, x).mean() - 1) ** 2,
            call="mean",
        ),
        ForwardSlip(
            "Only gradients longer than 1 are penalised.",
            "Here both sides count: no max with 0.",
            lambda critic, x: ((_lengths(critic, x) - 1).clamp(min=0) ** 2).mean(),
        ),
        ForwardSlip(
            "critic(x).mean() is differentiated: every gradient is shorter by the size of the batch.",
            "Differentiate critic(x).sum(): then row i is the gradient of sample i's own score.",
            lambda critic, x: ((_lengths(critic, x) / len(x) - 1) ** 2).mean(),
            call="mean",
        ),
        ForwardSlip(
            "The squares are averaged inside the root, not added up.",
            "The length of a gradient is √Σ g²: a sum. Only the penalties of the samples are averaged.",
            _mean_of_squares,
            call="mean",
        ),
        ForwardSlip(
            "The norm runs over the batch: one length for each feature.",
            "Row i of the gradient belongs to sample i: flatten(1), then the norm over dim 1.",
            _over_the_batch,
            call="norm",
        ),
        *(ForwardSlip(said, hint, of_gradient(way)) for said, hint, way in MADE_OTHERWISE),
        ForwardSlip(
            "The length of the critic's score is penalised; the one of its gradient is asked for.",
            "Differentiate first: torch.autograd.grad(critic(x).sum(), x, create_graph=True).",
            of_critic,
        ),
        *(ForwardSlip(*_EXACT_NORM, _under_the_root(small), "sqrt") for small in _SMALL),
        *(ForwardSlip(*_EXACT_NORM, _beside_the_root(small)) for small in _SMALL),
        *(
            ForwardSlip(
                f"The norm is taken over {words}; a sample may have several dimensions, and the norm runs over all of them.",
                "Flatten each sample first: gradient.flatten(1).",
                _over_dimensions(*dims),
            )
            for words, dims in (
                ("dimension 1 alone", (1,)),
                ("the last dimension alone", (-1,)),
                ("the last two dimensions alone", (-1, -2)),
                ("dimensions 1 and 2 alone", (1, 2)),
            )
        ),
    ),
    scenarios=(
        Scenario(
            "a zero gradient has the length 0",
            "value",
            experiments.run_zero_length,
            experiments.judge_zero_length,
            visible=True,
            needs=("output_value",),
        ),
        Scenario(
            "the critic's parameters get gradients",
            "parameters-without-gradient",
            experiments.run_training,
            experiments.judge_trainable,
            visible=True,
            needs=("output_value",),
        ),
        Scenario(
            "the gradients of the critic's parameters are right",
            "gradient-value",
            experiments.run_training,
            experiments.judge_training,
            needs=("output_value", "scenario the critic's parameters get gradients"),
        ),
        Scenario(
            "everything is finite where the critic is flat",
            "gradient-unstable",
            experiments.run_flat,
            experiments.judge_flat,
            needs=("output_value", "scenario the critic's parameters get gradients"),
        ),
        Scenario(
            "no .grad is left behind",
            "mutates-input",
            experiments.run_tidy_penalty,
            judge_tidy,
            needs=("output_value",),
        ),
    ),
)
