"""Outputs that are right for another call: a plain argument is ignored, or taken for another value.

Each possibility is tried by calling the reference with that value, and has to explain every case.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch

from autograder.causes.slips import same_outputs
from autograder.evidence import Evidence, Pair
from autograder.expected import reference_arguments

_NONE = object()  # the argument was not passed


def other_call(ev: Evidence, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """(headline, next step) where the outputs of all pairs are those of one other call; else None."""
    if all(same_outputs(p, p.expected.outputs) for p in pairs):
        return None  # what is wrong is smaller than what tells two calls apart
    for position, name in enumerate(ev.exercise.argument_names):
        values = [_value(p, position) for p in pairs]
        given = [v for v in values if v is not _NONE]
        if not given or not all(_plain(v) for v in given):
            continue
        for explain in (_left_out, _zero_is_nothing, _ignored, _turned_round):
            if (words := explain(ev, pairs, position, name)) is not None:
                return words
    return None


def _left_out(
    ev: Evidence, pairs: Sequence[Pair], position: int, name: str
) -> tuple[str, str] | None:
    """Another default than the contract's."""
    if name not in _defaults(ev.exercise.signature):
        return None
    default = _defaults(ev.exercise.signature)[name]
    for value in _constants(pairs, position, name):
        if value == default or not _as_if(ev, pairs, position, _instead(_not_passed, value)):
            continue
        return (
            f"Where {name} is not passed, the output is the one for {name}={value}; its default is {default}.",
            f"The contract is {ev.exercise.name}{ev.exercise.signature}: look at the defaults of forward, and "
            f"at what {name} is handed on to.",
        )
    return None


def _zero_is_nothing(
    ev: Evidence, pairs: Sequence[Pair], position: int, name: str
) -> tuple[str, str] | None:
    default = _defaults(ev.exercise.signature).get(name)
    for value in dict.fromkeys((None, default)):
        if value == 0 or not _as_if(ev, pairs, position, _instead(_is_zero, value)):
            continue
        return (
            f"{name}=0 is taken for no {name} at all: the output is the one for {name}={value}, and right "
            f"for every other {name}.",
            f"0 is false: `if {name}` and `{name} or …` take it for nothing. Ask `is None` where None is meant.",
        )
    return None


def _ignored(
    ev: Evidence, pairs: Sequence[Pair], position: int, name: str
) -> tuple[str, str] | None:
    fits = [
        value
        for value in _constants(pairs, position, name)
        if _as_if(ev, pairs, position, _instead(_any, value))
    ]
    if not fits:
        return None
    words = " or ".join(f"{name}={value}" for value in fits[:2])
    both = ", which are the same in these cases" if len(fits) > 1 else ""
    return (
        f"{name} is ignored: the output is always the one for {words}{both}.",
        f"Use {name}, as it is passed, wherever such a value is written out or left out in forward.",
    )


def _turned_round(
    ev: Evidence, pairs: Sequence[Pair], position: int, name: str
) -> tuple[str, str] | None:
    default = _defaults(ev.exercise.signature).get(name)
    if not isinstance(default, bool) or not _as_if(
        ev, pairs, position, lambda v: not (default if v is _NONE else v)
    ):
        return None
    return (
        f"{name} is turned round: True gives the output of False, and False that of True.",
        f"Look at the condition that asks for {name}.",
    )


def _instead(which: Callable[[Any], bool], value: Any) -> Callable[[Any], Any]:
    """What puts a value in place of those for which ``which`` is true."""
    return lambda v: value if which(v) else v


def _not_passed(value: Any) -> bool:
    return value is _NONE


def _is_zero(value: Any) -> bool:
    return type(value) in (int, float) and value == 0


def _any(value: Any) -> bool:
    return True


def _as_if(
    ev: Evidence, pairs: Sequence[Pair], position: int, replaced: Callable[[Any], Any]
) -> bool:
    """Whether the outputs are those of the reference with the argument replaced, in every pair."""
    for pair in pairs:
        value = _value(pair, position)
        new = replaced(value)
        args = reference_arguments(pair.question)
        if new is not _NONE:
            if position > len(args):
                return False  # one before it was not passed either
            args[position : position + 1] = [new]
        try:
            with torch.no_grad():
                found = ev.exercise.reference(*args)
        except Exception:  # another call need not make sense for every case
            return False
        if not same_outputs(pair, found):
            return False
    return True


def _constants(pairs: Sequence[Pair], position: int, name: str) -> list[Any]:
    """The values that an answer may have taken for every case: those of the cases, and likely ones."""
    values = [_value(p, position) for p in pairs]
    likely = [-1, 0, 1, None] if name == "dim" else []
    if any(isinstance(v, bool) for v in values):
        likely += [True, False]
    # By their text: 1 and True are equal, and not the same.
    return list({repr(v): v for v in (*likely, *values) if v is not _NONE}.values())


def _value(pair: Pair, position: int) -> Any:
    args = pair.question.args
    return args[position] if position < len(args) else _NONE


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float)


@cache
def _defaults(signature: str) -> dict[str, Any]:
    """The defaults in a signature such as "(x, dim, keepdim=False)"."""
    try:
        made = ast.parse(f"def f{signature}: pass").body[0]
    except SyntaxError:
        return {}
    assert isinstance(made, ast.FunctionDef)
    names = [a.arg for a in made.args.args][len(made.args.args) - len(made.args.defaults) :]
    found = {}
    for name, value in zip(names, made.args.defaults, strict=True):
        try:
            found[name] = ast.literal_eval(value)
        except ValueError:
            continue
    return found
