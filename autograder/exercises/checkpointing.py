"""Lesson 06, trade compute for memory: measuring what is kept, and keeping less of it."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograder.exercise import (
    Case,
    Exercise,
    ForwardSlip,
    Misconception,
    Named,
    Scenario,
    bytes_of,
)
from autograder.exercises import recompute_costs as costs
from autograder.exercises import recomputed_arguments as again
from autograder.exercises import recomputing as experiments
from autograder.exercises import recomputing_random as random
from autograder.exercises.bfloat16_hooks import SAVE_IN_BFLOAT16
from autograder.exercises.measuring import RANDOM_STATE_BYTES
from autograder.exercises.saved_bytes import SAVED_BYTES
from autograder.exercises.segments import CHECKPOINT_SEQUENTIAL
from autograder.functions import resolve

LESSON = "06_checkpointing"


def _plain_call(fn: Any, *args: Any) -> Any:
    """fn(*args); fn may still be a name, as in a question."""
    return (resolve(fn) if isinstance(fn, Named) else fn)(*args)


def _allowed(args: tuple[Any, ...], outputs: tuple[Tensor, ...]) -> int:
    """The tensor arguments and one random state."""
    return bytes_of(*(a for a in args if isinstance(a, Tensor))) + RANDOM_STATE_BYTES


def _by_upstream_only(fn: Any, *args: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
    """grad_output handed on as it is, where its shape fits."""
    return (None, *(grad_output if isinstance(a, Tensor) else None for a in args))


_RIGHT = ("output_value", "gradients_agree")
_PARAMETERS = (*_RIGHT, "scenario the recomputation has a graph of its own")
_STEP = (*_PARAMETERS, "scenario parameters that fn captures get gradients")
_AGAIN = (*_RIGHT, "scenario fn runs again in backward")
_TWICE = (*_AGAIN, *_STEP, "scenario a second derivative is right, or refused")

CHECKPOINT = Exercise(
    name="Checkpoint",
    lesson=LESSON,
    summary="fn(*args), with nothing kept but the arguments: backward runs fn again.",
    signature="(fn, *args)",
    reference=_plain_call,
    tensors_on_ctx="fine",  # the state of the random generator is a tensor
    cases=(
        Case(
            "a function of one tensor",
            lambda s: (Named("wave", (0.8,)), s.away_from(3, 4)),
            visible=True,
        ),
        Case(
            "a function of two matrices",
            lambda s: (Named("wave_product", (0.7,)), s.normal(2, 3), s.normal(3, 4)),
            visible=True,
        ),
        Case(
            "numbers and a bool between the tensors",
            lambda s: (
                Named("scaled_difference", (0.4,)),
                s.away_from(2, 5),
                1.7,
                s.away_from(2, 5),
                True,
            ),
            visible=True,
        ),
        Case(
            "a tensor of whole numbers among the arguments",
            lambda s: (Named("picked_rows", (0.9,)), s.away_from(4, 3), (s.distinct(5) > 0).long()),
        ),
        Case("an empty batch", lambda s: (Named("wave", (0.6,)), s.normal(0, 3)), role="empty"),
        Case(
            "a batch of matrices",
            lambda s: (Named("wave", (1.1,)), s.away_from(2, 3, 4)),
            role="batch",
        ),
        Case(
            "a single number (0-d)",
            lambda s: (Named("wave", (0.9,)), s.away_from()),
            role="batch",
        ),
    ),
    budget=_allowed,
    budget_words="the tensor arguments and one random state",
    second_order="not-judged",  # a scenario judges it, after the causes that come before it
    may_use_autograd=True,
    hints=(
        "forward already runs without a graph, so nothing inside fn is kept. What does backward need "
        "to build that graph when its time comes, and how does it differentiate it?",
        "backward: the saved tensors, each .detach()ed and made to require grad where "
        "ctx.needs_input_grad says so; fn again under torch.enable_grad(); then torch.autograd.backward"
        "(output, grad_output), which reaches the parameters too. Which random state must hold while fn "
        "runs again?",
        "In forward ctx.state = torch.get_rng_state(). In backward refuse create_graph, then: with "
        "torch.enable_grad(), torch.random.fork_rng(devices=[]): torch.set_rng_state(ctx.state); "
        "output = ctx.fn(*args). Return None for fn, leaf.grad for each tensor, None for the rest.",
    ),
    misconceptions=(
        Misconception(
            "backward hands grad_output on as it is: fn is not differentiated.",
            "Run fn again under torch.enable_grad() and differentiate that run.",
            _by_upstream_only,
        ),
    ),
    forward_slips=(
        ForwardSlip(
            "The output is the first argument itself: fn is not called.",
            "return fn(*args).",
            lambda fn, *args: args[0],
        ),
    ),
    scenarios=(
        Scenario(
            "fn gets the same arguments again",
            "gradient-value",
            again.run_arguments,
            again.judge_arguments,
            visible=True,
            needs=(),
            first=True,
        ),
        Scenario(
            "torch's own checkpoint is not called",
            "uses-builtin",
            costs.run_memory,
            costs.judge_ready_made,
            visible=True,
            needs=_RIGHT,
            cause=True,
        ),
        Scenario(
            "fn runs again in backward",
            "no-recompute",
            costs.run_memory,
            costs.judge_recompute,
            visible=True,
            needs=(*_RIGHT, "scenario torch's own checkpoint is not called"),
            cause=True,
        ),
        Scenario(
            "the recomputation has a graph of its own",
            "raises",
            experiments.run_training,
            experiments.judge_graph,
            visible=True,
            needs=_AGAIN,
        ),
        Scenario(
            "parameters that fn captures get gradients",
            "parameters-without-gradient",
            experiments.run_training,
            experiments.judge_parameters,
            visible=True,
            needs=(*_AGAIN, *_PARAMETERS),
        ),
        Scenario(
            "every gradient arrives once with .backward()",
            "gradient-value",
            experiments.run_training,
            experiments.judge_training,
            visible=True,
            needs=(*_AGAIN, *_STEP),
        ),
        Scenario(
            "the recomputation draws the same random numbers",
            "random-state",
            random.run_random,
            random.judge_same_numbers,
            visible=True,
            needs=_AGAIN,
        ),
        Scenario(
            "the caller's random state is left as it was",
            "random-state",
            random.run_random,
            random.judge_state,
            visible=True,
            needs=(*_AGAIN, "scenario the recomputation draws the same random numbers"),
        ),
        Scenario(
            "the caller's random state is left as it was when fn raises",
            "random-state",
            random.run_interrupted,
            random.judge_interrupted,
            needs=(*_AGAIN, "scenario the caller's random state is left as it was"),
        ),
        Scenario(
            "once in forward and once in backward is enough",
            "too-many-passes",
            costs.run_memory,
            costs.judge_passes,
            needs=_AGAIN,
        ),
        Scenario(
            "nothing but the arguments is kept",
            "saves-too-much",
            costs.run_memory,
            costs.judge_memory,
            needs=_AGAIN,
        ),
        Scenario(
            "an argument that fn does not use is no obstacle",
            "fails-special-point",
            experiments.run_unused,
            experiments.judge_unused,
            needs=(*_AGAIN, *_STEP),
        ),
        Scenario(
            "a second derivative is right, or refused",
            "double-backward-value",
            costs.run_curvature,
            costs.judge_curvature,
            visible=True,
            needs=(*_AGAIN, *_STEP),
        ),
        Scenario(
            ".backward(create_graph=True) reaches parameters, or is refused",
            "parameters-without-gradient",
            costs.run_create_graph,
            costs.judge_create_graph_reaches,
            needs=_TWICE,
        ),
        Scenario(
            ".backward(create_graph=True) gives right gradients, or is refused",
            "gradient-value",
            costs.run_create_graph,
            costs.judge_create_graph,
            needs=(
                *_TWICE,
                "scenario .backward(create_graph=True) reaches parameters, or is refused",
            ),
        ),
    ),
)

EXERCISES = (SAVED_BYTES, CHECKPOINT, CHECKPOINT_SEQUENTIAL, SAVE_IN_BFLOAT16)
