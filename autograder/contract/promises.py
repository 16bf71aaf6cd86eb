"""What a contract promises: the one table that lessons, checks and reports are read from.

A lesson's contract names the promises of its exercise in bold; a report says of each what was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["kept", "broken", "undecided", "not reached"]


@dataclass(frozen=True)
class Promise:
    """One promise.

    title  the words of lessons and reports
    rules  the public names of the rules that judge it; a rule or a scenario may say another promise
    """

    key: str
    title: str
    rules: tuple[str, ...]


PROMISES: tuple[Promise, ...] = (
    Promise(
        "values", "values",
        ("raises", "output-count", "forward-shape", "forward-dtype", "forward-value", "value",
         "refuses"),
    ),
    Promise(
        "gradients", "gradients",
        ("not-a-function", "gradient-count", "gradient-missing", "gradient-shape", "gradient-dtype",
         "gradient-zero", "gradient-sign", "gradient-scale", "gradient-transposed",
         "gradient-swapped", "gradient-unsummed", "gradient-value", "upstream-ignored",
         "upstream-nonlinear", "ignores-needs-input-grad", "parameters-without-gradient", "jvp",
         "func"),
    ),
    Promise(
        "second", "second derivatives",
        ("double-backward-value", "double-backward-missing", "higher-derivative"),
    ),
    Promise(
        "special", "special points",
        ("fails-special-point", "forward-unstable", "gradient-unstable"),
    ),
    Promise(
        "memory", "memory",
        ("saves-too-much", "saves-on-ctx", "no-recompute", "temporary-too-large"),
    ),
    Promise(
        "layouts", "shapes, strides, dtypes",
        ("fails-batch-dims", "fails-noncontiguous", "fails-expanded-upstream", "fails-empty",
         "fails-float32", "fails-half", "fails-device", "loses-precision", "vmap", "opcheck"),
    ),
    Promise(
        "untouched", "nothing else is touched",
        ("mutates-input", "mutates-saved", "mutates-upstream", "shared-state", "random-state"),
    ),
    Promise(
        "work", "your own work",
        ("uses-autograd", "uses-builtin", "finite-differences", "memorised", "too-many-passes",
         "too-slow"),
    ),
)  # fmt: skip

BY_KEY = {promise.key: promise for promise in PROMISES}
_OF_RULE = {rule: promise.key for promise in PROMISES for rule in promise.rules}


def promise_of(rule: str) -> str:
    """The key of the promise that a rule judges. KeyError for a name that is no rule."""
    return _OF_RULE[rule]


@dataclass(frozen=True)
class Line:
    """What a check found of one promise: kept, broken, undecided (nobody can tell), or not reached behind those."""

    key: str
    state: State

    @property
    def title(self) -> str:
        return BY_KEY[self.key].title

    @property
    def mark(self) -> str:
        return {"kept": "✓", "broken": "✗", "undecided": "?", "not reached": "–"}[self.state]
