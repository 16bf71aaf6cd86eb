"""A slip anywhere in the code is found where it stands: in a helper, an earlier line, an order, a loop."""

import ast

import pytest
import torch

from autograder import evaluate
from autograder.contract.exercise import Case, Refusal
from autograder.explaining.causes.changes import changes, listed, orders
from autograder.running.recoding import calls_kernels
from tests.explaining.tiny import MATRICES, exercise, told
from tests.mistakes.gallery import load, of

MEAN = exercise(
    lambda x, dim: x.mean(dim), "(x, dim)",
    Case("a matrix", lambda s: (s.normal(2, 5), 1)), Case("a batch", lambda s: (s.normal(2, 3, 4), 1)),
    Case("columns", lambda s: (s.normal(3, 2), 0)), second_order="not-judged",
)  # fmt: skip
BLEND = exercise(
    lambda a, b, u, v: u * a + v * b, "(a, b, u, v)",
    Case("vectors", lambda s: (s.normal(9), s.normal(9), 1.7, -0.4)),
    Case("matrices", lambda s: (s.normal(3, 4), s.normal(3, 4), 0.3, 2.1)),
    second_order="not-judged",
)  # fmt: skip

COUNTS = """
def how_many(x, dim):
    return x.{count}

def stretched(g, shape, dim):
    return g.unsqueeze({dim}).expand(shape)

class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim, ctx.count = x.shape, dim, how_many(x, dim)
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        return stretched(g, ctx.shape, ctx.dim) / ctx.count, None
"""
WEIGHTS = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, a, b, u, v):
        ctx.weights = u, v
        return u * a + v * b

    @staticmethod
    def backward(ctx, g):
        v, u = ctx.weights
        need = ctx.needs_input_grad
        return u * g if need[0] else None, v * g if need[1] else None, None, None
"""
LOOP = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        steps = 0
        while steps < len(ctx.shape) - 9:
            steps = steps + 1
        return g.unsqueeze(ctx.dim).expand(ctx.shape) / ctx.shape[0], None
"""


def found(source, asked):
    return evaluate(load(source, "Tiny"), exercise=asked, seed=1).findings[0]


DECIDES = """
def longer(size, other):
    return {decides}

class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        if {test}:
            g = g.unsqueeze(ctx.dim)
        for place, size in enumerate(ctx.shape):
            if longer(size, g.shape[place]):
                g = g.repeat_interleave(size, place)
        return g / ctx.shape[ctx.dim], None
"""


@pytest.mark.parametrize(
    ("source", "asked", "line"),
    [
        (COUNTS.format(count="numel()", dim="dim"), MEAN, "return x.numel()"),
        (COUNTS.format(count="shape[0]", dim="dim"), MEAN, "return x.shape[0]"),
        (COUNTS.format(count="shape[dim]", dim="0"), MEAN, "return g.unsqueeze(0).expand(shape)"),
        (WEIGHTS, BLEND, "v, u = ctx.weights"),
        (DECIDES.format(decides="size != other", test="not ctx.needs_input_grad[0]"), MEAN, "if not ctx.needs_input_grad[0]:"),
        (DECIDES.format(decides="size == other", test="ctx.needs_input_grad[0]"), MEAN, "return size == other"),
    ],
    ids=["a helper's size", "a helper's number", "a helper that stops", "the order of names", "an opposite", "a condition"],
)  # fmt: skip
def test_the_line_is_that_of_the_slip_and_not_of_its_use(source, asked, line):
    finding = found(source, asked)
    assert finding.evidence["source"] == line, finding


BEFORE = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, a, b, u, v):
        ctx.u, ctx.v = u, {kept}
        return u * a + v * b

    @staticmethod
    def backward(ctx, g):
        need = ctx.needs_input_grad
        {made}
        return left if need[0] else None, right if need[1] else None, None, None
"""
MADE = "half = g * ctx.u\n        left, right = half, g * ctx.v"


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ({"kept": "1 - u", "made": MADE}, "ctx.u, ctx.v = u, 1 - u"),
        ({"kept": "v", "made": MADE.replace("half =", "half = 2 *")}, "half = 2 * g * ctx.u"),
    ],
    ids=["a number of forward", "a product that is used once"],
)  # fmt: skip
def test_what_is_made_wrong_is_blamed_and_not_what_reads_it(code, line):
    finding = found(BEFORE.format(**code), BLEND)
    assert finding.evidence["source"] == line, finding


@pytest.mark.parametrize("kept", ["ctx.u, ctx.v = u, v", "ctx.u = u\n        ctx.v = v"])
def test_what_only_gets_its_own_name_again_is_not_blamed(kept):
    source = BEFORE.replace("ctx.u, ctx.v = u, {kept}", kept).format(
        made="u, v = ctx.u, ctx.v\n        left = g * v\n        right = g * v"
    )
    finding = found(source, BLEND)
    assert finding.evidence["source"] == "left = g * v", finding


BATCH = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        share = g.unsqueeze(ctx.dim) / ctx.shape[ctx.dim]
        if len(ctx.shape) > 2:
            share = share[:1]
        return share.expand(ctx.shape), None
"""


def test_a_line_without_which_all_comes_out_right_is_told_as_that():
    finding = found(BATCH, MEAN)
    assert finding.evidence["source"] == "share = share[:1]", finding
    assert (finding.facts["mine"], finding.facts["without"]) == ("share = share[:1]", True)


ROWS = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        made = g.new_zeros(ctx.shape)
        for place in range(ctx.shape[ctx.dim]):
            for part in (g / 2, g / 2):
                made.select(ctx.dim, place)[...] = part / ctx.shape[ctx.dim]
        return made, None
"""


def test_what_has_to_add_and_replaces_is_told():
    finding = found(ROWS, MEAN)
    assert (finding.evidence["line"], finding.facts["mine"], finding.facts["other"]) == (13, "=", "+=")  # fmt: skip


TWO_WAYS = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        count = ctx.shape[ctx.dim] if sum(ctx.shape) % 2 else int(g.numel() ** 1)
        return (g / count).unsqueeze(ctx.dim).expand(ctx.shape), None
"""


def test_a_condition_that_leads_the_wrong_way_is_told():
    """Which condition belongs there nobody finds: no edit makes it true for each of these cases."""
    finding = found(TWO_WAYS, MEAN)
    assert finding.cause == "departs/way", finding
    assert finding.facts["code"] == "sum(ctx.shape) % 2", finding


def test_a_change_that_is_right_for_matrices_alone_is_not_told():
    """The right numbers of a matrix: `g` itself, which has too many dimensions elsewhere."""
    linear = exercise(
        lambda x, w: x @ w.T, "(x, w)",
        Case("a matrix", lambda s: (s.normal(4, 3), s.normal(5, 3))),
        Case("another", lambda s: (s.normal(6, 2), s.normal(3, 2))),
        Case("a batch", lambda s: (s.normal(2, 4, 3), s.normal(5, 3)), role="batch"), second_order="not-judged",
    )  # fmt: skip
    source = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.T

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        need, rows = ctx.needs_input_grad, g.reshape(-1, g.shape[-1])
        rows = rows / rows.shape[0]
        right = rows.T @ x.reshape(-1, x.shape[-1]) if need[1] else None
        return g @ w if need[0] else None, right
"""
    finding = found(source, linear)
    assert finding.facts["without"], finding
    assert finding.facts["mine"] == "rows = rows / rows.shape[0]"


def test_each_in_the_others_place_is_not_said_of_a_sign():
    apart = exercise(lambda a, b: a - b, "(a, b)", Case("vectors", lambda s: (s.normal(5), s.normal(5))), second_order="not-judged")  # fmt: skip
    source = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, g):
        g = -g
        return g if ctx.needs_input_grad[0] else None, -g if ctx.needs_input_grad[1] else None
"""
    finding = found(source, apart)
    assert (finding.cause.split("/")[0], finding.evidence["source"]) == ("departs", "g = -g")


def test_the_code_runs_on_as_it_was():
    tiny = load(LOOP, "Tiny")
    codes = tiny.forward.__code__, tiny.backward.__code__
    evaluate(tiny, exercise=MEAN, seed=1)
    assert (tiny.forward.__code__, tiny.backward.__code__) == codes


def said(code, names=(), agreed=(), asks=False):
    known = {name: torch.ones(2) if name.islower() else 3 for name in names}
    return {each.text for each in changes(ast.parse(code, mode="eval").body, known, agreed, asks)}


def test_what_decides_what_runs_keeps_its_numbers():
    assert "x.sum((1))" in said("x.sum(0)")
    orders = {f"(x.dim() {sign} 2)" for sign in ("<=", ">", ">=", "==", "!=")}
    assert said("x.dim() < 2", asks=True) == orders
    assert said("ctx.keep", asks=True) == {"(not ctx.keep)"}
    assert said("not ctx.keep", asks=True) == {"(ctx.keep)"}
    assert said("all(each for each in x)", asks=True) == {
        "(any((each for each in x)))", "(not all((each for each in x)))",
    }  # fmt: skip
    assert not any("b" in text for text in said("0 if a is None else 1", "ab"))


def test_a_list_that_stands_in_the_same_order_elsewhere_keeps_it():
    target = ast.parse("b, a = saved").body[0].targets[0]
    assert [each.other for each in orders(target, ())] == ["(a, b)"]
    assert list(orders(target, {listed(target)})) == []
    assert "(f(b, a))" in said("f(a, b)")
    assert "(f(b, a))" not in said("f(a, b)", agreed={"a, b"})


def test_what_runs_a_kernel_keeps_its_code():
    space = {"kernel": type("JITFunction", (), {"__module__": "triton.runtime.jit"})()}
    exec("def launches(x):\n    return kernel(x)\n\ndef adds(x):\n    return x + x\n", space)
    assert calls_kernels(space["launches"])
    assert not calls_kernels(space["adds"])


def test_a_number_that_is_made_elsewhere_is_told_where_it_is_made():
    kept = WEIGHTS.replace("v, u = ctx", "u, v = ctx").replace("u, v\n        return", "u, abs(v)\n        return", 1)  # fmt: skip
    finding = found(kept, BLEND)
    assert finding.evidence["source"] == "ctx.weights = u, abs(v)", finding


FROM_THE_MODULE = """
RATE = {rate}
LEFT = 1.0

class Tiny(Function):
    @staticmethod
    def forward(ctx, a, b, u, v):
        ctx.kept = u, v
        return u * a + v * b

    @staticmethod
    def backward(ctx, g):
        (u, v), need = ctx.kept, ctx.needs_input_grad
        return {left} if need[0] else None, g * v * LEFT if need[1] else None, None, None
"""


@pytest.mark.parametrize(
    ("rate", "left", "cause"),
    [
        ("2.0", "g * u * RATE", "departs/edit"),
        ("3.1415926", "g * u * RATE / torch.pi", "own-work/inexact"),
    ],
    ids=["a factor", "few digits"],
)
def test_a_number_of_the_module_is_told_where_it_stands(rate, left, cause):
    source = FROM_THE_MODULE.format(rate=rate, left=left)
    tiny = load(source, "Tiny")
    finding = evaluate(tiny, exercise=BLEND, seed=1).findings[0]
    assert (finding.cause, finding.evidence["source"]) == (cause, f"RATE = {rate}"), finding
    assert tiny.backward.__globals__["RATE"] == float(rate)


def test_which_gradient_is_returned_may_be_what_is_wrong():
    source = BEFORE.format(kept="v", made="left, right = g * ctx.u, g * ctx.v")
    kept = "gone = left if need[0] else None, right if need[1] else None\n        a, b = gone"
    source = source.replace("return left if need[0] else None, right if need[1] else None, None, None", f"{kept}\n        return b, b, None, None")  # fmt: skip
    finding = found(source, BLEND)
    assert finding.evidence["source"] == "return b, b, None, None", finding


REFUSES = exercise(
    lambda a, b, u, v: u * a + v * b, "(a, b, u, v)",
    Case("vectors", lambda s: (s.normal(9), s.normal(9), 1.7, -0.4)), second_order="not-judged",
    refusals=tuple(
        Refusal(f"a tensor as {name}", lambda s, at=at: (s.normal(3), s.normal(3), *(s.normal(3) if i == at else 2.0 for i in (2, 3))), argument=name)
        for at, name in ((2, "u"), (3, "v"))
    ),
)  # fmt: skip


def test_the_condition_with_which_a_refusal_holds_is_told():
    """It is looked for as other changes are: with it the rule holds, and every case stays right."""
    check = "if isinstance(u, torch.Tensor) and isinstance(v, torch.Tensor):"
    refuses = (
        f"{check}\n            raise TypeError('u and v are numbers')\n        ctx.weights = u, v"
    )
    source = WEIGHTS.replace("ctx.weights = u, v", refuses).replace("v, u = ctx", "u, v = ctx")
    finding = found(source, REFUSES)
    assert (finding.cause, finding.evidence["source"]) == ("refuses/accepted", check), finding


LIBRARY = """
def kernel(g, u):
    asked.append(u)
    return g * u

class Tiny(Function):
    @staticmethod
    def forward(ctx, a, b, u, v):
        ctx.weights = u, v
        return u * a + v * b

    @staticmethod
    def backward(ctx, g):
        u, v = ctx.weights
        return kernel(g, u * u), v * g, None, None
"""


def test_what_others_wrote_gets_no_other_numbers():
    """What a library's own kernels write to memory they would write elsewhere."""
    tiny = load(LIBRARY, "Tiny")
    asked = tiny.backward.__globals__["asked"] = []
    a, b = (torch.randn(9, dtype=torch.float64, requires_grad=True) for _ in range(2))
    report = evaluate(
        tiny, inputs=(a, b, 1.7, -0.4), reference=lambda a, b, u, v: u * a + v * b, seed=1
    )
    assert not report.passed
    assert {round(u, 6) for u in asked} == {2.89}


def test_a_pass_in_an_expression_is_not_run_within_itself():
    """It would wait for ever for the step of the graph that it stands in."""
    source = """
def gradient_penalty(critic, x):
    x = x.detach().clone().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(x).mean(), x, create_graph=True)
    return ((torch.linalg.vector_norm(slopes.flatten(1), dim=1) - 1) ** 2).mean()
"""
    report = evaluate(load(source, "gradient_penalty"), exercise="gradient_penalty", seed=3)
    assert not report.passed
    assert report.findings[0].evidence["line"]


KEPT = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.shape, ctx.dim = x.shape, dim
        ctx.factor = 3.0
        return x.mean(dim)

    @staticmethod
    def backward(ctx, g):
        part = ctx.factor / ctx.shape[ctx.dim]
        return (g * part).unsqueeze(ctx.dim).expand(ctx.shape), None
"""


def test_a_factor_is_told_where_a_number_makes_it():
    finding = found(KEPT, MEAN)
    assert finding.evidence["source"] == "ctx.factor = 3.0", finding
    turned = KEPT.replace("3.0", "2.0").replace("part = ctx.factor / ", "half = ctx.factor / 1\n        part = half / ")  # fmt: skip
    finding = found(turned, MEAN)
    assert finding.evidence["source"] in ("ctx.factor = 2.0", "half = ctx.factor / 1"), finding


def test_no_other_mask_is_drawn_to_make_a_gradient_right():
    """Where others are drawn the gradient of an element may be right by chance."""
    masked = next(a for a in of("Case11") if a.what.startswith("reads the mask off the output"))
    for hidden in (False, True):
        report = evaluate(masked.load(), exercise="Case11", seed=7, hidden=hidden)
        assert "torch.rand" not in report.findings[0].evidence["source"], str(report)


BOUNDS = """
class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, zero_point, qmin, qmax):
        steps = torch.round(x / scale)
        low, high = qmin, qmax - zero_point
        ctx.save_for_backward((steps < low) | (steps > high))
        return steps.clamp(low, high) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (outside,) = ctx.saved_tensors
        return torch.where(outside, 0.0, grad_output), None, None, None, None
"""


def test_what_is_missing_in_a_name_is_told_where_it_gets_its_value():
    finding = evaluate(load(BOUNDS, "FakeQuantize"), seed=0).findings[0]
    assert finding.evidence["source"] == "low, high = qmin, qmax - zero_point", finding


SIZED = exercise(
    lambda x: x / x.norm(), "(x)",
    Case("a vector", lambda s: (s.normal(9),)), Case("a matrix", lambda s: (s.normal(3, 4),)),
    Case("a long one", lambda s: (s.normal(60),), role="special"), second_order="not-judged",
)  # fmt: skip
TWO_FAULTS = """
class Tiny(Function):
    @staticmethod
    def forward(ctx, x):
        size = x.norm() + (x.numel() > 50)
        y = x / size
        ctx.save_for_backward(y, size)
        return y

    @staticmethod
    def backward(ctx, g):
        y, size = ctx.saved_tensors
        return (g - y * (g * y).mean()) / size
"""


def test_what_is_wrong_elsewhere_too_hides_no_change_that_mends_this():
    finding = found(TWO_FAULTS, SIZED)
    assert finding.cause == "departs/edit", finding
    assert (finding.facts["mine"], finding.facts["other"]) == ("mean", "sum")
    assert finding.facts["line"] == 13


@pytest.mark.parametrize(
    ("forward", "backward", "facts"),
    [
        ("x @ w", "g, x.mT @ g", {"mine": "g", "other": "g @ w.mT"}),
        ("x @ w", "g @ w.mT, g", {"mine": "g", "other": "x.mT @ g"}),
        ("x", "g @ w.mT, x.mT @ g", {"mine": "x", "other": "x @ w"}),
    ],
)
def test_a_product_that_is_missing_is_told(forward, backward, facts):
    finding = told(MATRICES, forward, backward)
    assert finding.cause == "departs/edit", finding
    assert {name: finding.facts[name] for name in facts} == facts
