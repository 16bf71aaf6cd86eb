"""What was measured has one place in the code that does it: the sentence names that line.

Each is asked only after a check has failed in the way that this code leads to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.evidence import Evidence, Finding


def with_its_line(ev: Evidence, finding: Finding) -> Finding:
    """A finding of an experiment, which names the call that is to blame where there is one."""
    if finding.rule == "parameters-without-gradient":
        return _no_graph(ev, finding) if ev.exercise.is_function else _arguments_alone(ev, finding)
    if finding.rule == "higher-derivative":
        return _later_function(ev, finding)
    if finding.rule == "mutates-input" and finding.evidence.get("left"):
        return _fills_grad(ev, finding)
    if finding.rule == "temporary-too-large" and finding.evidence.get("operation"):
        return _made_whole(ev, finding)
    if finding.message.startswith(_CHANGES_STATE):
        return _never_put_back(ev, finding)
    if finding.message.endswith(_TWICE):
        return _told_by(ev, finding)
    return finding


_CHANGES_STATE = "backward changes the caller's random state"
_SETTERS = ("set_rng_state", "manual_seed", "set_state", "seed")


def _never_put_back(ev: Evidence, finding: Finding) -> Finding:
    """Checkpoint: the only call that sets a random state sets the one of forward."""
    calls = [c for c in _calls(ev, "backward") if ast.unparse(c.func).split(".")[-1] in _SETTERS]
    if len(calls) != 1 or ev.source.mentions("backward", "fork_rng"):
        return finding
    number, text = ev.source.line_of(calls[0])
    return Finding(
        finding.rule,
        f"{ast.unparse(calls[0].func)} in line {number} changes the caller's random state, and nothing puts it back: "
        "whatever is drawn after backward repeats itself.",
        finding.hint,
        {**finding.evidence, "line": number, "source": text},
    )


_MASKS = ("mask", "tril", "triu", "causal")


def _made_whole(ev: Evidence, finding: Finding) -> Finding:
    """The only line that calls the operation whose result is too large; a whole mask is named as such."""
    method = finding.message.partition(" ")[0]
    operation = str(finding.evidence["operation"]).removeprefix("aten.").split(".")[0].strip("_")
    calls = [c for c in _calls(ev, method) if ast.unparse(c.func).split(".")[-1] == operation]
    places = sorted({ev.source.line_of(c) for c in calls})
    if len(places) != 1:
        return finding
    number, text = places[0]
    evidence = {**finding.evidence, "line": number, "source": text}
    of_mask = "causal=True" in finding.message or " bool tensor " in finding.message
    if not of_mask or not any(word in text for word in _MASKS):
        return Finding(finding.rule, finding.message, finding.hint, evidence)
    return Finding(
        finding.rule,
        f"The causal mask of line {number} is made for the whole matrix at once: {finding.message}",
        finding.hint,
        evidence,
    )


_TWICE = (
    "Two views of one storage are counted twice.",
    "A tensor that is saved twice is counted twice.",
)


def _told_by(ev: Evidence, finding: Finding) -> Finding:
    """saved_bytes: what storages are told apart by is an address of something else."""
    for call in _calls(ev, ev.exercise.name):
        name = ast.unparse(call.func)
        number, text = ev.source.line_of(call)
        if name == "id" and len(call.args) == 1 and isinstance(call.args[0], ast.Name):
            why = f"id({call.args[0].id}) in line {number} tells Python objects apart, not storages"
        elif name.endswith(".data_ptr") and "storage" not in name and "views" in finding.message:
            why = f"{name}() in line {number} is the address of a tensor's first element, not of its storage"
        else:
            continue
        return Finding(
            finding.rule,
            f"{why}: {finding.message[0].lower()}{finding.message[1:]}",
            "tensor.untyped_storage().data_ptr() is the same for all views of a storage.",
            {**finding.evidence, "line": number, "source": text},
        )
    return finding


def _fills_grad(ev: Evidence, finding: Finding) -> Finding:
    """A function whose .backward() leaves something in .grad of what it was not asked about."""
    calls = [
        c
        for c in _calls(ev, ev.exercise.name)
        if isinstance(c.func, ast.Attribute) and c.func.attr == "backward"
    ]
    calls = [c for c in calls if all(k.arg not in ("inputs", None) for k in c.keywords)]
    if not calls:
        return finding
    places = sorted({ev.source.line_of(c) for c in calls})
    numbers = [str(number) for number, _ in places]
    where = f"line {numbers[0]}"
    if len(numbers) > 1:
        where = f"lines {', '.join(numbers[:-1])} and {numbers[-1]}"
    evidence = {**finding.evidence, "line": places[0][0], "source": places[0][1]}
    inside, left = "A backward runs inside", finding.evidence["left"]
    if finding.message.startswith(inside):
        message = finding.message.replace(inside, f"{inside}, in {where}", 1)
        return Finding(finding.rule, message, finding.hint, evidence)
    return Finding(
        finding.rule,
        f".backward() in {where} fills .grad of every leaf that it meets: afterwards {' and '.join(left)} "
        f"{'has' if len(left) == 1 else 'have'} one, and the caller's next optimiser step would use it.",
        finding.hint.removeprefix(".backward() adds to the .grad of every leaf it meets. "),
        evidence,
    )


def _later_function(ev: Evidence, finding: Finding) -> Finding:
    """Derivatives from the second one on come out of the backward of a Function that backward calls."""
    call = other_function_called(ev)
    if call is None or ", but" in finding.message:
        return finding
    name, number, text = call
    return Finding(
        finding.rule,
        f"{finding.message.removesuffix('.')}: from the second one on they are made by the backward of {name}, which "
        f"line {number} calls.",
        finding.hint,
        {**finding.evidence, "line": number, "source": text},
    )


def other_function_called(ev: Evidence) -> tuple[str, int, str] | None:
    """(its name, line, text) of the first Function other than this one whose apply backward calls."""
    own = next((n.name for n in ev.source.nodes if isinstance(n, ast.ClassDef)), "")
    for method in ("backward", "vjp"):
        for call in _calls(ev, method):
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "apply":
                continue
            name = ast.unparse(call.func.value)
            if name.isidentifier() and name not in (own, "cls"):
                return name, *ev.source.line_of(call)
    return None


def _arguments_alone(ev: Evidence, finding: Finding) -> Finding:
    """Checkpoint: the inner pass is asked for the arguments' gradients only."""
    begin, _, rest = finding.message.partition("a parameter that fn uses")
    if begin != "After loss.backward() " or " has no gradient" not in rest:
        return finding
    for call in _calls(ev, "backward"):
        name = ast.unparse(call.func)
        limited = any(k.arg == "inputs" for k in call.keywords)
        if name.split(".")[-1] != "grad" and not (name.endswith("backward") and limited):
            continue
        number, text = ev.source.line_of(call)
        what = "grad" if not limited else "backward(inputs=…)"
        found = f"a parameter that fn uses{rest.split(' has no gradient')[0]}"
        return Finding(
            finding.rule,
            f"torch.autograd.{what} in line {number} asks only for the gradients of what it names: after "
            f"loss.backward() {found} has none, and would never train.",
            finding.hint,
            {**finding.evidence, "line": number, "source": text},
        )
    return finding


def _no_graph(ev: Evidence, finding: Finding) -> Finding:
    """gradient_penalty: no pass keeps a graph of the gradient."""
    calls = [c for c in _calls(ev, ev.exercise.name) if ast.unparse(c.func).endswith("grad")]
    keeps = any(k.arg in (None, "create_graph") for c in calls for k in c.keywords)
    if len(calls) != 1 or keeps or len(calls[0].args) > 4:
        return finding
    number, text = ev.source.line_of(calls[0])
    lead = finding.message.removesuffix(".").split(": it would")[0]
    why = f"create_graph=True is missing in line {number}, so that the gradient there is a bare number"
    if any(k.arg == "retain_graph" for k in calls[0].keywords):
        why = (
            f"retain_graph in line {number} stands where create_graph=True is needed. It keeps the critic's graph; "
            "the gradient itself has none"
        )
    return Finding(
        finding.rule,
        f"{lead}: {why}.",
        finding.hint,
        {**finding.evidence, "line": number, "source": text},
    )


def what_is_shared(ev: Evidence) -> tuple[str, dict[str, object]] | None:
    """(words, line) of the places outside of ctx that forward writes to, where they are one or two."""
    found: dict[str, ast.AST] = {}
    for method in ("forward", "setup_context"):
        node = ev.source.methods.get(method)
        for part in ast.walk(node) if node is not None else ():
            if words := _outside(ev, method, part):
                found.setdefault(words, part)
    if not 0 < len(found) < 3:
        return None
    number, text = ev.source.line_of(next(iter(found.values())))
    return f"{' and '.join(found)} (line {number})", {"line": number, "source": text}


def _outside(ev: Evidence, method: str, part: ast.AST) -> str:
    """What outlives a call and is written to here: an attribute of the class, a global; "" for nothing."""
    node = ev.source.methods[method]
    own = [n.name for n in ev.source.nodes if isinstance(n, ast.ClassDef)][:1]
    if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
        return f"{ast.unparse(part)}" if ast.unparse(part.value) in own else ""
    declared = {name for n in ast.walk(node) if isinstance(n, ast.Global) for name in n.names}
    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
        return f"the global {part.id}" if part.id in declared else ""
    changed: ast.AST | None = None
    if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
        changed = part.value
    elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        changed = part.func.value if part.func.attr in ("append", "setdefault", "update") else None
    if not isinstance(changed, ast.Name):
        return ""
    made = {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    made |= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return "" if changed.id in made else f"the global {changed.id}"


def _calls(ev: Evidence, method: str) -> Iterator[ast.Call]:
    node = ev.source.methods.get(method)
    yield from (n for n in (ast.walk(node) if node is not None else ()) if isinstance(n, ast.Call))
