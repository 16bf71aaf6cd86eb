"""What is kept between forward and backward, and what is written to."""

from __future__ import annotations

from torch import Tensor

from autograder.compare import both, close
from autograder.evidence import Evidence, Finding, Pair
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule

_RIGHT = ("forward_runs", "output_value", "output_is_connected", "backward_runs", "gradients_agree")


def _runs(ev: Evidence) -> list[Pair]:
    return [
        p
        for p in ev.pairs("run", "function")
        if p.question.variant in ("", "transposed", "expanded")
    ]


@rule("mutates-input", needs=("forward_runs",))
def leaves_inputs(ev: Evidence) -> Verdict:
    """The inputs are left as they were."""
    if not ev.plain:
        return NOT_ASKED
    for pair in _runs(ev):
        changed = pair.answer.data.get("inputs_changed_in_forward") or ()
        if ev.exercise.is_function:
            changed = pair.answer.inputs_changed
            switched = pair.answer.data.get("requires_grad_changed") or ()
            if switched and not changed:
                return _switches_requires_grad(ev, pair, switched[0])
        if not changed:
            continue
        name = ev.argument(changed[0])
        where = "the function" if ev.exercise.is_function else "forward"
        if view := ev.source.view_put_back(
            ev.exercise.name if ev.exercise.is_function else "forward"
        ):
            return _puts_back_a_view(pair, name, *view)
        line = _in_place_line(ev, ev.exercise.name if ev.exercise.is_function else "forward")
        return Finding(
            "mutates-input",
            f"{where} writes to its input {name}: the caller's tensor is changed.",
            "Operations whose name ends in _ and +=, *=, x[...] = … write in place. Use the form that "
            "makes a new tensor.",
            {"case": pair.where, "argument": name, **line},
        )
    return None


def _puts_back_a_view(
    pair: Pair, argument: str, place: tuple[int, str], name: str, target: str
) -> Finding:
    return Finding(
        "mutates-input",
        f"{argument} is not put back: {name} is a view of {target}, so it moved together with it.",
        f"{target}[i] with an index shares the memory of {target}. Keep a copy of the number "
        f"(.item() or .clone()), or leave {target} alone and move a copy of it.",
        {"case": pair.where, "argument": argument, "line": place[0], "source": place[1]},
    )


def _switches_requires_grad(ev: Evidence, pair: Pair, position: int) -> Finding:
    name = ev.argument(position)
    return Finding(
        "mutates-input",
        f"The function leaves {name} with another requires_grad than it came with: the caller's tensor "
        "is changed.",
        f"requires_grad_() works in place. Begin with a tensor of your own: "
        f"{name} = {name}.detach().requires_grad_(True).",
        {"case": pair.where, "argument": name},
    )


def _in_place_line(ev: Evidence, method: str) -> dict[str, object]:
    """The first line that writes in place, if the source shows one."""
    import ast

    node = ev.source.methods.get(method)
    for child in ast.walk(node) if node is not None else ():
        call = isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute)
        writes = call and child.func.attr.endswith("_") and not child.func.attr.endswith("__")  # type: ignore[attr-defined]
        subscript = isinstance(child, ast.Assign) and any(
            isinstance(t, ast.Subscript) for t in child.targets
        )
        if writes or subscript or isinstance(child, ast.AugAssign):
            if writes and child.func.attr in ("requires_grad_", "mark_dirty"):  # type: ignore[attr-defined]
                continue
            line, text = ev.source.line_of(child)
            return {"line": line, "source": text}
    return {}


def _fills_grad(ev: Evidence, pair: Pair, position: int) -> Finding:
    name = ev.argument(position)
    place = ev.source.first_call("backward", "backward")
    return Finding(
        "mutates-saved",
        f"backward adds to .grad of {name} itself: it differentiates the saved tensor, not a detached copy.",
        "ctx.saved_tensors gives the arguments back with their history. Make each a leaf of a small graph "
        "of your own before you compute with it: tensor.detach().requires_grad_(…).",
        {"case": pair.where, "argument": name, **_at(place)},
    )


def _at(place: tuple[int, str] | None) -> dict[str, object]:
    return {"line": place[0], "source": place[1]} if place else {}


@rule("mutates-upstream", needs=("forward_runs", "output_is_connected"))
def leaves_upstream(ev: Evidence) -> Verdict:
    """grad_output is left as it was."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in _runs(ev):
        failure = pair.answer.failure
        overlap = failure is not None and "single memory location" in failure.message
        touched = pair.answer.upstream_changed or any(
            c.upstream_changed for c in pair.answer.backward
        )
        if touched or (overlap and failure is not None and failure.stage == "backward"):
            return Finding(
                "mutates-upstream",
                "backward writes to grad_output, which belongs to torch: another branch of the graph may "
                "still need it.",
                "Compute a new tensor from grad_output (grad_output * mask, torch.where), or clone it first. "
                "In x + f(x) this mistake is silent and the result wrong.",
                {"case": pair.where, **_in_place_line(ev, "backward")},
            )
    return None


@rule("mutates-saved", needs=("forward_runs", "output_is_connected"))
def leaves_saved(ev: Evidence) -> Verdict:
    """The saved tensors are left as they were."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in _runs(ev):
        left = pair.answer.data.get("grad_left") or ()
        if left and ev.exercise.may_use_autograd:  # where it may not, that it does is the finding
            return _fills_grad(ev, pair, left[0])
        in_forward = set(pair.answer.data.get("inputs_changed_in_forward") or ())
        saved = any(c.saved_changed for c in pair.answer.backward)
        late = set(pair.answer.inputs_changed) - in_forward
        if saved or late:
            what = f"the input {ev.argument(min(late))}" if late else "a saved tensor"
            return Finding(
                "mutates-saved",
                f"backward writes to {what}: a second backward through the same graph would be wrong.",
                "What save_for_backward gives back is not yours to change (for an input it is the caller's "
                "tensor). Compute a new tensor.",
                {"case": pair.where, **_in_place_line(ev, "backward")},
            )
    return None


@rule("shared-state", needs=_RIGHT)
def keeps_calls_apart(ev: Evidence) -> Verdict:
    """Two calls do not disturb each other."""
    asked = list(ev.pairs("interleave"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        wrong = pair.answer.failure is not None or any(
            not _agrees(pair, i) for i in pair.question.wants
        )
        if wrong:
            return Finding(
                "shared-state",
                "When the Function is applied twice before backward runs, a gradient comes out wrong: "
                "the two calls share something.",
                "Keep what backward needs on ctx (save_for_backward), which is new for each call; a global, "
                "a class attribute or a default argument is shared by all calls.",
                {"case": pair.where},
            )
    return None


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
    for pair in ev.plain:
        for holder, who in pair.answer.data.get("on_ctx") or ():
            if who.startswith(_MADE):
                continue
            view = "a view of " if who.startswith("view of ") else ""
            plain = who.removeprefix("view of ")
            kind, index = plain.rstrip("]").split("[")
            what = f"the input {ev.argument(int(index))}" if kind == "input" else "the output"
            danger = (
                "That makes a reference cycle (output → node → ctx → output): memory is freed only when the "
                "garbage collector runs, and a later in-place edit is not noticed."
                if kind == "output"
                else "If somebody edits it in place before backward, the gradient is silently wrong; with "
                "save_for_backward torch would notice."
            )
            return Finding(
                "saves-on-ctx",
                f"{holder} holds {view}{what}. {danger}",
                "Pass it to ctx.save_for_backward and read it from ctx.saved_tensors.",
                {"case": pair.where, "holder": holder},
            )
    return _silent_after_write(ev)


def _silent_after_write(ev: Evidence) -> Verdict:
    """A write between forward and backward must raise or not matter; a wrong number is silent."""
    for pair in ev.pairs("mutate"):
        if pair.answer.failure is not None or pair.answer.gradients is None:
            continue
        if all(_agrees(pair, i) for i in pair.question.wants):
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
    if not ev.plain or ev.exercise.is_function or ev.exercise.tensors_on_ctx:
        return NOT_ASKED
    for pair in ev.plain:
        for holder, who in pair.answer.data.get("on_ctx") or ():
            if who.startswith(_MADE):
                return Finding(
                    "saves-on-ctx",
                    f"{holder} holds a tensor that forward made. It outlives backward, and nothing that "
                    "measures or moves saved tensors can find it there.",
                    "Tensors go through ctx.save_for_backward, a mask as well as an input; attributes of "
                    "ctx are for numbers, shapes and strings.",
                    {"case": pair.where, "holder": holder, **_attribute_line(ev, holder)},
                )
    return None


def _attribute_line(ev: Evidence, holder: str) -> dict[str, object]:
    """The line that sets a ctx attribute ("ctx.mask", "ctx.kept[0]"), where the source shows it."""
    name = holder.split("[")[0].removeprefix("ctx.")
    for method in ("forward", "setup_context"):
        if place := ev.source.assigned(method, name):
            return {"line": place[0], "source": place[1]}
    return {}


@rule("saves-too-much", needs=_RIGHT)
def keeps_within_budget(ev: Evidence) -> Verdict:
    """No more is kept for backward than is needed."""
    budget = ev.exercise.budget
    asked = [p for p in ev.pairs("structure") if p.answer.failure is None]
    if budget is None or not asked:
        return NOT_ASKED
    for pair in asked:
        outputs = tuple(o for o in pair.expected.outputs if isinstance(o, Tensor))
        allowed = budget(pair.question.args, outputs)
        kept = sum(k.bytes for k in pair.answer.kept)
        if kept > allowed:
            names = [_kept_words(ev, k.holder, k.who, k.bytes) for k in pair.answer.kept]
            words = f" ({ev.exercise.budget_words})" if ev.exercise.budget_words else ""
            return Finding(
                "saves-too-much",
                f"{kept} bytes stay alive for backward; {allowed} are enough{words}.",
                "Ask of each tensor that is kept: does backward read it, and can it be computed from the "
                "others?",
                {
                    "case": pair.where,
                    "kept": kept,
                    "allowed": allowed,
                    "kept_tensors": "; ".join(names[:5]),
                },
            )
    return None


def _kept_words(ev: Evidence, holder: str, who: str, size: int) -> str:
    if who.startswith("input["):
        who = ev.argument(int(who[6:-1]))
    elif who.startswith("output["):
        who = "the output"
    elif who == "intermediate":
        who = "an intermediate result"
    place = "outside ctx" if holder == "hidden" else holder
    return f"{who} in {place}, {size} bytes"


@rule("ignores-needs-input-grad", needs=(*_RIGHT, "one_gradient_an_argument"))
def honours_needs_input_grad(ev: Evidence) -> Verdict:
    """Gradients that nobody needs are not computed."""
    asked = list(ev.pairs("needs"))
    if not asked:
        return NOT_ASKED
    for pair in asked:
        wanted = pair.question.wants[0]
        failure = pair.answer.failure
        if failure is not None:
            return Finding(
                "raises",
                f"It stops when only {ev.argument(wanted)} needs a gradient: {failure.message[:160]}",
                "Do not rely on every input requiring grad.",
                {"case": pair.where, "original": f"{failure.kind}: {failure.message[:300]}"},
            )
        if not _agrees(pair, wanted):
            return Finding(
                "gradient-missing" if pair.reached(wanted) is None else "gradient-value",
                f"When only {ev.argument(wanted)} needs a gradient, it gets a wrong one.",
                "ctx.needs_input_grad has one entry for each argument, in order: check the positions you "
                "test.",
                {
                    "case": pair.where,
                    **both(pair.reached(wanted), pair.right(wanted)),
                },
            )
        for j, value in enumerate(pair.answer.raw or ()):
            if j != wanted and value is not None:
                return Finding(
                    "ignores-needs-input-grad",
                    f"Only {ev.argument(wanted)} needs a gradient, but backward also computes the one for "
                    f"{ev.argument(j)}.",
                    "Ask ctx.needs_input_grad[i] before you compute gradient i, and return None where it is "
                    "False.",
                    {"case": pair.where},
                )
    return None


RULES: tuple[Rule, ...] = (
    leaves_inputs, leaves_upstream, leaves_saved, keeps_calls_apart, saves_where_torch_can_see,
    keeps_within_budget, saves_masks_too, honours_needs_input_grad,
)  # fmt: skip
