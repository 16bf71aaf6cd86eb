"""What is written to: inputs, upstream gradients and saved tensors stay as they were."""

from __future__ import annotations

import ast
import re

from autograder.causes.one_memory import put_back_by_arithmetic
from autograder.evidence import Evidence, Finding, Pair
from autograder.observation import LOOKED_FOR_WRITES
from autograder.rules.registry import NOT_ASKED, Rule, Verdict, rule


def _runs(ev: Evidence) -> list[Pair]:
    return [p for p in ev.pairs("run", "function") if p.question.variant in LOOKED_FOR_WRITES]


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
        where = "The function" if ev.exercise.is_function else "forward"
        method = ev.exercise.name if ev.exercise.is_function else "forward"
        if view := ev.source.view_put_back(method):
            return _puts_back_a_view(pair, name, *view)
        if ev.exercise.is_function and (back := _rounded_back(ev, pair, method)) is not None:
            return back
        line = in_place_line(ev, method)
        told = _inplace_true(ev, method)
        by = f", by inplace=True in line {told[0]}" if told else ""
        shared = "" if told else _shares_memory(ev, method, name, line)
        return Finding(
            "mutates-input",
            f"{where} writes to its input {name}{by}: {shared}the caller's tensor is changed.",
            "Without inplace=True a new tensor is made."
            if told
            else "Operations whose name ends in _ and +=, *=, x[...] = … write in place. Use the form that makes a new "
            "tensor.",
            {"case": pair.where, "argument": name, **line}
            | ({"line": told[0], "source": told[1]} if told else {}),
        )
    return None


_SHARE = ("detach", "data", "view", "view_as", "reshape", "flatten", "T", "mT", "squeeze", "expand")


def _shares_memory(ev: Evidence, method: str, name: str, line: dict[str, object]) -> str:
    """A clause about what this line writes to, where it is another name for the memory of an argument; or ""."""
    node = ev.source.methods.get(method)
    for child in ast.walk(node) if node is not None and line else ():
        if not isinstance(child, ast.Assign) or not isinstance(child.targets[0], ast.Name):
            continue
        made, of = child.targets[0].id, child.value
        while isinstance(of, ast.Call | ast.Attribute):
            inner = of.func if isinstance(of, ast.Call) else of
            if not isinstance(inner, ast.Attribute) or inner.attr not in _SHARE:
                break
            of = inner.value
        shares = isinstance(of, ast.Name) and of.id == name and of is not child.value
        if shares and re.match(rf"{re.escape(made)}\b", str(line["source"])):
            number = ev.source.line_of(child)[0]
            return f"{made} = {ast.unparse(child.value)} in line {number} is no copy but shares its memory, so that "
    return ""


_LAST_DIGITS = 1e-11  # of the largest element; a step that was not taken back is far larger


def _rounded_back(ev: Evidence, pair: Pair, method: str) -> Finding | None:
    """Elements of an input that were moved and moved back, and have other last digits now."""
    name = ev.argument(pair.answer.inputs_changed[0])
    place = put_back_by_arithmetic(ev.source, method, name)
    changed_by = pair.answer.data.get("changed_by") or ()
    if place is None or not changed_by or not 0 < changed_by[0] < _LAST_DIGITS:
        return None
    return Finding(
        "mutates-input",
        f"{name} comes back with other last digits: it is moved and moved back by arithmetic (line {place[0]}), and each "
        "sum is rounded.",
        f"Keep the number itself (old = {name}[i].item()) and put that back, or leave {name} alone and move a copy of it.",
        {"case": pair.where, "argument": name, "line": place[0], "source": place[1]},
    )


def _inplace_true(ev: Evidence, method: str) -> tuple[int, str] | None:
    """The line of a call with inplace=True, where nothing else in the method writes in place."""
    node = ev.source.methods.get(method)
    if node is None or in_place_line(ev, method):
        return None
    for call in ast.walk(node):
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            value = keyword.value
            if keyword.arg == "inplace" and isinstance(value, ast.Constant) and value.value is True:
                return ev.source.line_of(call)
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


def in_place_line(ev: Evidence, method: str) -> dict[str, object]:
    """The first line that writes in place, if the source shows one."""
    node = ev.source.methods.get(method)
    for child in ast.walk(node) if node is not None else ():
        call = isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute)
        writes = call and child.func.attr.endswith("_") and not child.func.attr.endswith("__")  # type: ignore[attr-defined]
        subscript = isinstance(child, ast.Assign) and any(
            isinstance(t, ast.Subscript) and isinstance(t.ctx, ast.Store)
            for target in child.targets
            for t in ast.walk(target)
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


def _assigns_grad(ev: Evidence, pair: Pair, position: int, place: tuple[int, str]) -> Finding:
    name = ev.argument(position)
    return Finding(
        "mutates-saved",
        f"backward writes to .grad of {name}: what it returns is added to that, and counts twice.",
        "backward only returns gradients. torch adds them to .grad of the leaves, once.",
        {"case": pair.where, "argument": name, **_at(place)},
    )


def _at(place: tuple[int, str] | None) -> dict[str, object]:
    return {"line": place[0], "source": place[1]} if place else {}


def _by_another_name(ev: Evidence) -> str:
    """A clause where the line that writes has a name that was only put to grad_output."""
    node, place = ev.source.methods.get("backward"), in_place_line(ev, "backward")
    given = [a.arg for a in node.args.args[1:]] if node is not None else []
    written = re.match(r"\w+", str(place.get("source", "")))
    for each in ast.walk(node) if node is not None and written is not None else ():
        if (
            isinstance(each, ast.Assign)
            and isinstance(each.value, ast.Name)
            and each.value.id in given
        ):
            names = [t.id for t in each.targets if isinstance(t, ast.Name)]
            if written is not None and names == [written[0]] and names[0] not in given:
                line, _ = ev.source.line_of(each)
                return f" (line {line} makes {names[0]} a name for it, no copy)"
    return ""


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
                f"backward writes to grad_output{_by_another_name(ev)}, which belongs to torch: another branch of the "
                "graph may still need it.",
                "Compute a new tensor from grad_output (no call whose name ends in _; * in place of *=; torch.where in place of "
                "an assignment to [mask]), or clone it first. "
                "In x + f(x) this mistake is silent and the result wrong.",
                {"case": pair.where, **in_place_line(ev, "backward")},
            )
    return None


@rule("mutates-saved", needs=("forward_runs", "output_is_connected"))
def leaves_saved(ev: Evidence) -> Verdict:
    """The saved tensors are left as they were."""
    if not ev.plain or ev.exercise.is_function:
        return NOT_ASKED
    for pair in _runs(ev):
        left = pair.answer.data.get("grad_left") or ()
        if left and (assigned := ev.source.assigned("backward", "grad")) is not None:
            return _assigns_grad(ev, pair, left[0], assigned)
        if left and ev.exercise.may_use_autograd:  # where it may not, that it does is the finding
            return _fills_grad(ev, pair, left[0])
        in_forward = set(pair.answer.data.get("inputs_changed_in_forward") or ())
        saved = any(c.saved_changed for c in pair.answer.backward)
        late = set(pair.answer.inputs_changed) - in_forward
        if saved or late:
            output = not late and _is_output(ev, pair)
            what = f"the input {ev.argument(min(late))}" if late else "a saved tensor"
            what = "the output, which was saved" if output else what
            callers = "the caller's own tensor changes, and " if late or output else ""
            return Finding(
                "mutates-saved",
                f"backward writes to {what}: {callers}a second backward through the same graph stops or comes out wrong.",
                "What save_for_backward gives back is no copy: an input or an output is the very tensor that the "
                "caller has. Compute a new tensor.",
                {"case": pair.where, **in_place_line(ev, "backward")},
            )
    return None


def _is_output(ev: Evidence, pair: Pair) -> bool:
    """Whether all saved tensors that backward wrote to are outputs."""
    written = {i for call in pair.answer.backward for i in call.saved_changed}
    who = {k.holder: k.who for p in ev.pairs("structure") for k in p.answer.kept}
    return bool(written) and all(who.get(f"saved[{i}]", "").startswith("output") for i in written)


RULES: tuple[Rule, ...] = (leaves_inputs, leaves_upstream, leaves_saved)
