"""Reports for any Function, not only the course's: an exercise made from inputs and what is known of it.

Without a reference the values of forward are believed, and its slopes are measured
(``autograder.contract.measured``). With one, the reference decides; where gradcheck rejects its gradient
too, at a kink, a case is a special one.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from autograder.contract.drawing import is_small
from autograder.contract.exercise import Case, Exercise, Role, Strictness
from autograder.contract.measured import Measured
from autograder.contract.real_numbers import is_differentiable
from autograder.contract.references import cast
from autograder.contract.ties import Tie, ties_of
from autograder.observation.snapshot import Unseen, boxed, opened

# Rules that say nothing where forward is its own reference.
VALUES = frozenset({"output_has_value", "output_shape", "output_dtype", "output_value"})
# What is worth saying, and makes no number wrong: rules, and causes of rules.
ADVICE = frozenset({
    "ignores-needs-input-grad", "saves-on-ctx", "second/stops", "second/none", "loses-precision",
    "gradient-unsummed", "gradient-dtype", "uses-autograd", "writes/buffer", "writes/harmless", "device/cpu",
    "stops/refused", "transforms/func-stops",
})  # fmt: skip
# How a derivative is computed, nobody has to care who uses it.
_NOT_JUDGED = frozenset({"finite-differences"})
_HINT = "There are no hints for a Function that is not from the course; explain(rule) says more."


@dataclass(frozen=True)
class Terms:
    """What one says of a Function beside its inputs. Names as gradcheck's, where it has them.

    reference     a torch function with the right values and gradients
    surrogate     a torch function whose gradient is the one that is meant, where it is no derivative
    atol, rtol    what a number may be off by, beyond what is always allowed (1e-6 of it, and what was measured)
    eps           the step of central differences; None: the one that is most exact, measured
    nondet_tol    what two calls with the same arguments may differ by
    dtypes        what else than float64 is asked; None: float32 where there is a reference
    second_order  True: has to be there; None: has to be right where it is there; False: is not asked
    ignore        names of rules that are not judged
    strict        advice counts as an error
    """

    reference: Callable[..., Any] | None = None
    surrogate: Callable[..., Any] | None = None
    atol: float = 0.0
    rtol: float = 0.0
    eps: float | None = None
    nondet_tol: float = 0.0
    dtypes: Sequence[torch.dtype] | None = None
    second_order: bool | None = None
    ignore: frozenset[str] = field(default_factory=frozenset)
    strict: bool = False

    @property
    def exact(self) -> bool:
        """Whether somebody says what is right, or how exactly."""
        return bool(self.reference or self.surrogate or self.strict or self.atol or self.rtol)

    @property
    def strictness(self) -> Strictness:
        advice = frozenset() if self.strict else ADVICE
        advice -= {"second/stops", "second/none"} if self.second_order else frozenset()
        return Strictness(
            advice, self.ignore | _NOT_JUDGED, self.atol + self.nondet_tol, self.rtol, as_given=True
        )


def sensible(**numbers: Any) -> None:
    """ValueError for one that is no finite number, 0 or more; None leaves it out."""
    for name, value in numbers.items():
        if value is None or (isinstance(value, Real) and 0 <= float(value) < math.inf):
            continue
        raise ValueError(f"{name} has to be a number, 0 or more: it is {value!r}.")
    if numbers.get("eps") == 0:
        raise ValueError("eps is how far numbers are moved: it has to be more than 0.")


@dataclass(frozen=True)
class Given:
    """Inputs as an exercise takes them: each tensor an argument of its own, in float64.

    sets      the arguments, flat, of each set; wants: positions of those that are differentiated
    kept      the same in the dtypes that they were given in
    restore   puts flat arguments together again, as they were given; None where they are that already
    names     of the flat arguments
    dtype     the one floating-point dtype that all were given in; None where there are several
    ties      parameters among them of modules that read them
    """

    sets: tuple[tuple[Any, ...], ...]
    kept: tuple[tuple[Any, ...], ...]
    wants: tuple[tuple[int, ...], ...]
    restore: Callable[[Sequence[Any]], Sequence[Any]] | None
    names: Callable[[Sequence[str]], list[str]]
    dtype: torch.dtype | None = None
    ties: tuple[Tie, ...] = ()

    @property
    def left_out(self) -> set[int]:
        """Positions of arguments that require grad and cannot be looked into."""
        return {
            i
            for args in self.sets
            for i, a in enumerate(args)
            if isinstance(a, Unseen) and a.wanted
        }


def given(inputs: Any) -> Given:
    """Inputs as ``evaluate`` takes them. TypeError for anything else, ValueError where nothing is differentiable."""
    sets = _input_sets(inputs)
    nested = any(map(_nested, sets))
    flat = [pytree.tree_flatten(args) if nested else (list(args), None) for args in sets]
    specs = {len(leaves): spec for leaves, spec in flat}
    rows = [[boxed(leaf) for leaf in leaves] for leaves, _ in flat]
    boxes = any(isinstance(leaf, Unseen) for row in rows for leaf in row)
    if any(spec != specs[len(leaves)] for leaves, spec in flat):
        raise ValueError("sets of inputs with as many tensors must be nested in the same way.")
    wants = [_wanted(row) for row in rows]
    for row, wanted in zip(rows, wants, strict=True):
        if not wanted:  # nothing that can be moved: what could be differentiated stays open
            row[:] = [
                replace(a, wanted=is_differentiable(a.tensor) and not a.tensor.is_meta) if isinstance(a, Unseen) else a
                for a in row
            ]  # fmt: skip
        if not wanted and not any(isinstance(a, Unseen) and a.wanted for a in row):
            raise ValueError(
                "at least one of the inputs must be a floating-point tensor with numbers in it."
            )

    def names(of: Sequence[str]) -> list[str]:
        if not nested:
            return list(of)
        longest = max(zip(rows, sets, strict=True), key=lambda each: len(each[0]))[1]
        paths = [path for path, _ in pytree.tree_flatten_with_path(longest)[0]]
        first, last = len(of) - 1, of[-1].strip("*")
        starred = (
            [*of[:-1], *(f"{last}[{k}]" for k in range(len(longest) - first))]
            if of[-1] != last
            else [*of]
        )
        starred += [f"argument {i + 1}" for i in range(len(starred), len(longest))]
        return [starred[path[0].idx] + pytree.keystr(path[1:]) for path in paths]  # type: ignore[attr-defined]

    def restore(leaves: Sequence[Any]) -> Sequence[Any]:
        ready = [opened(leaf) for leaf in leaves]
        spec = specs[len(ready)]
        return ready if spec is None else pytree.tree_unflatten(ready, spec)

    kept = tuple(
        tuple(a.detach().cpu().clone() if isinstance(a, Tensor) else a for a in row) for row in rows
    )
    fixed = tuple(cast(row, torch.float64) for row in kept)  # modules too
    dtypes = {a.dtype for row in rows for a in row if is_differentiable(a)}
    dtype = dtypes.pop() if len(dtypes) == 1 else None
    restored = restore if boxes or nested else None
    return Given(fixed, kept, tuple(wants), restored, names, dtype, ties_of(flat[0][0]))


def exercise_for(
    inputs: Given, terms: Terms, measured: Measured, submission: Any, name: str = "",
    also: tuple[str, ...] = (), wrapped: bool = False, draws: bool = False,
) -> Exercise:  # fmt: skip
    """An exercise that asks of a submission what ``reference`` does on the inputs.

    measured  the submission's own forward, to be compared with where there is no reference
    also      what else is asked (``Exercise.also``)
    draws     forward draws random numbers: in another layout or dtype it draws others
    wrapped   the submission is no class: tensors that it brings along live on the CPU
    """
    reference = terms.reference or measured
    if terms.surrogate is not None:
        reference = _with_gradient_of(reference, terms.surrogate)
    smooth = [
        terms.reference is None or gradcheck_accepts(terms.reference, *each)
        for each in zip(inputs.sets, inputs.wants, strict=True)
    ]
    cases = tuple(
        _case(i, *each, len(smooth), kink=any(smooth) and not smooth[i])
        for i, each in enumerate(zip(inputs.sets, inputs.kept, inputs.wants, strict=True))
    )
    compared = terms.reference is not None
    # The gradient of a surrogate is one that somebody means; of its derivative nobody spoke.
    asked = terms.second_order or (terms.second_order is None and terms.surrogate is None)
    asked = asked and any(inputs.wants)
    dtypes = terms.dtypes if terms.dtypes is not None else (torch.float32,) * compared
    plain = all(
        isinstance(a, Tensor | int | float | str | None) for args in inputs.sets for a in args
    )
    return Exercise(
        name=name
        or getattr(submission, "__name__", None)
        or getattr(submission, "_name", None)
        or type(submission).__name__,
        lesson="",
        summary="The reference's values and gradients."
        if compared
        else "Its own forward's gradients.",
        signature=f"({', '.join(inputs.names(_names(submission, terms.reference)))})",
        reference=reference,
        cases=cases,
        hints=(_HINT, _HINT, _HINT),
        second_order="right" if asked else "not-judged",
        gradcheck=False,
        half=torch.bfloat16 in dtypes and not draws,
        float32=torch.float32 in dtypes and not draws,
        noncontiguous=not draws,
        any_size=False,
        meta=plain and not wrapped,
        may_use_autograd=True,
        strictness=terms.strictness,
        also=also,
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
    return sets


def _nested(args: tuple[Any, ...]) -> bool:
    containers = [a for a in args if isinstance(a, list | tuple | dict)]
    return any(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(containers))


def _wanted(leaves: Sequence[Any]) -> tuple[int, ...]:
    """Those that require grad, as gradcheck reads it; where none does, all that could."""
    chosen = [i for i, a in enumerate(leaves) if isinstance(a, Tensor) and a.requires_grad]
    return tuple(chosen or [i for i, a in enumerate(leaves) if is_differentiable(a)])


def _case(
    i: int, args: tuple[Any, ...], kept: tuple[Any, ...], wants: tuple[int, ...], count: int, kink: bool
) -> Case:  # fmt: skip
    words = "your inputs" if count == 1 else f"your inputs, set {i + 1}"
    both = ((a, b) for a, b in zip(args, kept, strict=True) if isinstance(a, Tensor))
    given = kept if any(a.dtype != b.dtype for a, b in both) else None
    role: Role = "special" if kink else "main"
    return Case(words, lambda sampler: args, role, wants, given=given)


def _with_gradient_of(
    values: Callable[..., Any], surrogate: Callable[..., Any]
) -> Callable[..., Any]:
    """A function with the values of one function and the gradients of another."""

    def reference(*args: Any) -> Any:
        with torch.no_grad():
            right = values(*[a.detach() if isinstance(a, Tensor) else a for a in args])
        meant = surrogate(*args)
        if isinstance(right, tuple | list):
            return tuple(map(_straight, right, meant))
        return _straight(right, meant)

    reference.own = isinstance(values, Measured)  # type: ignore[attr-defined]
    return reference


def _straight(value: Any, meant: Any) -> Any:
    if not isinstance(value, Tensor) or not isinstance(meant, Tensor) or not meant.requires_grad:
        return value
    return value.detach() + (meant - meant.detach())


def gradcheck_accepts(
    function: Callable[..., Any], args: tuple[Any, ...], wants: tuple[int, ...]
) -> bool:
    """Whether gradcheck accepts the gradients of a function; True where gradcheck is not asked."""
    if not is_small(args):
        return True
    leaves = [a.clone().requires_grad_() if i in wants else a for i, a in enumerate(args)]
    try:
        with torch.enable_grad():
            return torch.autograd.gradcheck(function, leaves, raise_exception=False)
    except Exception:  # what stops with an error is told of when it is used
        return True


def _names(submission: Any, reference: Callable[..., Any] | None) -> list[str]:
    """Names for the arguments, from forward (without ctx) or from the reference."""
    owner = getattr(submission, "__self__", submission)
    of_class = isinstance(owner, type) and issubclass(owner, torch.autograd.Function)
    # torch's apply takes *args; one of its own may have names.
    applied = owner.apply if of_class else None
    for function in filter(None, (applied, getattr(owner, "forward", None), reference, submission)):
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        names = [p.name for p in parameters if p.name not in ("ctx", "self") and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]  # fmt: skip
        starred = [f"*{p.name}" for p in parameters if p.kind == p.VAR_POSITIONAL]
        if (names or starred) and starred != ["*args"]:
            return names + starred
    return ["x"]
