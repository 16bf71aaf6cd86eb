"""Where an answer is wrong, and what stands there: one region of an argument that says it all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from autograder.compare import close, mismatch, number, ratio, where_wrong
from autograder.evidence import Evidence, Finding, Pair
from autograder.expected import expected_upstream

_ENOUGH = 8  # elements: a region that few of them agree on may be chance


def same_everywhere(ev: Evidence, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """Outputs that are one number, whatever the arguments are."""
    outputs = [p.answer.outputs[0] for p in pairs if p.answer.outputs]
    if len(outputs) != len(pairs) or not all(isinstance(o, Tensor) for o in outputs):
        return None
    values = [o.reshape(-1).double() for o in outputs if isinstance(o, Tensor)]
    together = torch.cat(values)
    if together.numel() < _ENOUGH or not bool((together == together[0]).all()):
        return None
    return (
        f"The {'result' if ev.exercise.is_function else 'output'} is {number(float(together[0]))} everywhere, whatever the arguments are.",
        "Follow one number through forward: where is it lost? (A factor 0, a comparison that is always false, "
        "a clamp with its bounds exchanged.)",
    )


_RANDOM = ("rand", "randn", "rand_like", "randn_like", "uniform_", "normal_", "exponential_", "bernoulli", "dropout")  # fmt: skip


def not_repeated(ev: Evidence, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """Two calls with the same arguments whose outputs are not the same."""
    by_id = {p.question.id: p for p in pairs}
    for id, first in by_id.items():
        second = by_id.get(id.replace("run:", "linear:"))
        if second is None or second is first or not _same_arguments(first, second):
            continue
        a, b = _output(first), _output(second)
        if a is None or b is None or torch.equal(a, b):
            continue
        places = [ev.source.first_mention("forward", name) for name in _RANDOM]
        place = next((p for p in places if p is not None), None)
        line = f": line {place[0]} draws random numbers" if place else ""
        return (
            f"Two calls with the same arguments give two outputs{line}.",
            "What comes out may depend on the arguments alone. Noise that is wanted is passed in as one.",
        )
    return None


def _same_arguments(first: Pair, second: Pair) -> bool:
    both = zip(first.question.args, second.question.args, strict=True)
    return all(torch.equal(a, b) if isinstance(a, Tensor) else a is b or a == b for a, b in both)


def wrong_region(ev: Evidence, what: str, pairs: Sequence[Pair]) -> tuple[str, str] | None:
    """The region of one argument in which the output is wrong, in all cases, and what stands there."""
    for i in pairs[0].question.wants:
        seen = [_in_region(p, i) for p in pairs]
        regions = {s[0] for s in seen if s is not None and s[0]}
        if any(s is None for s in seen) or len(regions) != 1:
            continue
        region = regions.pop()
        if any(s is not None and not s[0] and s[1] for s in seen):
            continue  # a case that is wrong elsewhere
        if sum(p.question.args[i].numel() for p in pairs) < _ENOUGH:
            continue
        name = ev.argument(i)
        return (
            f"{what} is wrong exactly where {name} is {region}{_stands_there(pairs, i, name)}.",
            f"Work out by hand what should come out for one {name} that is {region}.",
        )
    return None


def _in_region(pair: Pair, i: int) -> tuple[str, bool] | None:
    """(the region in which this output is wrong or "", whether it is wrong at all)."""
    output, right = _output(pair), pair.expected.outputs[0]
    x = pair.question.args[i]
    if output is None or not isinstance(x, Tensor) or x.shape != right.shape:
        return None
    wrong = mismatch(output, right)
    return where_wrong(x, wrong) or "", bool(wrong.any())


def _output(pair: Pair) -> Tensor | None:
    right = pair.expected.outputs[0]
    output = pair.answer.outputs[0] if pair.answer.outputs else None
    fits = isinstance(output, Tensor) and isinstance(right, Tensor) and output.shape == right.shape
    return output if fits and isinstance(output, Tensor) else None


def _stands_there(pairs: Sequence[Pair], i: int, name: str) -> str:
    """A clause that says what the output is in the places where it is wrong; or nothing."""
    mine, right, x = [], [], []
    for pair in pairs:
        output, expected = _output(pair), pair.expected.outputs[0]
        if output is None:
            return ""
        wrong = mismatch(output, expected)
        mine.append(output[wrong].double())
        right.append(expected[wrong].double())
        x.append(pair.question.args[i].detach()[wrong].double())
    a, e, v = torch.cat(mine), torch.cat(right), torch.cat(x)
    if a.numel() < 3:
        return ""
    if close(a, a[0].expand_as(a).clone()):
        return f": there it is {number(float(a[0]))}, always"
    if close(a, -e):
        return ": there its sign is turned round"
    if close(a, v):
        return f": there it is {name} itself"
    for of, what in ((e, "the expected value"), (v, name)):
        factor = ratio(a, of)
        if factor is not None:
            return f": there it is {number(factor)} · {what}"
    return ""


# ---- masks ---------------------------------------------------------------------------------

_MASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "{x} > 0": lambda x: x > 0,
    "{x} < 0": lambda x: x < 0,
    **{
        words.replace("c", said): (lambda x, test=test, size=size: test(x, size))  # type: ignore[misc]
        for said, size in (("½", 0.5), ("1", 1.0), ("2", 2.0), ("3", 3.0), ("6", 6.0))
        for words, test in (
            ("|{x}| < c", lambda x, size: x.abs() < size),
            ("|{x}| > c", lambda x, size: x.abs() > size),
            ("{x} > c", lambda x, size: x > size),
            ("{x} < c", lambda x, size: x < size),
            ("{x} > −c", lambda x, size: x > -size),
            ("0 < {x} < c", lambda x, size: (x > 0) & (x < size)),
        )
    },
}


def masked(ev: Evidence, i: int, wrong: list[Pair], every: list[Pair]) -> Finding | None:
    """A gradient that is grad_output here and 0 there, by another mask than the right one."""
    name, passing, x = ev.argument(i), [], []
    for pair in every:
        got, value = pair.raw(i), pair.question.args[i]
        upstream = expected_upstream(pair.question, pair.expected.outputs)[0]
        if upstream is None or not isinstance(got, Tensor) or upstream.shape != got.shape:
            return None
        passes = torch.isclose(got.double(), upstream.double())
        if value.shape != got.shape or not bool((passes | (got == 0)).all()):
            return None
        passing.append(passes.reshape(-1))
        x.append(value.detach().reshape(-1))
    where, values = torch.cat(passing), torch.cat(x)
    if values.numel() < _ENOUGH or bool(where.all()) or not bool(where.any()):
        return None
    for words, mask in _MASKS.items():
        if torch.equal(mask(values), where):
            return Finding(
                "gradient-value",
                f"The gradient passes where {words.format(x=name)}, and stops elsewhere: that is another mask "
                "than the one that is asked for.",
                f"The contract is: {ev.exercise.summary}",
            )
    return None
