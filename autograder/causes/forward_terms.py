"""An output that is the right one with something done to it: a term, a factor or a function too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from autograder.compare import close, number
from autograder.evidence import Evidence, Pair

_ENOUGH = 8  # elements in all cases together: fewer may agree by chance
_CONTRACT = "The contract is: {summary} Go through forward factor by factor, and compare."

# What is returned in the place of r, the right output.
_AFTERWARDS: dict[str, Callable[[Tensor], Tensor]] = {
    "the absolute value of": torch.abs,
    "the square of": lambda r: r**2,
    "the root of": torch.sqrt,
    "1 divided by": lambda r: 1 / r,
    "the exponential of": torch.exp,
    "the logarithm of": torch.log,
    "the sigmoid of": torch.sigmoid,
    "the tanh of": torch.tanh,
    "the sign of": torch.sign,
    "the ReLU of": torch.relu,
    "1 minus": lambda r: 1 - r,
    "rounded to whole numbers: nothing else is wrong with": torch.round,
    "rounded down to whole numbers (so does //): nothing else is wrong with": torch.floor,
}


def changed_output(ev: Evidence, what: str, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """(headline, next step) where one such change explains the first output of all pairs."""
    both = [(p, *t) for p in pairs if (t := _outputs(p)) is not None]
    if len(both) != len(pairs) or sum(right.numel() for _, _, right in both) < _ENOUGH:
        return None
    hint = _CONTRACT.format(summary=ev.exercise.summary)
    for words, change in _AFTERWARDS.items():
        if all(close(mine, change(right)) for _, mine, right in both):
            return f"{what} is {words} what is asked for.", hint
    for words, term in _terms(ev, pairs):
        try:
            terms = [term(p) for p, _, _ in both]
        except RuntimeError:  # a product of two that do not fit
            continue
        if not all(_fits(t, right) for t, (_, _, right) in zip(terms, both, strict=True)):
            continue
        triples = [(t, m, r) for t, (_, m, r) in zip(terms, both, strict=True)]
        for sign, said in ((1.0, f"has a term {words} too many"), (-1.0, f"lacks a term {words}")):
            if all(close(m, r + sign * t) for t, m, r in triples):
                return (
                    f"{what} {said}: that is the difference to the right one in every case.",
                    hint,
                )
        if all(close(m, r * t) for t, m, r in triples):
            return f"{what} is the right one times {words}: that factor is one too many.", hint
        if all(close(m, r / t) for t, m, r in triples):
            return f"{what} is the right one divided by {words}.", hint
    offsets = torch.cat([(m - r).reshape(-1) for _, m, r in both])
    if close(offsets, offsets[0].expand_as(offsets).clone()) and bool(offsets[0] != 0):
        off = float(offsets[0])
        more = "too large" if off > 0 else "too small"
        return f"{what} is {more} by {number(abs(off))} everywhere.", (
            "Look for a number that is added or subtracted in forward, or that is missing there."
        )
    return None


_Term = Callable[[Pair], Tensor]


def _terms(ev: Evidence, pairs: Sequence[Pair]) -> Iterator[tuple[str, _Term]]:
    """The floating-point tensors and the numbers among the arguments, and products of two."""
    found: list[tuple[str, _Term]] = []
    for j, name in enumerate(ev.exercise.argument_names):
        values = [p.question.args[j] for p in pairs if j < len(p.question.args)]
        if len(values) == len(pairs) and all(_usable(v) for v in values):
            found.append((name, partial(_argument, j)))
    yield from found
    for place, (first, a) in enumerate(found):
        for second, b in found[place + 1 :]:
            yield f"{first} · {second}", lambda p, a=a, b=b: a(p) * b(p)  # type: ignore[misc]


def _argument(j: int, pair: Pair) -> Tensor:
    return torch.as_tensor(pair.question.args[j]).detach().double()


def _usable(value: object) -> bool:
    if isinstance(value, Tensor):
        return value.is_floating_point()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(term: Tensor, right: Tensor) -> bool:
    return (
        all(
            mine in (1, whole)
            for mine, whole in zip(term.shape[::-1], right.shape[::-1], strict=False)
        )
        and term.dim() <= right.dim()
    )


def _outputs(pair: Pair) -> tuple[Tensor, Tensor] | None:
    mine, right = (pair.answer.outputs or (None,))[0], pair.expected.outputs[0]
    if not isinstance(mine, Tensor) or not isinstance(right, Tensor) or mine.shape != right.shape:
        return None
    if not mine.is_floating_point() or not bool(torch.isfinite(mine).all()):
        return None
    return mine.double(), right.detach().double()
