"""What is kept between forward and backward, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from torch import Tensor

from autograder.causes.asked_needs import wrongly_asked
from autograder.causes.named_in_source import what_is_shared
from autograder.causes.unneeded import stops_where_one_is_needed, zeros_for_none
from autograder.compare import both, close
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import Answer
from autograder.rules.budget import keeps_within_budget, outputs_as_asked
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")


@rule("shared-state", needs=_RIGHT)
def keeps_calls_apart(ev: Evidence) -> Verdict:
    """Two calls do not disturb each other."""
    asked = list(ev.pairs("interleave"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        calls = pair, _second_call(ev, pair)
        if pair.answer.failure is not None or not all(map(_all_agree, calls)):
            shared = what_is_shared(ev)
            return Finding(
                "shared-state",
                "When the Function is applied twice before backward runs, a gradient comes out wrong: "
                f"the two calls share {shared[0] if shared else 'something'}.",
                "Keep what backward needs on ctx (save_for_backward), which is new for each call; a global, "
                "a class attribute or a default argument is shared by all calls.",
                {"case": pair.where, **(shared[1] if shared else {})},
            )
    return None


def _second_call(ev: Evidence, pair: Pair) -> Pair:
    """The other one of two calls that ran backward."""
    found, wants = pair.answer.data.get("other"), pair.question.wants
    if not isinstance(found, list) or len(found) != len(wants):
        found = [None for _ in wants]
    question = replace(pair.question, args=pair.question.more["args"])
    return Pair(question, Answer(gradients=tuple(found)), ev.references)


def _all_agree(pair: Pair) -> bool:
    return all(_agrees(pair, i) for i in pair.question.wants)


def _agrees(pair: Pair, position: int) -> bool:
    got, right = pair.reached(position), pair.right(position)
    if right is None:
        return True
    if got is None:
        return not bool(right.any())
    return close(got, right)


_MADE = "intermediate"  # how the trace calls a tensor that is neither an input nor the output


@rule("saves-on-ctx", needs=_RIGHT)
def saves_where_torch_can_see(ev: Evidence) -> Verdict:
    """Inputs and outputs are kept with save_for_backward, where torch can see them."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair, when in _recorded(ev):
        for holder, who in pair.answer.data.get("on_ctx") or ():
            if who.startswith(_MADE):
                continue
            view = "a view of " if who.startswith("view of ") else ""
            plain = who.removeprefix("view of ")
            kind, index = plain.rstrip("]").split("[")
            what = f"the input {ev.argument(int(index))}" if kind == "input" else "the output"
            output = pair.expected.outputs[int(index)] if kind == "output" else None
            connected = isinstance(output, Tensor) and output.is_floating_point()
            if kind == "output" and len(pair.expected.outputs) > 1:
                what = f"output {int(index) + 1}"
            danger = (
                "That makes a reference cycle (output → its node, which is ctx → output): memory is freed only when the "
                "garbage collector runs, and a later in-place edit is not noticed."
                if connected
                else "If somebody edits it in place before backward, the gradient is silently wrong; with "
                "save_for_backward torch would notice."
            )
            return Finding(
                "saves-on-ctx",
                f"{when}{holder} holds {view}{what}. {danger}",
                "Pass it to ctx.save_for_backward and read it from ctx.saved_tensors."
                if _may_keep_tensors(ev, pair)
                else _without_tensor(ev, holder, plain),
                {"case": pair.where, "holder": holder},
            )
    return _silent_after_write(ev)


def _recorded(ev: Evidence) -> Iterator[tuple[Pair, str]]:
    """The runs in which ctx was looked at, and in which of them alone a finding would hold."""
    for pair in ev.plain:
        yield pair, ""
    for pair in ev.pairs("run", variant=""):
        if pair.question.role != "main":
            yield pair, f"In one case ({pair.where}), "
    for pair in ev.pairs("needs"):
        if len(pair.question.wants) == 1:
            wanted = ev.argument(pair.question.wants[0])
            yield pair, f"When only {wanted} needs a gradient, "


def _without_tensor(ev: Evidence, holder: str, who: str) -> str:
    """What to do about a tensor that backward could do without."""
    name = holder.removeprefix("ctx.").split("[")[0]
    tensor = ev.argument(int(who[6:-1])) if who.startswith("input") else "y"
    if ev.source.methods and not ev.source.mentions("backward", name):
        return f"backward never reads {holder}, and needs no tensor: delete that line."
    return (
        "backward needs no tensor here, at most a number or a shape of it, such as "
        f"ctx.shape = {tensor}.shape."
    )


def _may_keep_tensors(ev: Evidence, pair: Pair) -> bool:
    budget = ev.exercise.budget
    return budget is None or budget(pair.question.args, outputs_as_asked(pair)) > 0


def _silent_after_write(ev: Evidence) -> Verdict:
    """A write between forward and backward must raise or not matter; a wrong number is silent."""
    for pair in ev.pairs("mutate"):
        if pair.answer.failure is not None or pair.answer.gradients is None:
            continue
        if _all_agree(pair):
            continue
        target = pair.question.more["target"]
        what = "the output" if target == "output" else ev.argument(target)
        return Finding(
            "saves-on-ctx",
            f"When {what} is edited in place after forward, backward gives a wrong gradient without an error.",
            "torch watches only what goes through ctx.save_for_backward, and .data hides from it. Save the "
            "tensor itself: ctx.save_for_backward(x).",
            {"case": pair.where},
        )
    return None


@rule("saves-on-ctx", needs=(*_RIGHT, "saves_where_torch_can_see", "keeps_within_budget"))
def saves_masks_too(ev: Evidence) -> Verdict:
    """Masks and other tensors made in forward are kept with save_for_backward as well."""
    if not ev.plain or ev.exercise.is_function or ev.exercise.tensors_on_ctx != "refused":
        return NOT_ASKED
    for pair, when, holder in _made_and_kept(ev):
        return Finding(
            "saves-on-ctx",
            f"{when}{holder} holds a tensor that forward made. It outlives backward, and nothing that "
            "measures or moves saved tensors can find it there.",
            "Tensors go through ctx.save_for_backward, a mask as well as an input; attributes of "
            "ctx are for numbers, shapes and strings.",
            {"case": pair.where, "holder": holder, **_attribute_line(ev, holder)},
        )
    return None


def note_on_ctx(ev: Evidence) -> str:
    """What to say of a right answer that keeps a tensor of its own where torch does not look; ""."""
    if not ev.plain or ev.exercise.is_function or ev.exercise.tensors_on_ctx != "noted":
        return ""
    for _, _, holder in _made_and_kept(ev):
        return (
            f"{holder} is a tensor that forward made. That is allowed; with save_for_backward torch would "
            "release it after backward, and whatever measures, moves or compresses saved tensors would "
            "find it."
        )
    return ""


def _made_and_kept(ev: Evidence) -> Iterator[tuple[Pair, str, str]]:
    for pair, when in _recorded(ev):
        for holder, who in pair.answer.data.get("on_ctx") or ():
            if who.startswith(_MADE):
                yield pair, when, holder


def _attribute_line(ev: Evidence, holder: str) -> dict[str, object]:
    """The line that sets a ctx attribute ("ctx.mask", "ctx.kept[0]"), where the source shows it."""
    name = re.match(r"ctx\.(\w+)", holder)
    for method in ("forward", "setup_context"):
        if name and (place := ev.source.assigned(method, name[1])):
            return {"line": place[0], "source": place[1]}
    return {}


@rule("ignores-needs-input-grad", needs=(*_RIGHT, "one_gradient_an_argument"))
def honours_needs_input_grad(ev: Evidence) -> Verdict:
    """Gradients that nobody needs are not computed."""
    asked = list(ev.pairs("needs"))
    if not asked:
        return NOT_ASKED
    for pair in (p for p in asked if len(p.question.wants) == 1):
        wanted = pair.question.wants[0]
        failure = pair.answer.failure
        if failure is not None:
            return stops_where_one_is_needed(ev, pair, failure)
        if not _agrees(pair, wanted):
            missing = pair.reached(wanted) is None
            evidence = {"case": pair.where, **both(pair.reached(wanted), pair.right(wanted))}
            asked_for = wrongly_asked(ev, wanted, pair) if missing else None
            if asked_for is not None:
                evidence |= asked_for.line
                return Finding("gradient-missing", asked_for.message, asked_for.hint, evidence)
            return Finding(
                "gradient-missing" if missing else "gradient-value",
                f"When only {ev.argument(wanted)} needs a gradient, it gets {'none' if missing else 'a wrong one'}.",
                "ctx.needs_input_grad has one entry for each argument, in order: check the positions you "
                "test.",
                evidence,
            )
        for j, value in enumerate(pair.answer.raw or ()):
            if j != wanted and value is not None:
                if _asks_for_another(asked, wanted, j):
                    return Finding(
                        "ignores-needs-input-grad",
                        f"backward computes the gradient for {ev.argument(j)} whenever {ev.argument(wanted)} needs "
                        "one: it asks for the wrong place of needs_input_grad.",
                        f"ctx.needs_input_grad has one entry for each argument of forward, in order: the one for "
                        f"{ev.argument(j)} is ctx.needs_input_grad[{j}].",
                        {"case": pair.where},
                    )
                if (zeros := zeros_for_none(ev, pair, j, value)) is not None:
                    return zeros
                return Finding(
                    "ignores-needs-input-grad",
                    f"When only {ev.argument(wanted)} needs a gradient, backward also computes the one for "
                    f"{ev.argument(j)}.",
                    "Ask ctx.needs_input_grad[i] before you compute gradient i, and return None where it is "
                    "False.",
                    {"case": pair.where},
                )
    return _computes_for_nothing(ev, asked)


def _asks_for_another(asked: list[Pair], i: int, j: int) -> bool:
    """Whether the gradient for argument j comes with the one for i, and not where j alone needs one."""
    alone = [p for p in asked if p.question.wants == (j,) and p.answer.failure is None]
    return bool(alone) and all(p.raw(j) is None for p in alone)


def _computes_for_nothing(ev: Evidence, asked: list[Pair]) -> Verdict:
    """None where it is asked for, but as much work as for all gradients."""
    alone = [p for p in asked if p.question.more["counted"] and len(p.question.wants) == 1]
    wholes = (
        p
        for p in (*asked, *ev.pairs("structure"))
        if alone and p.question.args is alone[0].question.args and len(p.question.wants) > 1
    )
    if (whole := next(wholes, None)) is None:
        return None
    work = whole.answer.data.get("operations")
    same = all(p.answer.data.get("operations") == work for p in alone)
    gradients = [g for g in whole.expected.gradients or () if g is not None]
    # One tensor for two arguments takes no more work than for one.
    shared = any(
        close(a, b)
        for i, a in enumerate(gradients)
        for b in gradients[i + 1 :]
        if a.shape == b.shape
    )
    if not isinstance(work, int) or not same or shared:
        return None
    return Finding(
        "ignores-needs-input-grad",
        f"backward takes {work} operations when all inputs need a gradient, and just as many when one does: "
        "the gradients that nobody needs are computed and thrown away.",
        "Ask ctx.needs_input_grad[i] before you compute gradient i, not when you return it.",
        {"case": whole.where},
    )


RULES: tuple[Rule, ...] = (
    keeps_calls_apart, saves_where_torch_can_see, keeps_within_budget, saves_masks_too,
    honours_needs_input_grad,
)  # fmt: skip
