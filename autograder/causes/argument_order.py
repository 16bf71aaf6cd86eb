"""A forward whose arguments stand in another order than those that apply hands over."""

from __future__ import annotations

from autograder.evidence import Evidence


def other_order(ev: Evidence) -> tuple[str, str, dict[str, object]] | None:
    """(headline, next step, line) where forward has the contract's names in another order."""
    node = ev.source.methods.get(ev.exercise.name if ev.exercise.is_function else "forward")
    if node is None:
        return None
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    if not ev.exercise.is_function and "setup_context" not in ev.source.methods:
        names = names[1:]
    asked = list(ev.exercise.argument_names)
    if names == asked or sorted(names) != sorted(asked):
        return None
    number, text = ev.source.line_of(node)
    method = node.name
    mine, right = ", ".join(names), ", ".join(asked)
    return (
        f"{method} takes its arguments in the order ({mine}); it is called with ({right}), so {names[0]} is what "
        f"{asked[0]} should be.",
        f"Python hands arguments over by their place. Write {method}({'' if ev.exercise.is_function else 'ctx, '}"
        f"{right})"
        + ("." if ev.exercise.is_function else ", and return the gradients in that order."),
        {"line": number, "source": text},
    )
