"""Reports for any Function, not only the course's: an exercise made from a reference and inputs.

    evaluate(MyOp, reference=torch_version, inputs=(x, weight, 0.5))

Without a reference the gradient is compared with central differences of the Function's own forward,
so values of forward are taken as right and second derivatives are judged by gradgradcheck.

With one, the reference decides where gradcheck makes sense: at a kink, and for a surrogate gradient, it
rejects the reference as well, so there the gradients are only compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.exercise import Case, Exercise, Sampler
from autograder.plan import SMALL

_EPS = 1e-6  # the step at which central differences are most exact in float64
# Rules (by function name) that say nothing where forward is its own reference.
VALUES = frozenset({"output_has_value", "output_shape", "output_dtype", "output_value"})
_HINT = "There are no hints for a Function that is not from the course; explain(rule) says more."


def exercise_for(
    submission: Any,
    reference: Callable[..., Any] | None,
    inputs: Any,
    name: str = "",
) -> Exercise:
    """An exercise that asks of a submission what ``reference`` does on ``inputs``.

    inputs  one tuple of arguments, or a list of such tuples. Floating tensors are judged in float64;
            those that do not require grad are still differentiated, as gradcheck would need them
    Raises TypeError for inputs that are neither, ValueError where no input is a floating tensor.
    """
    sets = [_fixed(args) for args in _input_sets(inputs)]
    numerical = reference is None
    smooth = [reference is None or _gradcheck_accepts(reference, args) for args in sets]
    cases = tuple(
        _case(i, args, len(sets), kink=any(smooth) and not smooth[i]) for i, args in enumerate(sets)
    )
    name = name or getattr(submission, "__name__", None) or type(submission).__name__
    return Exercise(
        name=name,
        lesson="",
        summary="The reference's values and gradients."
        if reference
        else "Its own forward's gradients.",
        signature=_signature(submission, reference),
        reference=reference if reference is not None else _differences(submission),
        cases=cases,
        hints=(_HINT, _HINT, _HINT),
        second_order="checked" if numerical else "right",
        gradcheck=any(smooth),
        half=False,
        any_size=False,
        float32=not numerical,
        may_use_autograd=True,
    )


def _input_sets(inputs: Any) -> list[tuple[Any, ...]]:
    if isinstance(inputs, Tensor):
        inputs = (inputs,)
    sets = list(inputs) if isinstance(inputs, list) else [inputs]
    if not sets or not all(isinstance(s, tuple) for s in sets):
        raise TypeError(
            "inputs must be a tuple of arguments, as you would pass them to apply: inputs=(x, weight); "
            "or a list of such tuples."
        )
    for args in sets:
        if not any(isinstance(a, Tensor) and a.is_floating_point() for a in args):
            raise ValueError("at least one of the inputs must be a floating-point tensor.")
    return sets


def _fixed(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with floating tensors as float64 copies on the CPU."""
    return tuple(
        a.detach().cpu().to(torch.float64).clone()
        if isinstance(a, Tensor) and a.is_floating_point()
        else a
        for a in args
    )


def _case(i: int, args: tuple[Any, ...], count: int, kink: bool) -> Case:
    words = "your inputs" if count == 1 else f"your inputs, set {i + 1}"

    def make(sampler: Sampler) -> tuple[Any, ...]:
        return args

    return Case(words, make, role="special" if kink else "main", visible=True)


def _gradcheck_accepts(reference: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether gradcheck accepts the reference's own gradient; True where gradcheck is not asked."""
    if any(isinstance(a, Tensor) and a.numel() > SMALL for a in args):
        return True
    leaves = [
        a.clone().requires_grad_() if isinstance(a, Tensor) and a.is_floating_point() else a
        for a in args
    ]
    try:
        with torch.enable_grad():
            return torch.autograd.gradcheck(reference, leaves, raise_exception=False)
    except Exception:  # a reference that stops with an error is told of when it is used
        return True


def _signature(submission: Any, reference: Callable[..., Any] | None) -> str:
    """Names for the arguments, from forward (without ctx) or from the reference."""
    import inspect

    owner = getattr(submission, "__self__", submission)
    functions: Sequence[Any] = (getattr(owner, "forward", None), reference, submission)
    for function in functions:
        if function is None:
            continue
        try:
            names = [p for p in inspect.signature(function).parameters if p not in ("ctx", "self")]
        except (TypeError, ValueError):
            continue
        if names and names != ["args", "kwargs"]:
            return f"({', '.join(names)})"
    return "(x)"


def _differences(submission: Any) -> Callable[..., Any]:
    """The submission's own forward with a backward by central differences."""
    from autograder.submission import Submission

    call = Submission(submission)

    def values(args: tuple[Any, ...]) -> tuple[Any, ...]:
        with torch.no_grad():
            out = call(*[a.detach().clone() if isinstance(a, Tensor) else a for a in args])
        return tuple(out) if isinstance(out, tuple | list) else (out,)

    class CentralDifferences(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.args = tuple(a.detach() if isinstance(a, Tensor) else a for a in args)
            out = values(args)
            ctx.mark_non_differentiable(
                *[o for o in out if isinstance(o, Tensor) and not o.is_floating_point()]
            )
            return out if len(out) > 1 else out[0]

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return tuple(
                _slopes(values, ctx.args, i, grads) if needed else None
                for i, needed in enumerate(ctx.needs_input_grad)
            )

    return CentralDifferences.apply


def _slopes(
    values: Callable[..., tuple[Any, ...]],
    args: tuple[Any, ...],
    position: int,
    grads: Sequence[Any],
) -> Tensor:
    """grad_output · ∂forward/∂args[position], one element at a time (2n calls of forward)."""
    target = args[position]
    slopes = torch.zeros_like(target)
    for index in range(target.numel()):
        sums = []
        for step in (_EPS, -_EPS):
            moved = target.clone()
            moved.view(-1)[index] += step
            out = values((*args[:position], moved, *args[position + 1 :]))
            pairs = [
                (o, g)
                for o, g in zip(out, grads, strict=True)
                if g is not None and o.is_floating_point()
            ]
            sums.append(sum(float((o * g).sum()) for o, g in pairs))
        slopes.view(-1)[index] = (sums[0] - sums[1]) / (2 * _EPS)
    return slopes
