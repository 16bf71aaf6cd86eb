"""Range: other layouts, shapes, dtypes, devices and special points than the ordinary cases."""

from __future__ import annotations

import torch

from autograder.judging.evidence import Evidence
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.problems import first_problem
from autograder.judging.rules.registry import NOT_ASKED, Rule, Undecided, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")
# Of plain functions: what is wrong in every case is told once.
_OF_FUNCTIONS = ("output_dtype", "function_gradients_agree")


@rule("fails-special-point", needs=_RIGHT)
def special_points(ev: Evidence) -> Verdict:
    """Kinks, bounds and ties follow the stated convention."""
    return first_problem(ev, ev.pairs("run", "function", role="special"), "fails-special-point", "special")  # fmt: skip


@rule("fails-batch-dims", needs=_RIGHT)
def batch_dimensions(ev: Evidence) -> Verdict:
    """Any number of batch dimensions works."""
    asked = ev.pairs("run", "function", role="batch", variant="")
    return first_problem(ev, asked, "fails-batch-dims", "batch")


@rule("fails-noncontiguous", needs=(*_RIGHT, *_OF_FUNCTIONS, "batch_dimensions"))
def other_strides(ev: Evidence) -> Verdict:
    """Tensors that are not contiguous work as well."""
    asked = [p for v in ("transposed", "consumer") for p in ev.pairs("run", "function", variant=v)]
    found = first_problem(ev, asked, "fails-noncontiguous", "strides")
    if isinstance(found, Finding) and found.pair is not None:
        found.facts["upstream_only"] = found.pair.question.variant == "consumer"
    return found


@rule("fails-expanded-upstream", needs=(*_RIGHT, "batch_dimensions"))
def expanded_upstream(ev: Evidence) -> Verdict:
    """An expanded (stride-0) upstream gradient, as sum() gives it, works as well."""
    asked = ev.pairs("run", variant="expanded")
    return first_problem(ev, asked, "fails-expanded-upstream", "expanded")


@rule("fails-empty", needs=(*_RIGHT, *_OF_FUNCTIONS, "batch_dimensions"))
def empty_tensors(ev: Evidence) -> Verdict:
    """Empty tensors work as well."""
    return first_problem(ev, ev.pairs("run", "function", role="empty"), "fails-empty", "empty")


@rule("fails-float32", needs=_RIGHT)
def single_precision(ev: Evidence) -> Verdict:
    """float32 works as float64 does."""
    asked = [p for p in ev.pairs("run", variant="float32") if p.question.role != "extreme"]
    return first_problem(ev, asked, "fails-float32", "float32", torch.float32)


@rule("fails-half", needs=(*_RIGHT, "single_precision"))
def half_precision(ev: Evidence) -> Verdict:
    """bfloat16 works: the dtype is kept and the values are as close as eight bits allow."""
    return first_problem(ev, ev.pairs("run", variant="bfloat16"), "fails-half", "bfloat16", torch.bfloat16)  # fmt: skip


@rule("fails-device", needs=_RIGHT)
def other_devices(ev: Evidence) -> Verdict:
    """New tensors are made on the device of the input."""
    meta = list(ev.pairs("run", variant="meta"))
    cuda = [p for p in ev.pairs("run") if p.question.variant.startswith("cuda")]
    if isinstance(found := first_problem(ev, cuda, "fails-device", "device"), Finding):
        return found
    for pair in meta:
        failure = pair.answer.failure
        if failure is None:
            continue
        if _mixes_devices(failure.message):
            line = {"line": failure.line, "source": failure.source} if failure.own_frame else {}
            original = f"{failure.kind}: {failure.message}"[:300]
            return fault(
                "fails-device", "device/cpu", pair, evidence={"original": original, **line}
            )
        if not cuda:
            return Undecided("some operation cannot run without data, so other devices were not tried")  # fmt: skip
    return None if meta or cuda else NOT_ASKED


def _mixes_devices(message: str) -> bool:
    return (
        "on the same device" in message
        or "expected device meta but got cpu" in message
        # What converts to NumPy works on the CPU by intention.
        or ("numpy" not in message and all(word in message for word in ("meta", "cpu", "device")))
    )


@rule("loses-precision", needs=("forward_runs", "output_shape"))
def keeps_precision(ev: Evidence) -> Verdict:
    """float64 stays float64 inside."""
    dtype = ev.observation.facts.get("computes_in")
    if not ev.exercise.strictness.as_given or not ev.plain:
        return NOT_ASKED
    return fault("loses-precision", "range/precision", ev.plain[0], dtype=dtype) if dtype else None


RULES: tuple[Rule, ...] = (
    special_points, batch_dimensions, other_strides, expanded_upstream, empty_tensors,
    single_precision, half_precision, other_devices,
)  # fmt: skip
