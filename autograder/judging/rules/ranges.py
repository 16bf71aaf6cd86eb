"""Range: other layouts, shapes, dtypes, devices and special points than the ordinary cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from autograder.contract.differentiation import BATCH
from autograder.contract.measured import Measured
from autograder.judging.evidence import Evidence, Pair, nearest
from autograder.judging.finding import Finding, fault
from autograder.judging.rules.problems import as_ever, at_fault, problem
from autograder.judging.rules.registry import (
    NOT_ASKED,
    RIGHT,
    Answers,
    Rule,
    Undecided,
    Verdict,
    plain,
    rule,
    to,
)
from autograder.judging.rules.runs import stopped
from autograder.observation.compare import both, close, real, show

_SHARE = 1e-6  # that two ways to one number may differ by


def _right(
    key: str, sentence: str, name: str, family: str, of: Answers, *needs: str, **facts: Any,
) -> Rule:  # fmt: skip
    """The rule that all these answers are right; else "<family>/wrong".

    facts  whether the answer that is wrong has these variants
    """

    def judge(ev: Evidence, pair: Pair) -> Verdict:
        if (found := problem(ev, pair)) is None or as_ever(ev, pair, found):
            return None
        wrong = at_fault(ev, name, family, pair, found)
        wrong.facts |= {fact: pair.question.variant == variant for fact, variant in facts.items()}
        return wrong

    return rule(name, (*RIGHT, *needs), of=of, key=key, sentence=sentence)(judge)


_BOTH = ("run", "function")

special_points = _right(
    "special_points", "Kinks, bounds and ties follow the stated convention.",
    "fails-special-point", "special", to(*_BOTH, role="special"),
)  # fmt: skip
batch_dimensions = _right(
    "batch_dimensions", "Any number of batch dimensions works.",
    "fails-batch-dims", "batch", to(*_BOTH, role="batch", variant=("", "sizes")), sizes="sizes",
)  # fmt: skip
other_strides = _right(
    "other_strides", "Tensors that are not contiguous work as well.",
    "fails-noncontiguous", "strides",
    lambda ev: (p for v in ("transposed", "consumer") for p in ev.pairs(*_BOTH, variant=v)),
    "output_dtype", "batch_dimensions", upstream_only="consumer",
)  # fmt: skip
expanded_upstream = _right(
    "expanded_upstream",
    "An expanded (stride-0) upstream gradient, as sum() gives it, works as well.",
    "fails-expanded-upstream", "expanded", to("run", variant="expanded"), "batch_dimensions",
)  # fmt: skip
empty_tensors = _right(
    "empty_tensors", "Empty tensors work as well.",
    "fails-empty", "empty", to(*_BOTH, role="empty"), "output_dtype", "batch_dimensions",
)  # fmt: skip
single_precision = _right(
    "single_precision", "float32 works as float64 does.",
    "fails-float32", "float32", to("run", variant="float32", role="main"),
)  # fmt: skip
half_precision = _right(
    "half_precision", "bfloat16 works: the dtype is kept and the values are as close as eight bits allow.",
    "fails-half", "bfloat16", to("run", variant="bfloat16"), "single_precision",
)  # fmt: skip
_on_cuda = _right(
    "on_cuda", "As on the CPU.", "fails-device", "device",
    lambda ev: (p for p in ev.pairs("run") if p.question.variant.startswith("cuda")),
)  # fmt: skip


@rule("fails-device", needs=RIGHT)
def other_devices(ev: Evidence) -> Verdict:
    """New tensors are made on the device of the input."""
    cuda, meta = _on_cuda.judge(ev), list(ev.pairs("run", variant="meta"))
    if isinstance(cuda, Finding):
        return cuda
    for pair in meta:
        failure = pair.answer.failure
        if failure is not None and _mixes_devices(failure.message):
            shown = {"original": failure.original}
            return fault("fails-device", "device/cpu", pair, seen_at=failure.place, evidence=shown)
        if failure is not None and cuda is NOT_ASKED:
            return Undecided("some operation cannot run without data, so other devices were not tried")  # fmt: skip
    return None if meta else cuda


def _mixes_devices(message: str) -> bool:
    return (
        "on the same device" in message
        or "expected device meta but got cpu" in message
        # What converts to NumPy works on the CPU by intention.
        or ("numpy" not in message and all(word in message for word in ("meta", "cpu", "device")))
    )


@rule("loses-precision", needs=("output_shape",), of=plain)
def keeps_precision(ev: Evidence, pair: Pair) -> Verdict:
    """float64 stays float64 inside."""
    dtype = ev.observation.facts.get("computes_in")
    if not ev.exercise.strictness.as_given:
        return NOT_ASKED
    return fault("loses-precision", "range/precision", pair, dtype=dtype) if dtype else None


# ---- what a Function offers beside backward ----------------------------------------------------


@rule("jvp", needs=RIGHT, of=to("jvp"))
def forward_mode_agrees(ev: Evidence, pair: Pair) -> Verdict:
    """jvp gives the same derivative as backward."""
    if pair.answer.failure is not None:
        return stopped(ev, pair, "jvp", "In forward mode")
    data, wants = pair.answer.data, pair.question.wants
    each = list(zip(data["of_each"], [(i,) for i in wants], strict=True))
    for tangents, positions in [*each, (data["tangents"], wants)]:
        if (apart := _two_ways(pair, tangents, positions)) is None:
            continue
        mine, right = apart
        place = ev.source.mentions("jvp", "jvp") or ev.source.returned("jvp", {})
        facts: dict[str, Any] = {"mine": mine, "right": right}
        if len(positions) == 1:
            facts |= {"argument": ev.argument(positions[0]), "alone": True, "nothing": mine == 0}
            ratio = mine / right if right else 0.0
            sign = abs(ratio + 1) < _SHARE
            whole = mine != 0 and math.isfinite(ratio) and (abs(ratio - round(ratio)) < _SHARE or abs(1 / ratio - round(1 / ratio)) < _SHARE)  # fmt: skip
            facts |= {"ratio": ratio, "times": whole and not sign, "sign": sign}
        evidence = {"actual": show(mine), "expected": show(right)}
        return fault("jvp", "transforms/jvp", pair, seen_at=place, symptom=True, evidence=evidence, **facts)  # fmt: skip
    return None


def _two_ways(
    pair: Pair, tangents: Sequence[Tensor | None], positions: Sequence[int]
) -> tuple[float, float] | None:
    """⟨g, J d⟩ by jvp and ⟨Jᵀg, d⟩ by the right gradients for these arguments, where they are not one number."""
    mine, right, size = 0.0, 0.0, 0.0
    for g, tangent in zip(pair.question.upstream, tangents, strict=False):
        if g is not None and isinstance(tangent, Tensor) and tangent.shape == g.shape:
            mine += float((real(tangent) * real(g)).sum())
    errors = pair.expected.errors or [None for _ in pair.question.wants]
    asked = zip(pair.question.wants, pair.question.directions, errors, strict=True)
    for position, d, error in asked:
        gradient = pair.right(position) if position in positions else None
        if gradient is not None and d is not None:
            products = real(gradient) * real(d)
            right += float(products.sum())
            size += float(products.abs().sum())
            if error is not None:
                size += float((error * d.abs()).sum()) / _SHARE
    share = _SHARE if pair.question.variant != "float32" else _SHARE**0.5
    if pair.references is not None:
        share = max(share, pair.references.exercise.strictness.rtol)
    near = abs(mine - right) <= share * size or not math.isfinite(right)
    return None if near else (mine, right)


@rule("vmap", needs=("output_value",), of=to("vmap"))
def batches_agree(ev: Evidence, pair: Pair) -> Verdict:
    """Under vmap each example of a batch gives what it gives alone."""
    if pair.answer.failure is not None:
        return stopped(ev, pair, "vmap", "Under torch.func.vmap")
    both = zip(pair.answer.data["together"], pair.answer.data["alone"], strict=True)
    for place, each in enumerate(both):
        if not all(close(t, a) if isinstance(a, Tensor) else t == a for t, a in zip(*each, strict=False)):  # fmt: skip
            wants = pair.question.wants
            if place == 2 * len(wants):
                return fault("vmap", "transforms/vmap-of-all", pair, symptom=True, arguments=[ev.argument(i) for i in wants])  # fmt: skip
            argument = ev.argument(wants[place // 2])
            return fault("vmap", "transforms/vmap", pair, symptom=True, argument=argument, last=bool(place % 2))  # fmt: skip
    if (runs := pair.answer.data["runs"]) >= BATCH:
        return fault("vmap", "operator/loop", pair, runs=runs, batch=BATCH)
    return None


@rule("func", needs=RIGHT, of=to("func"))
def transforms_agree(ev: Evidence, pair: Pair) -> Verdict:
    """torch.func's transforms give what they give for the reference."""
    if pair.answer.failure is not None:
        return stopped(ev, pair, "func", "Under torch.func")
    data, references = pair.answer.data["func"], pair.references
    if references is None or isinstance(references.exercise.reference, Measured):
        # Nobody can transform what is measured: of its answers both Jacobians have to agree.
        right = {"jacfwd": data["jacrev"]}
    else:
        right = references.transforms(pair.question)
    for name, mine in data.items():
        if isinstance(mine, str):
            return fault("func", "transforms/func-stops", pair, symptom=True, evidence={"original": mine}, transform=name)  # fmt: skip
        for got, wanted in zip(mine, right.get(name, ()), strict=False):
            wanted = nearest(got, wanted, None, ev.exercise.strictness, 0.0)
            if not close(got, wanted):
                shown = both(got, wanted)
                return fault("func", "transforms/func", pair, symptom=True, evidence=shown, transform=name)  # fmt: skip
    return None


@rule("opcheck", needs=("forward_runs",), of=to("opcheck"))
def registered_as_torch_wants(ev: Evidence, pair: Pair) -> Verdict:
    """Its fake tells the truth, and torch.library.opcheck finds nothing."""
    if pair.answer.failure is not None:
        return stopped(ev, pair, "opcheck", "In opcheck")
    data = pair.answer.data
    if not data["operators"] and not ev.exercise.strictness.as_given:
        return fault("opcheck", "operator/none", pair)
    for found in data["fakes"]:
        shown = {"original": found["error"]} if found["aspect"] == "error" else {}
        fake = ev.source.methods.get("fake")
        place = ev.source.returned("fake", {}) or (ev.source.line_of(fake) if fake else None)
        facts = {**found, found["aspect"]: True, "strided": found["layout"] == "transposed"}
        return fault("opcheck", "operator/fake", pair, seen_at=place, evidence=shown, **facts)
    for name, said in data["opcheck"].items():
        if said != "SUCCESS":
            return fault("opcheck", "transforms/opcheck", pair, evidence={"original": said}, test=name)  # fmt: skip
    return None


compiled = _right(
    "compiled", "Compiled in one graph it gives the same.", "opcheck", "compiled", to("compiled"),
    "registered_as_torch_wants",
)  # fmt: skip
