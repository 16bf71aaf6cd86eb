"""Known wrong values, recognised in what the learner's code computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from autograder.causes.misconceptions import either
from autograder.compare import close
from autograder.evidence import Evidence, Pair
from autograder.exercise import ForwardSlip
from autograder.expected import reference_arguments


def known_slip(ev: Evidence, pairs: Sequence[Pair]) -> ForwardSlip | None:
    """The exercise's known slip that gives the learner's output in all these pairs.

    Where several do, their sentences stand side by side: these pairs do not tell them apart.
    """
    found = [s for s in ev.exercise.forward_slips if _gives(s, pairs)]
    if not found:
        return None
    message, hint = either([(s.message, s.hint) for s in found])
    return replace(found[0], message=message, hint=hint)


def slip_at(ev: Evidence, pairs: Sequence[Pair]) -> ForwardSlip | None:
    """The slip that is made in these pairs alone: best one that spoils no plain case, for those are right."""
    return known_slip(ev, [*pairs, *ev.plain]) or known_slip(ev, pairs)


def slip_where_it_runs(ev: Evidence) -> ForwardSlip | None:
    """The known slip in the outputs that came, where other cases stop with an error; at least one is wrong."""
    ran = [p for p in ev.plain if p.answer.failure is None and p.answer.outputs]
    if all(same_outputs(p, p.expected.outputs) for p in ran):
        return None
    return known_slip(ev, ran)


def _gives(slip: ForwardSlip, pairs: Sequence[Pair]) -> bool:
    for pair in pairs:
        try:
            wrong = slip.value(*reference_arguments(pair.question))
        except Exception:  # a known slip need not make sense for every case
            return False
        if not same_outputs(pair, wrong):
            return False
    return True


def same_outputs(pair: Pair, wrong: Any) -> bool:
    """Whether the learner's outputs are these wrong ones, of which there may be one or several."""
    values = wrong if isinstance(wrong, tuple | list) else (wrong,)
    return all(
        isinstance(value, Tensor) and _same(output, value.detach())
        for output, value in zip(_outputs(pair), values, strict=False)
    )


def _outputs(pair: Pair) -> list[Tensor]:
    """The learner's outputs that are tensors where the reference has tensors."""
    both = zip(pair.answer.outputs or (), pair.expected.outputs, strict=False)
    return [o for o, right in both if isinstance(o, Tensor) and isinstance(right, Tensor)]


def _same(output: Tensor, value: Tensor) -> bool:
    """Whether they agree, NaN where the wrong formula gives NaN included."""
    if output.shape != value.shape:
        return False
    both = output.isnan() & value.isnan()
    return close(output.masked_fill(both, 0), value.masked_fill(both, 0))
