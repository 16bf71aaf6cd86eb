"""Range: other layouts, shapes, dtypes, devices and special points than the ordinary cases."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from autograder.causes.arithmetic_words import first_happened
from autograder.causes.at_point import share_there, with_what_decides
from autograder.causes.dtype_words import with_dtype_source
from autograder.causes.misconceptions import misconception_at
from autograder.causes.shapes import summed_words
from autograder.causes.shapes_of_outputs import of_one_element
from autograder.causes.special_points import blocked_there, gives_up, slip_at_point
from autograder.causes.written_copies import writes_that_never_arrive
from autograder.errors.in_a_case import stops_because
from autograder.evidence import Evidence, Finding, Pair
from autograder.rules.problems import problem
from autograder.rules.registry import NOT_ASKED, Rule, Undecided, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")


def _first_problem(
    ev: Evidence,
    pairs: list[Pair],
    name: str,
    lead: str,
    hint: str,
    dtype: torch.dtype = torch.float64,
) -> Verdict:
    if not pairs:
        return NOT_ASKED
    for pair in pairs:
        found = problem(ev, pair, dtype)
        if found is not None:
            words, evidence = found
            evidence = {"case": pair.where, **evidence}
            failure = pair.answer.failure
            if failure is not None and (why := stops_because(failure, ev, pair)) is not None:
                words, hint = why
                evidence["original"] = f"{failure.kind}: {failure.message}"[:400]
            if failure is None and (cause := first_happened(ev, pair)) is not None:
                words, hint = f"{cause.words}; {words}", cause.hint
                evidence |= cause.line
            return Finding(name, f"{lead.format(case=pair.where)}: {words}.", hint, evidence)
    return None


@rule("fails-special-point", needs=_RIGHT)
def special_points(ev: Evidence) -> Verdict:
    """Kinks, bounds and ties follow the stated convention."""
    verdict = _first_problem(
        ev, list(ev.pairs("run", "function", role="special")), "fails-special-point",
        "Right almost everywhere, but not in one case ({case})",
        "At such a point several answers are possible and the contract names one: read which value is "
        "asked for there, and compare < with <=.",
    )  # fmt: skip
    if not isinstance(verdict, Finding):
        return verdict
    case = verdict.evidence["case"]
    wrong = re.search(r"[:;] the output is (wrong|.* is right)\.$", verdict.message)
    if wrong and (slip := slip_at_point(ev, case)):
        words = slip.message[0].lower() + slip.message[1:]
        verdict.message = f"Right almost everywhere, but not in one case ({case}): {words}"
        verdict.hint = slip.hint
        return verdict
    known = misconception_at(ev, case)
    if known is not None:
        words = known[0][0].lower() + known[0][1:]
        verdict.message = f"Right almost everywhere, but not in one case ({case}): {words}"
        verdict.hint = known[1]
    elif whole := gives_up(ev, case):
        verdict.message, verdict.hint = (
            f"Right almost everywhere, but not in one case ({case}): {whole[0]}",
            whole[1],
        )
        verdict.evidence |= whole[2]
    elif "backward returns None" in verdict.message:
        verdict.hint = (
            "None means that nobody needs that gradient. A derivative of 0 is a tensor of zeros: zeros_like, or the "
            "formula itself, if nothing in it divides by 0 there."
        )
    elif share := share_there(ev, case):
        verdict.message = f"Right almost everywhere, but not in one case ({case}): {share}"
        verdict.hint = ev.advice(case) or verdict.hint
    else:
        advice, blocked = ev.advice(case), blocked_there(ev, case)
        if blocked is not None and not verdict.evidence.get("line"):
            verdict.message = f"Right almost everywhere, but not in one case ({case}): {blocked[0]}"
        verdict.hint = advice or (verdict.hint if blocked is None else blocked[1])
    return with_what_decides(ev, verdict)


def _summed_in_batches(ev: Evidence, finding: Finding) -> tuple[str, str] | None:
    """Which dimensions a gradient is summed over, where these were right as long as there was one."""
    pairs = list(ev.pairs("run", "function", role="batch", variant=""))
    odd = [p for p in pairs if p.where == finding.evidence["case"] and p.answer.failure is None]
    every = [p for p in (*ev.plain, *pairs) if p.question.upstream and p.answer.failure is None]
    for i in odd[0].question.wants if odd else ():
        got, right = odd[0].raw(i), odd[0].right(i)
        if isinstance(got, Tensor) and right is not None and got.shape != right.shape:
            return summed_words(ev, i, odd, [p for p in every if i in p.question.wants])
    return None


# Of plain functions: what is wrong in every case is told once.
_OF_FUNCTIONS = ("output_dtype", "function_gradients_agree")


@rule("fails-noncontiguous", needs=(*_RIGHT, *_OF_FUNCTIONS, "batch_dimensions"))
def other_strides(ev: Evidence) -> Verdict:
    """Tensors that are not contiguous work as well."""
    verdict = _first_problem(
        ev, list(ev.pairs("run", "function", variant="transposed")), "fails-noncontiguous",
        "With the same values stored in another order (a transposed tensor)",
        "Use reshape instead of view, and do not rely on the order in memory.",
    )  # fmt: skip
    return writes_that_never_arrive(ev, verdict) if isinstance(verdict, Finding) else verdict


@rule("fails-expanded-upstream", needs=(*_RIGHT, "batch_dimensions"))
def expanded_upstream(ev: Evidence) -> Verdict:
    """An expanded (stride-0) upstream gradient, as sum() gives it, works as well."""
    return _first_problem(
        ev, list(ev.pairs("run", variant="expanded")), "fails-expanded-upstream",
        "With an expanded upstream gradient, as loss = y.sum() gives it",
        "All its elements share one memory cell: use reshape instead of view and never write to it.",
    )  # fmt: skip


@rule("fails-empty", needs=(*_RIGHT, *_OF_FUNCTIONS, "batch_dimensions"))
def empty_tensors(ev: Evidence) -> Verdict:
    """Empty tensors work as well."""
    verdict = _first_problem(
        ev, list(ev.pairs("run", "function", role="empty")), "fails-empty",
        "With {case}",
        "An empty batch is ordinary in practice. Avoid reductions without a dim (max, min) and reshape(-1).",
    )  # fmt: skip
    if isinstance(verdict, Finding) and (advice := ev.advice(verdict.evidence["case"])):
        verdict.hint = advice
    nothing = isinstance(verdict, Finding) and re.search(
        r"(.*): it stops with \w+: (\w+)\(\): Expected reduction dim (?:.* non-zero size|to be specified)",
        verdict.message,
    )
    if isinstance(verdict, Finding) and nothing:
        verdict.message = (
            f"{nothing[1]}: {nothing[2]} of no numbers does not exist, and torch stops."
        )
        verdict.hint = (
            "A maximum, a minimum or an argmax over nothing has no value. A sum over nothing is 0, a logsumexp −inf: "
            "work with these, leave the question out, or put a number in its place where there is nothing."
        )
    if isinstance(verdict, Finding) and " is nan" in verdict.message:
        verdict.hint = (
            "A sum over nothing is 0 and a maximum over nothing is −inf: 0/0, −inf − (−inf) and the mean of "
            "nothing are nan. Put what is asked for there in place of the divisor, or of the result."
        )
    return verdict


@rule("fails-batch-dims", needs=_RIGHT)
def batch_dimensions(ev: Evidence) -> Verdict:
    """Any number of batch dimensions works."""
    verdict = _first_problem(
        ev, list(ev.pairs("run", "function", role="batch", variant="")), "fails-batch-dims",
        "With {case}",
        "Use operations that work on the last dimensions (@, transpose(-1, -2)), and sum over all batch "
        "dimensions where one tensor serves the whole batch.",
    )  # fmt: skip
    if isinstance(verdict, Finding) and (summed := _summed_in_batches(ev, verdict)) is not None:
        words = summed[0].replace("new leading dimensions", "batch dimensions")
        verdict.message = f"With {verdict.evidence['case']}: {words[0].lower()}{words[1:]}"
        verdict.hint = summed[1]
    if isinstance(verdict, Finding) and "has shape () instead of" in verdict.message:
        verdict.hint = (
            "A gradient is summed up to one number here. With an empty tuple of dimensions sum adds up "
            "everything: where there is no batch dimension, do not sum."
        )
    if isinstance(verdict, Finding) and "einsum()" in verdict.message:
        verdict.hint = "The equation of einsum names every dimension; '...' in it stands for any number of them."
    if isinstance(verdict, Finding) and "still flattened" in verdict.message:
        verdict.hint = (
            "backward may flatten the batch dimensions, but a gradient goes back in the shape of its argument: "
            ".reshape(x.shape)."
        )
    plain = isinstance(verdict, Finding) and re.search(
        r"(With .*): it stops with TypeError: expected np\.ndarray \(got (numpy\.\w+)\)",
        verdict.message,
    )
    if isinstance(verdict, Finding) and plain:
        verdict.message = (
            f"{plain[1]}: torch.from_numpy takes arrays only, and of a single number NumPy and SciPy make a plain "
            f"number ({plain[2]})."
        )
    if isinstance(verdict, Finding) and "(0-d)" in str(verdict.evidence["case"]):
        verdict.hint = (
            "torch.as_tensor takes either, with dtype=x.dtype and device=x.device."
            if plain
            else "Of a single number NumPy makes a plain number, no array: torch.as_tensor takes either."
            if "numpy" in verdict.message
            else "A single number has no dimensions: avoid len(), x[0] and dim=0."
        )
        one = of_one_element(ev.source)
        if one is not None and "the output has shape (1,) instead of ()" in verdict.message:
            verdict.message = verdict.message.replace(
                "the output has", f"{one[0]}, and the output has"
            )
            verdict.hint = one[1]
            verdict.evidence |= one[2]
    return verdict


@rule("fails-float32", needs=_RIGHT)
def single_precision(ev: Evidence) -> Verdict:
    """float32 works as float64 does."""
    pairs = [p for p in ev.pairs("run", variant="float32") if p.question.role != "extreme"]
    verdict = _first_problem(
        ev, pairs, "fails-float32", "In float32",
        "New tensors must take the dtype of the input; numerical differences with a tiny step drown in "
        "float32's rounding.", torch.float32,
    )  # fmt: skip
    return with_dtype_source(ev, verdict)


@rule("fails-half", needs=(*_RIGHT, "single_precision"))
def half_precision(ev: Evidence) -> Verdict:
    """bfloat16 works: the dtype is kept and the values are as close as eight bits allow."""
    verdict = _first_problem(
        ev, list(ev.pairs("run", variant="bfloat16")), "fails-half", "In bfloat16",
        "Stay in the input's dtype: grad_output * mask keeps it, mask.float() and torch.ones(…) make float32, "
        "and the next matrix product fails.", torch.bfloat16,
    )  # fmt: skip
    if isinstance(verdict, Finding) and "actual" in verdict.evidence:
        verdict.hint = ev.advice(verdict.evidence["case"]) or verdict.hint
    return with_dtype_source(ev, verdict)


@rule("fails-device", needs=_RIGHT)
def other_devices(ev: Evidence) -> Verdict:
    """New tensors are made on the device of the input."""
    meta = list(ev.pairs("run", variant="meta"))
    cuda = [p for p in ev.pairs("run") if p.question.variant.startswith("cuda")]
    if not meta and not cuda:
        return NOT_ASKED
    verdict = _first_problem(ev, cuda, "fails-device", "On the GPU", _DEVICE_HINT)
    if isinstance(verdict, Finding):
        return verdict
    for pair in meta:
        failure = pair.answer.failure
        if failure is None:
            continue
        mixed = (
            "on the same device" in failure.message
            or "expected device meta but got cpu" in failure.message
        )
        mixed = mixed or (
            "meta" in failure.message and "cpu" in failure.message and "device" in failure.message
        )
        if mixed:
            line = {"line": failure.line, "source": failure.source} if failure.own_frame else {}
            return Finding(
                "fails-device",
                "A tensor is made on the CPU although the input lies on another device.",
                _DEVICE_HINT,
                {"case": pair.where, "original": failure.message[:300], **line},
            )
        if not cuda:
            return Undecided(
                "some operation cannot run without data, so other devices were not tried"
            )
    return None


_DEVICE_HINT = "Make new tensors from the input: x.new_zeros(…), torch.zeros_like(x), torch.arange(…, device=x.device)."

RULES: tuple[Rule, ...] = (
    special_points, batch_dimensions, other_strides, expanded_upstream, empty_tensors,
    single_precision, half_precision, other_devices,
)  # fmt: skip
