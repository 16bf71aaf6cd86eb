"""What a Function offers beside backward: forward mode, vmap, a registered operator."""

from __future__ import annotations

from torch import Tensor

from autograder.judging.evidence import Evidence, Pair
from autograder.judging.finding import fault
from autograder.judging.rules.registry import NOT_ASKED, Rule, Verdict, rule
from autograder.judging.rules.runs import stopped
from autograder.observation.compare import close, real, show
from autograder.observation.source import at

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")
_SHARE = 1e-6  # that two ways to one number may differ by


@rule("jvp", needs=_RIGHT)
def forward_mode_agrees(ev: Evidence) -> Verdict:
    """jvp gives the same derivative as backward."""
    for pair in (asked := list(ev.pairs("jvp"))):
        if pair.answer.failure is not None:
            return stopped(ev, pair, "jvp", "In forward mode")
        if (apart := _two_ways(pair)) is not None:
            evidence = {"actual": show(apart[0]), "expected": show(apart[1])} | at(ev.source.first_mention("jvp", "jvp") or ev.source.returned("jvp", {}))  # fmt: skip
            return fault("jvp", "transforms/jvp", pair, symptom=True, evidence=evidence, mine=apart[0], right=apart[1])  # fmt: skip
    return None if asked else NOT_ASKED


def _two_ways(pair: Pair) -> tuple[float, float] | None:
    """⟨g, J d⟩ by jvp and ⟨Jᵀg, d⟩ by the right gradients, where they are not one number."""
    tangents = pair.answer.data.get("tangents") or ()
    mine, right, size = 0.0, 0.0, 0.0
    for g, tangent in zip(pair.question.upstream, tangents, strict=False):
        if g is not None and isinstance(tangent, Tensor) and tangent.shape == g.shape:
            mine += float((real(tangent) * real(g)).sum())
    for position, d in zip(pair.question.wants, pair.question.directions, strict=True):
        gradient, place = pair.right(position), pair.question.wants.index(position)
        if gradient is None or d is None:
            continue
        right += float((real(gradient) * real(d)).sum())
        size += float((real(gradient) * real(d)).abs().sum())
        errors = pair.expected.errors
        if errors and (error := errors[place]) is not None:
            size += float((error * d.abs()).sum()) / _SHARE
    return None if abs(mine - right) <= _SHARE * size else (mine, right)


@rule("vmap", needs=("forward_runs", "output_value"))
def batches_agree(ev: Evidence) -> Verdict:
    """Under vmap each example of a batch gives what it gives alone."""
    for pair in (asked := list(ev.pairs("vmap"))):
        if pair.answer.failure is not None:
            return stopped(ev, pair, "vmap", "Under torch.func.vmap")
        both = zip(pair.answer.data["together"], pair.answer.data["alone"], strict=True)
        for place, (together, alone) in enumerate(both):
            if not all(close(t, a) if isinstance(a, Tensor) else t == a for t, a in zip(together, alone, strict=False)):  # fmt: skip
                argument = ev.argument(pair.question.wants[place // 2])
                return fault(
                    "vmap",
                    "transforms/vmap",
                    pair,
                    symptom=True,
                    argument=argument,
                    last=bool(place % 2),
                )
    return None if asked else NOT_ASKED


@rule("opcheck", needs=("forward_runs",))
def registered_as_torch_wants(ev: Evidence) -> Verdict:
    """torch.library.opcheck finds nothing."""
    for pair in (asked := list(ev.pairs("opcheck"))):
        if pair.answer.failure is not None:
            return stopped(ev, pair, "opcheck", "In opcheck")
        for name, said in pair.answer.data["opcheck"].items():
            if said != "SUCCESS":
                return fault(
                    "opcheck", "transforms/opcheck", pair, evidence={"original": said}, test=name
                )
    return None if asked else NOT_ASKED


RULES: tuple[Rule, ...] = (forward_mode_agrees, batches_agree, registered_as_torch_wants)
