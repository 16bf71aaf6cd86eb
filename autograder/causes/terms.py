"""A gradient with one factor or one term too many or missing, which the numbers name.

Each is compared with what is at hand in backward: the arguments, the output and grad_output.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from autograder.causes.known_functions import known_name
from autograder.compare import close
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream

_COEFFICIENTS = {1.0: "", 2.0: "2 · ", 0.5: "½ · "}
_PAPER = "Derive it on paper once more, and compare it with backward factor by factor."


def factor_too_many(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """The right gradient times (or divided by) a tensor."""
    for words in dict(_at_hand(ev, every[0])):
        if all(_is(p, i, lambda right, t: right * t, words, ev) for p in every):
            return Finding(
                "gradient-value",
                f"The gradient for {ev.argument(i)} is the right one times {words}: that factor is one too "
                "many.",
                _PAPER,
            )
        if all(_is(p, i, lambda right, t: right / t, words, ev) for p in every):
            return Finding(
                "gradient-value",
                f"The gradient for {ev.argument(i)} is the right one divided by {words}: a factor {words} is "
                "missing, or a division is one too many.",
                _PAPER,
            )
    return None


def term_too_many(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """The right gradient plus (or minus) a tensor."""
    names = list(dict(_at_hand(ev, every[0])))
    upstream = "grad_output"
    terms = [*((f"{upstream} · {n}", (upstream, n)) for n in names), *((n, (n,)) for n in names)]
    for words, factors in terms:
        for coefficient, said in _COEFFICIENTS.items():
            for sign, what in ((1, "has a term {} too many"), (-1, "lacks a term {}")):
                if all(_differs_by(ev, p, i, factors, sign * coefficient) for p in every):
                    return Finding(
                        "gradient-value",
                        f"The gradient for {ev.argument(i)} {what.format(said + words)}: that is the "
                        "difference to the right one in every case (a sign may be turned round there).",
                        _PAPER,
                    )
    return None


def constant_term(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A part that is there whatever grad_output is: added without being multiplied by it."""
    if not ev.exercise.linear_upstream:
        return None
    by_id = {p.question.id: p for p in every}
    for id, both in by_id.items():
        kind, _, index = id.partition(":")
        first, second = by_id.get(f"run:{index}"), by_id.get(f"linear:{index}")
        if kind != "combination" or first is None or second is None:
            continue
        a, b, c = first.raw(i), second.raw(i), both.raw(i)
        if not all(isinstance(t, Tensor) and t.shape == a.shape for t in (a, b, c)):
            continue
        constant = (c - 2.0 * a + 3.0 * b) / 2  # f(g) = L g + k: f(2g − 3h) − 2 f(g) + 3 f(h) = 2k
        if close(constant, torch.zeros_like(constant)):
            continue
        name = next(
            (n for n, t in _at_hand(ev, first) if t.shape == a.shape and close(constant, t)), ""
        )
        rest = first.right(i), second.right(i)
        certain = all(
            r is not None and close(got - constant, r) for got, r in zip((a, b), rest, strict=True)
        ) or _one_slope(a - constant, b - constant, first, second)
        name = name or (known_name(ev, first, constant) if certain else "")
        if name or certain:
            which = f" (it is {name})" if name else ""
            return Finding(
                "upstream-nonlinear",
                f"A term of the gradient for {ev.argument(i)} is added without the factor grad_output"
                f"{which}: it would still be there if grad_output were 0.",
                "Every term of a gradient has the factor grad_output: look for brackets that are missing.",
            )
    return None


def _one_slope(a: Tensor, b: Tensor, first: Pair, second: Pair) -> bool:
    """Whether both are their own grad_output times the same tensor: nothing else than the constant is odd."""
    g, h = (expected_upstream(p.question, p.expected.outputs)[0] for p in (first, second))
    if g is None or h is None or g.shape != a.shape or a.numel() < 3:
        return False
    return close(a * h.double(), b * g.double()) and bool(a.any())


def _at_hand(ev: Evidence, pair: Pair) -> Iterator[tuple[str, Tensor]]:
    for position, value in enumerate(pair.question.args):
        if isinstance(value, Tensor) and value.is_floating_point():
            yield ev.argument(position), value.double()
    for output in pair.expected.outputs[:1]:
        if isinstance(output, Tensor) and output.is_floating_point():
            yield "the output", output.double()
    for upstream in expected_upstream(pair.question, pair.expected.outputs)[:1]:
        if upstream is not None:
            yield "grad_output", upstream.double()


def _is(pair: Pair, i: int, make, words: str, ev: Evidence) -> bool:  # type: ignore[no-untyped-def]
    got, right, t = pair.raw(i), pair.right(i), dict(_at_hand(ev, pair)).get(words)
    if not isinstance(got, Tensor) or right is None or t is None or t.shape != right.shape:
        return False
    return bool(right.any()) and close(got, make(right, t))


def _differs_by(
    ev: Evidence, pair: Pair, i: int, factors: tuple[str, ...], coefficient: float
) -> bool:
    got, right, known = pair.raw(i), pair.right(i), dict(_at_hand(ev, pair))
    if not isinstance(got, Tensor) or right is None or got.shape != right.shape:
        return False
    term = torch.full_like(right, coefficient)
    for name in factors:
        if name not in known or known[name].shape != right.shape:
            return False
        term = term * known[name]
    return close(got, right + term)
