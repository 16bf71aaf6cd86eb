"""Questions about what a Function offers beside backward: forward mode, batches, its registration with torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
import torch.autograd.forward_ad as forward_ad
from torch import Tensor
from torch._library.custom_ops import _maybe_get_opdef
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import CustomOpDef

from autograder.contract.differentiation import BATCH, as_tuple, copied, transformed
from autograder.contract.ending import ended_in
from autograder.observation.observation import Answer, Question
from autograder.running.submission import fresh_arguments
from autograder.running.watching import PlainMode

if TYPE_CHECKING:
    from autograder.running.questioning import Asking

Operator = CustomOpDef | torch._ops.OpOverload


def _jvp(ask: Asking, q: Question, answer: Answer) -> None:
    """The outputs' tangents, for the directions of the question as the arguments' tangents: of all, and of each alone."""
    ask.stage = "jvp"
    answer.data["tangents"] = tangents(ask, q, q.wants)
    answer.data["of_each"] = [tangents(ask, q, (place,)) for place in q.wants]


def _detached(args: Sequence[Any]) -> list[Any]:
    return [a.detach() if isinstance(a, Tensor) else a for a in args]


def tangents(ask: Asking, q: Question, places: Sequence[int]) -> list[Tensor | None]:
    args = _detached(fresh_arguments(q))
    with forward_ad.dual_level():
        for place, direction in zip(q.wants, q.directions, strict=True):
            assert direction is not None
            if place in places:
                args[place] = forward_ad.make_dual(args[place], direction)
        outputs = as_tuple(ask.submission(*args))
        return [
            copied(forward_ad.unpack_dual(o).tangent) if isinstance(o, Tensor) else None
            for o in outputs
        ]


def _vmap(ask: Asking, q: Question, answer: Answer) -> None:
    """A batch at once, and each example by itself: of one argument, the batch in front and behind; of all together."""
    ask.stage = "vmap"
    args = _detached(fresh_arguments(q))
    answer.data["together"], answer.data["alone"] = [], []
    each = [{place: dim} for place in q.wants for dim in (0, -1)]
    both = {place: -(n % 2) for n, place in enumerate(q.wants)}
    for dims in [*each, both] if len(both) > 1 else each:
        examples = {i: [args[i] * (1 - 0.1 * k) for k in range(BATCH)] for i in dims}
        batched = [torch.stack(examples[i], dims[i]) if i in dims else a for i, a in enumerate(args)]  # fmt: skip
        singles = [
            as_tuple(ask.submission(*[examples[i][k] if i in dims else a for i, a in enumerate(args)]))
            for k in range(BATCH)
        ]  # fmt: skip
        in_dims = tuple(dims.get(i) for i in range(len(args)))
        with _Operators(None) as seen:
            together = as_tuple(torch.func.vmap(ask.submission, in_dims=in_dims)(*batched))
        answer.data["runs"] = max(seen.runs.values(), default=0)
        answer.data["together"].append([copied(t) for t in together])
        answer.data["alone"].append([copied(torch.stack(parts)) for parts in zip(*singles, strict=True)])  # fmt: skip


def _func(ask: Asking, q: Question, answer: Answer) -> None:
    """What torch.func's transforms make of it."""
    ask.stage = "func"
    answer.data["func"] = transformed(ask.submission, q)


def _compiled(ask: Asking, q: Question, answer: Answer) -> None:
    """Outputs and gradients of the compiled call, in one graph and without a code generator."""
    ask.stage = "compile"
    torch._dynamo.reset()
    submission, args = ask.submission, fresh_arguments(q)
    target = submission.target.apply if submission.is_class else submission.target
    whole = torch.compile(lambda *given: target(*given), backend="aot_eager", fullgraph=True)
    try:
        answer.gradients = ask.gradients(args, ask.take(whole(*args)))
    finally:
        torch._dynamo.reset()


class _Operators(PlainMode):
    """The custom operators that run, each with arguments and result of its first call; ``wanted`` among them, whatever it is."""

    def __init__(self, wanted: Any) -> None:
        super().__init__()
        self.wanted = wanted
        self.called: dict[Operator, tuple[Sequence[Any], Any]] = {}
        self.runs: Counter[Operator] = Counter()

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operator, result = _maybe_get_opdef(func), func(*args, **kwargs)
        if operator is not None or func is self.wanted:
            self.called.setdefault(operator or func, (args, result))
            self.runs[operator or func] += 1
        return result


def _opcheck(ask: Asking, q: Question, answer: Answer) -> None:
    """Of each operator that is called what torch.library.opcheck says, and whether its fake gives what it gives."""
    ask.stage = "opcheck"
    answer.data["operators"], answer.data["opcheck"], answer.data["fakes"] = [], {}, []
    for layout in ("contiguous", "transposed"):
        with torch.no_grad(), _Operators(ask.submission.target) as seen:
            ask.submission(*fresh_arguments(replace(q, layout=layout)))
        for operator, (args, result) in seen.called.items():
            given = _detached(args)
            answer.data["fakes"] += _untrue(operator, given, as_tuple(result), layout)
            if layout == "contiguous":
                answer.data["operators"].append(_name(operator))
                answer.data["opcheck"] |= _by_torch(operator, given)


def _name(operator: Operator) -> str:
    """What the learner calls it: the name of its body."""
    return operator._init_fn.__name__ if isinstance(operator, CustomOpDef) else str(operator)


def _by_torch(operator: Operator, args: Sequence[Any]) -> dict[str, str]:
    """What each of torch's tests says, "SUCCESS" or the error."""
    wanting = [
        a.clone().requires_grad_(a.is_floating_point()) if isinstance(a, Tensor) else a
        for a in args
    ]
    found = torch.library.opcheck(operator, tuple(wanting), raise_exception=False)
    return {
        f"{_name(operator)}, {name}": said if isinstance(said, str) else f"{type(said).__name__}: {said}"[:400]
        for name, said in found.items()
    }  # fmt: skip


def _untrue(
    operator: Operator, args: Sequence[Any], real: tuple[Any, ...], layout: str
) -> Iterator[dict[str, Any]]:
    """The first thing in which what the fake gives differs from what the operator gave, in words."""
    about = {"operator": _name(operator), "layout": layout}
    if isinstance(operator, CustomOpDef) and operator._abstract_fn is None:
        yield {**about, "aspect": "missing"}
        return
    try:
        with FakeTensorMode() as mode:
            fakes = [mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args]
            fake = as_tuple(operator(*fakes))
    except NotImplementedError:
        raise
    except Exception as error:  # whichever it is: it does not work without data
        yield {**about, "aspect": "error", "error": ended_in(error)}
        return
    for place, (said, given) in enumerate(zip(fake, real, strict=False)):
        for aspect, words in _ASPECTS.items():
            mine, right = words(said), words(given)
            if mine != right:
                output = f"output {place + 1}" if len(real) > 1 else "the output"
                yield {**about, "aspect": aspect, "output": output, "mine": mine, "right": right}
                return


def _strides(tensor: Tensor) -> str:
    """Those that matter: of dimensions with several elements."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return str(tuple(step if size > 1 else 1 for size, step in steps)) if tensor.numel() else "()"


_ASPECTS: dict[str, Callable[[Tensor], str]] = {
    "shape": lambda t: str(tuple(t.shape)),
    "dtype": lambda t: str(t.dtype).removeprefix("torch."),
    "stride": _strides,
}

PROCEDURES: dict[str, Callable[[Asking, Question, Answer], None]] = {
    "jvp": _jvp,
    "vmap": _vmap,
    "func": _func,
    "compiled": _compiled,
    "opcheck": _opcheck,
}

# What an answer to these has to have, at least one entry for each argument (of operators: at least one).
BESIDE_BACKWARD = {
    "jvp": ("of_each",), "vmap": ("together", "alone"), "func": ("func",), "opcheck": ("operators",),
}  # fmt: skip
