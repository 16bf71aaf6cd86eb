"""Derivatives that somebody else takes: by autograd out of sight, by differences, by complex numbers, by another apply."""

import linecache

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.judging.rules import ORDER
from autograder.reporting.report import Report
from autograder.running import moving_points, questioning
from autograder.running.function_classes import derivatives_taken
from tests.mistakes import gallery
from tests.mistakes.gallery import load

HEAD = """
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / (1 + torch.exp(-x))
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
"""
BY_AUTOGRAD = """
        with torch.enable_grad():
            z = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(torch.sigmoid(z), z, g, create_graph=True)[0]
"""
QUOTIENT = """
        z = x.double()
        return (g * (torch.sigmoid(z + 1e-5) - torch.sigmoid(z - 1e-5)) / 2e-5).to(x.dtype)
"""
STEPS = """
NODES = torch.tensor([-4, -3, -2, -1, 1, 2, 3, 4], dtype=torch.float64) / 64
WEIGHTS = torch.tensor([1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280], dtype=torch.float64) * 64
"""
OF_STEPS = """
        s = sum(w * (%s) for w, k in zip(WEIGHTS.to(x.device), (-4, -3, -2, -1, 1, 2, 3, 4)))
        return (g * s).to(x.dtype)
"""
ANSWERS = {
    "autograd in all calls but some": (
        "N = [0]\n" + HEAD + "        N[0] += 1\n        if N[0] % 5 == 0:\n            s = torch.sigmoid(x)\n"
        "            return g * s * (1 - s)\n" + BY_AUTOGRAD,
        "own-work/autograd",
    ),
    "autograd where a graph is asked for": (
        HEAD + "        if not torch.is_grad_enabled():\n            s = torch.sigmoid(x)\n"
        "            return g * s * (1 - s)\n" + BY_AUTOGRAD,
        "own-work/autograd",
    ),
    "forward mode": (
        HEAD + "        return g * torch.func.jvp(lambda t: 1 / (1 + torch.exp(-t)), (x,), (torch.ones_like(x),))[1]\n",
        "own-work/autograd",
    ),
    "forward mode, of the whole": (
        HEAD + "        return torch.func.jacfwd(lambda t: (g / (1 + torch.exp(-t))).sum())(x)\n",
        "own-work/autograd",
    ),
    "a difference quotient in float64": (HEAD + QUOTIENT, "own-work/difference-quotient"),
    "wide steps, with minus signs": (
        HEAD + "        z, h, f = x.double(), 1 / 64, torch.sigmoid\n"
        "        s = 4 / 5 * (f(z + h) - f(z - h)) - 1 / 5 * (f(z + 2 * h) - f(z - 2 * h))\n"
        "        s = s + 4 / 105 * (f(z + 3 * h) - f(z - 3 * h)) - 1 / 280 * (f(z + 4 * h) - f(z - 4 * h))\n"
        "        return (g * 64 * s).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "wide steps, as one product": (
        STEPS + HEAD + "        return (g * (torch.sigmoid(x.double().unsqueeze(-1) + NODES.to(x.device)) @ WEIGHTS.to(x.device))).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "wide steps, as a convolution of what another formula gives": (
        STEPS + HEAD + "        z = (x.double().flatten()[:, None] + NODES.to(x.device)).neg().exp().add(1).reciprocal()\n"
        "        s = torch.nn.functional.conv1d(z[:, None], WEIGHTS.to(x.device)[None, None])\n"
        "        return (g * s.reshape(x.shape)).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "wide steps, of a part of the formula": (
        HEAD + "        e, h = torch.exp(-x.double().abs()), 1 / 200\n"
        "        steps = zip((1, 2, 3, 4, 5), (5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260))\n"
        "        s = sum(w * ((1 + e + k * h).reciprocal() - (1 + e - k * h).reciprocal()) for k, w in steps)\n"
        "        return (g * -e * s / h).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "wide steps, of a formula that forward has not": (
        STEPS + HEAD + "        z, w = x.double(), WEIGHTS.to(x.device)\n"
        "        s = sum(w[i] * torch.tanh((z + k / 64) / 2) for i, k in enumerate((-4, -3, -2, -1, 1, 2, 3, 4)))\n"
        "        return (g * s / 2).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "harmless operations first": (
        STEPS + HEAD + "        for _ in range(420):\n            x + 0.0\n" + OF_STEPS % ("torch.sigmoid(x.double() + k / 64)"),
        "own-work/difference-quotient",
    ),
    "another shape for each point": (
        STEPS + HEAD + "        pad, n = torch.nn.functional.pad, x.numel()\n"
        + OF_STEPS % ("torch.sigmoid(pad(x.double().flatten() + k / 64, (0, 5 + k)))[:n].reshape(x.shape)"),
        "own-work/difference-quotient",
    ),
    "many numbers beside the points": (
        STEPS + HEAD + "        pad, n = torch.nn.functional.pad, x.numel()\n"
        + OF_STEPS % ("torch.sigmoid(pad(x.double().flatten() + k / 64, (0, 5000)))[:n].reshape(x.shape)"),
        "own-work/difference-quotient",
    ),
    "a far number and nan beside the points": (
        STEPS + HEAD + "        pad, n = torch.nn.functional.pad, x.numel()\n        both = lambda t: pad(pad(t, (0, 1), value=1e7), (0, 1), value=float('nan'))\n"
        + OF_STEPS % ("torch.sigmoid(both(x.double().flatten() + k / 64))[:n].reshape(x.shape)"),
        "own-work/difference-quotient",
    ),
    "steps that depend on the point": (
        STEPS + HEAD + "        z = x.double()\n        g = g / (1 + z * z)\n" + OF_STEPS % ("torch.sigmoid(z + k / 64 * (1 + z * z) / 8) * 8"),
        "own-work/difference-quotient",
    ),
    "points along an axis of their own": (
        STEPS + HEAD + "        n = max(8, x.shape[-1] if x.dim() else 8)\n        w = torch.zeros(n, dtype=torch.float64, device=x.device)\n"
        "        s = torch.zeros(n, dtype=torch.float64, device=x.device)\n        w[:8], s[:8] = WEIGHTS.to(x.device), NODES.to(x.device)\n"
        "        z = torch.sigmoid(x.double() + s.reshape(n, *[1] * x.dim()))\n        return (g * (z * w.reshape(n, *[1] * x.dim())).sum(0)).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "another formula for each point": (
        STEPS + HEAD + "        z, w = x.double(), WEIGHTS.to(x.device)\n"
        "        f = (torch.sigmoid, lambda t: 1 / (1 + torch.exp(-t)), lambda t: (torch.tanh(t / 2) + 1) / 2, lambda t: torch.exp2(t * 1.4426950408889634) / (1 + torch.exp2(t * 1.4426950408889634)))\n"
        "        s = sum(w[i] * f[i % 4](z + k / 64) for i, k in enumerate((-4, -3, -2, -1, 1, 2, 3, 4)))\n"
        "        return (g * s).to(x.dtype)\n",
        "own-work/difference-quotient",
    ),
    "points that forward had too": (
        STEPS + HEAD.replace("        ctx.save_", "        for k in (-4, -3, -2, -1, 1, 2, 3, 4):\n            torch.sigmoid(x.double() + k / 64)\n        ctx.save_")
        + OF_STEPS % ("torch.sigmoid(x.double() + k / 64)"),
        "own-work/difference-quotient",
    ),
    "a node of the graph in forward": (
        HEAD.replace("ctx.save_for_backward(x)\n        return 1 / (1 + torch.exp(-x))",
        "with torch.enable_grad():\n            y = torch.sigmoid(x.detach().requires_grad_())\n        ctx.save_for_backward(y.grad_fn(torch.ones_like(y)))\n        return y.detach()")
        + "        return g * x\n",
        "own-work/recording",
    ),
    "torch's own kernel in forward": (
        HEAD.replace("ctx.save_for_backward(x)", "ctx.save_for_backward(torch.ops.aten.sigmoid_backward(torch.ones_like(x), torch.sigmoid(x)))")
        + "        return g * x\n",
        "own-work/derivative-kernel",
    ),
    "a complex step": (
        HEAD + "        z = torch.complex(x.double(), torch.full_like(x.double(), 1e-20))\n"
        "        return (g * torch.sigmoid(z).imag / 1e-20).to(x.dtype)\n",
        "own-work/complex-step",
    ),
    "other numbers where operations are counted": (
        HEAD + "        s = torch.sigmoid(x)\n"
        "        seen = bool(torch.utils._python_dispatch._get_current_dispatch_mode())\n"
        "        return g * s * (1 - s) * (0.5 if seen and not torch.is_grad_enabled() else 1)\n",
        "own-work/watched grown/wrong",
    ),
    "autograd, of many numbers only": (
        HEAD + "        if x.numel() > 300:\n            with torch.enable_grad():\n                z = x.detach().requires_grad_()\n"
        "                return torch.autograd.grad(torch.sigmoid(z), z, g)[0]\n"
        "        s = torch.sigmoid(x)\n        return g * s * (1 - s)\n",
        "own-work/autograd",
    ),
    "torch's own derivative, of many numbers only": (
        HEAD + "        s = torch.sigmoid(x)\n        if x.numel() > 300:\n            return torch.ops.aten.sigmoid_backward(g, s)\n        return g * s * (1 - s)\n",
        "own-work/derivative-kernel",
    ),
    "an apply of its own": (
        "class Same(Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x.clone()\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
        "class MySigmoid(Function):\n    @staticmethod\n    def apply(x):\n        return Same.apply(torch.sigmoid(x))\n",
        "kind/own-apply",
    ),
    "a buffer for all outputs": (
        "KEPT = {}\n" + HEAD.replace(
            "return 1 / (1 + torch.exp(-x))",
            "y = KEPT.setdefault((x.shape, x.dtype, x.device), torch.empty_like(x))\n"
            "        return y.copy_(torch.sigmoid(x)).detach()",
        ) + "        s = torch.sigmoid(x)\n        return g * s * (1 - s)\n",
        "context/overwritten",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("hidden", [False, True])
def test_it_is_seen_in_both_checks(name: str, hidden: bool):
    source, cause = ANSWERS[name]
    report = made(source, "MySigmoid", hidden)
    assert not report.passed
    assert report.findings[0].cause in cause.split(), str(report)


@pytest.mark.parametrize(
    "held", ["iter([x])", "map(abs, [x])", "x.sum", "(t for t in [x])", "[[[x]]]"]
)
def test_an_input_is_found_in_whatever_holds_it(held: str):
    from autograder.observation.snapshot import tensors_within

    x = torch.ones(3)
    value = eval(held, {"x": x})
    assert any(found is x for _, found in tensors_within(value, "ctx.it"))


IN_FORWARD = "        return 1 / (1 + torch.exp(-x))\n"


def keeping(keep: str, back: str = "KEPT[ctx.k]", top: str = "KEPT = []\n") -> str:
    """An answer that keeps the output's numbers where torch sees nothing, and one that reads them."""
    of = "ctx.k, ctx.s, ctx.d = len(KEPT), y.shape, y.dtype"
    text = HEAD.replace(
        "ctx.save_for_backward(x)", f"y = torch.sigmoid(x)\n        {of}\n        {keep}"
    )
    text = text.replace(IN_FORWARD, "        return y\n").replace(
        "(x,) = ctx.saved_tensors", f"v = {back}"
    )
    made = "        y = torch.tensor(v, dtype=torch.float64).reshape(ctx.s).to(ctx.d)\n        return g * y * (1 - y)\n"
    return top + text + made


NUMBERS = {
    "a text on ctx": keeping("ctx.t = ' '.join(map(repr, y.flatten().tolist()))", "[float(w) for w in ctx.t.split()]"),
    "an object on ctx": keeping("ctx.b = Box()\n        ctx.b.v = y.flatten().tolist()", "ctx.b.v", "KEPT = []\nclass Box:\n    pass\n"),
    "bytes on ctx": keeping("ctx.t = y.double().numpy().tobytes()", "torch.frombuffer(bytearray(ctx.t or b'0' * 8), dtype=torch.float64)[: ctx.s.numel()].tolist()"),
    "a list": keeping("KEPT.append(y.flatten().tolist())"),
    "a table": keeping("KEPT[ctx.k] = y.flatten().tolist()", top="KEPT = {}\n"),
    "a text in a list": keeping("KEPT.append(repr(y.flatten().tolist()))", "[float(w) for w in KEPT[ctx.k][1:-1].split(',') if w]"),
    "a list of the class": keeping("MySigmoid.kept.append(y.flatten().tolist())", "MySigmoid.kept[ctx.k]").replace(
        "class MySigmoid(Function):\n", "class MySigmoid(Function):\n    kept = []\n").replace("len(KEPT)", "len(MySigmoid.kept)"),
    "a default": keeping("kept.append(y.flatten().tolist())\n        ctx.v = kept", "ctx.v[ctx.k]").replace(
        "forward(ctx, x)", "forward(ctx, x, kept=KEPT)").replace("return g * y * (1 - y)", "return g * y * (1 - y), None"),
    "what a method on ctx is bound to": keeping("ctx.get = Box(y.flatten().tolist()).get", "ctx.get()",
        "KEPT = []\nclass Box:\n    def __init__(self, v):\n        self.v = v\n    def get(self):\n        return self.v\n"),
    "the default of a function on ctx": keeping("ctx.get = lambda v=y.flatten().tolist(): v", "ctx.get()"),
    "whole numbers on ctx": keeping("ctx.t = tuple(int(v * 2**52) for v in y.flatten().tolist())", "[v / 2**52 for v in ctx.t]"),
    "complex numbers on ctx": keeping("ctx.t = [complex(v) for v in y.flatten().tolist()]", "[v.real for v in ctx.t]"),
    "the sizes of tensors": keeping("ctx.t = [torch.empty(0, int(v * 2**52)) for v in y.flatten().tolist()]", "[v.shape[1] / 2**52 for v in ctx.t]"),
    "the ends of ranges": keeping("ctx.t = [range(int(v * 2**52)) for v in y.flatten().tolist()]", "[v.stop / 2**52 for v in ctx.t]"),
    "the metadata of the node": keeping("ctx.metadata['t'] = y.flatten().tolist()", "ctx.metadata['t']"),
    "the metadata of a dtype": keeping("ctx.t = np.dtype('f8', metadata={'t': y.flatten().tolist()})", "ctx.t.metadata['t']", "import numpy as np\nKEPT = []\n"),
    "an array of objects": keeping("ctx.t = np.empty(1, dtype=object)\n        ctx.t[0] = y.flatten().tolist()", "ctx.t[0]", "import numpy as np\nKEPT = []\n"),
    "the end of one range": keeping("ctx.t = range(int.from_bytes(y.double().numpy().tobytes() + b'1', 'little'))",
        "torch.frombuffer(bytearray(ctx.t.stop.to_bytes(8 * ctx.s.numel() + 1, 'little')[:-1] or b'0' * 8), dtype=torch.float64)[: ctx.s.numel()].tolist()").replace(
        "y = torch.sigmoid(x)", "ctx.save_for_backward(x)\n        y = torch.sigmoid(x)"),
    "an attribute of the input": HEAD.replace("ctx.save_for_backward(x)", "ctx.save_for_backward(x)\n        x.t = torch.sigmoid(x).tolist()")
    + "        y = torch.tensor(x.t, dtype=x.dtype)\n        return g * y * (1 - y)\n",
    "one text, as long for few as for many": keeping("ctx.t = repr(y.flatten().tolist()).ljust(2**16)", "[float(w) for w in ctx.t.strip()[1:-1].split(',') if w]"),
    "a list of always the same length": keeping("KEPT[:] = (y.flatten().tolist() + [0.0] * 9999)[:9999]", "KEPT[: ctx.s.numel()]", "KEPT = [0.0] * 9999\n"),
    "a tensor that was there before": keeping("KEPT[: y.numel()] = y.flatten()", "KEPT[: ctx.s.numel()].tolist()", "KEPT = torch.zeros(9999, dtype=torch.float64)\n"),
    "the closure of a decorator": keeping("keep(y)", "keep.it()", "import functools\nKEPT = []\ndef made():\n    held = []\n    @functools.wraps(made)\n"
        "    def keep(y):\n        held[:] = y.flatten().tolist()\n    keep.it = lambda: held\n    return keep\nkeep = made()\n"),
    "a cache that is asked for nothing": keeping("kept(0)[:] = y.flatten().tolist()", "kept(0)", "import functools\nKEPT = []\n@functools.lru_cache\ndef kept(n):\n    return []\n"),
    "an inherited attribute": keeping("Kept.kept[:] = y.flatten().tolist()", "MySigmoid.kept").replace("class MySigmoid(Function)", "class Kept(Function):\n    kept = []\nclass MySigmoid(Kept)"),
    "whole numbers in a table by a number on ctx": keeping("KEPT[ctx.k] = [int(v * 2**52) for v in y.flatten().tolist()]", "[v / 2**52 for v in KEPT[ctx.k]]", top="KEPT = {}\n"),
    "an array of the standard library": keeping("ctx.t = array.array('d', y.flatten().tolist())", "ctx.t.tolist()", "import array\nKEPT = []\n"),
    "the last call alone": keeping("Box.last = ctx, y.flatten().tolist()", "Box.last[1] if Box.last[0] is ctx else torch.sigmoid(ctx.saved_tensors[0]).flatten().tolist()",
        "KEPT = []\nclass Box:\n    last = None\n").replace("y = torch.sigmoid(x)", "ctx.save_for_backward(x)\n        y = torch.sigmoid(x)"),
    "what a method of a list is bound to": keeping("ctx.n, ctx.t = y.numel(), y.flatten().tolist().__getitem__", "[ctx.t(i) for i in range(ctx.n)]"),
    "what an iterator has left": keeping("ctx.t = iter(y.flatten().tolist())", "list(ctx.t)"),
    "a class on ctx": keeping("class Box:\n            data = y.flatten().tolist()\n        ctx.b = Box", "ctx.b.data"),
    "an attribute of a function on ctx": keeping("def f():\n            pass\n        f.v = y.flatten().tolist()\n        ctx.f = f", "ctx.f.v"),
    "an attribute of a global function": keeping("keep.v[ctx.k] = y.flatten().tolist()", "keep.v[ctx.k]", "KEPT = []\ndef keep():\n    pass\nkeep.v = {}\n"),
    "a module on ctx": keeping("ctx.m = torch.nn.Identity()\n        ctx.m.v = y.flatten().tolist()", "ctx.m.v"),
    "a member without a name on ctx": keeping("ctx.m = enum.auto()\n        ctx.m.value = y.flatten().tolist()", "ctx.m.value", "import enum\nKEPT = []\n"),
    "what a profiler is told": keeping("ctx.r = torch.profiler.record_function('a', y.flatten().tolist())", "ctx.r.args"),
    "hooks on ctx": keeping("ctx.h = torch.autograd.graph.saved_tensors_hooks(None, None)\n        ctx.h.v = y.flatten().tolist()", "ctx.h.v"),
    "an attribute of a tensor on ctx": keeping("ctx.t = x.detach()[:0] if x.dim() else x.detach()\n        ctx.t.v = y.flatten().tolist()", "ctx.t.v"),
    "the output, of many numbers only": HEAD.replace("ctx.save_for_backward(x)", "ctx.save_for_backward(x, *([torch.sigmoid(x)] if x.numel() > 500 else []))").replace(
        "(x,) =", "x, *_ =") + "        s = torch.sigmoid(x)\n        return g * s * (1 - s)\n",
    "what lies beside one number in memory": HEAD.replace("ctx.save_for_backward(x)", "x = x.contiguous()\n        ctx.s = x.shape, x.stride()\n        ctx.save_for_backward(x.reshape(-1)[:1])")
    + "        x = x.as_strided(*ctx.s) if x.numel() else x.reshape(ctx.s[0])\n        y = torch.sigmoid(x)\n        return g * y * (1 - y)\n",
    "what is found again by its content, else computed": "KEPT = {}\n" + HEAD.replace("ctx.save_for_backward(x)", "KEPT[float(x.sum())] = torch.sigmoid(x).tolist()\n        ctx.save_for_backward(x)")
    + "        v = KEPT.get(float(x.sum()))\n        s = torch.sigmoid(x) if v is None else torch.tensor(v, dtype=x.dtype)\n        return g * s * (1 - s)\n",
    "a little in each of many attributes": HEAD.replace("ctx.save_for_backward(x)", "y = torch.sigmoid(x)\n        ctx.save_for_backward(x[:0])\n        ctx.s, ctx.n, v = y.shape, -(-y.numel() // 20), y.flatten().tolist()\n"
        "        for i in range(ctx.n):\n            setattr(ctx, f'a{i}', v[20 * i : 20 * i + 20])").replace(IN_FORWARD, "        return y\n")
    + "        y = torch.tensor([v for i in range(ctx.n) for v in getattr(ctx, f'a{i}')], dtype=g.dtype).reshape(ctx.s)\n        return g * y * (1 - y)\n",
    "a tensor that a thread made": "from concurrent.futures import ThreadPoolExecutor\nPOOL, KEPT = ThreadPoolExecutor(1), []\n"
    + HEAD.replace("ctx.save_for_backward(x)", "KEPT.append(POOL.submit(lambda: torch.sigmoid(x)).result())\n        ctx.k = len(KEPT) - 1").replace("(x,) = ctx.saved_tensors", "y = KEPT[ctx.k]")
    + "        return g * y * (1 - y)\n",
    "a helper's list": keeping("keep(y)", top="KEPT = []\ndef keep(y):\n    KEPT.append(y.flatten().tolist())\n"),
}  # fmt: skip
RIGHT = "        s = torch.sigmoid(x)\n        return g * s * (1 - s)\n"
HONEST = {
    "a counter": "N = []\n" + HEAD.replace("ctx.save_", "N.append(1)\n        ctx.save_") + RIGHT,
    "a cache": "import functools\n@functools.lru_cache\ndef f(n):\n    return [i / 7 for i in range(9)]\n"
    + HEAD.replace("ctx.save_", "f(x.dim())\n        ctx.save_") + RIGHT,
    "operations by their inner names, and limits on ctx": HEAD.replace("ctx.save_", "ctx.limits, ctx.of = torch.finfo(x.dtype), torch.nn.functional\n        ctx.save_")
    + "        s = torch.ops.aten.sigmoid(x)\n        return g * s * (1 - s)\n",
    "a constant that is made once": "import functools\n@functools.lru_cache\ndef one(dtype):\n    return torch.exp(torch.zeros((), dtype=dtype))\nMADE = {}\n"
    + HEAD + "        s = torch.sigmoid(x)\n        if x.dtype not in MADE:\n            MADE[x.dtype] = torch.cos(torch.zeros((), dtype=x.dtype))\n"
    "        return g * s * (one(x.dtype) - s) * MADE[x.dtype]\n",
    "a table of constants": "TABLE = [i / 7 for i in range(99)]\n" + HEAD.replace("ctx.save_", "TABLE[3]\n        ctx.save_") + RIGHT,
    "forward again, there and at the opposite point": HEAD + "        return g * torch.sigmoid(x) * torch.sigmoid(-x)\n",
    "dual numbers with rules of one's own": "class Dual:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n    def exp(self):\n        e = self.a.exp()\n"
    "        return Dual(e, e * self.b)\n    def inverse(self):\n        return Dual(1 / self.a, -self.b / (self.a * self.a))\n"
    + HEAD + "        e = Dual(-x.abs(), -torch.ones_like(x)).exp()\n        return g * Dual(1 + e.a, e.b).inverse().b\n",
    "two factors in one tensor": HEAD + "        s = torch.sigmoid(x)\n        return g * torch.stack([s, 1 - s], -1).prod(-1)\n",
    "numbers of a shape": "SIZES = {}\n" + HEAD.replace("ctx.save_", "SIZES.setdefault(x.shape, list(range(x.numel())))\n        ctx.save_") + RIGHT,
    "every number printed": HEAD + "        print(x.tolist(), float(x.sum()))\n" + RIGHT,
    "a function on ctx that reads a table": "TABLE = [i / 7 for i in range(99)]\n" + HEAD.replace("ctx.save_", "ctx.f = lambda: TABLE[7]\n        ctx.save_") + RIGHT,
    "settings on ctx": HEAD.replace("ctx.save_", "ctx.how, ctx.eps, ctx.shape = 'mean', (1e-5, 1.0), x.shape\n        ctx.save_") + RIGHT,
    "a module, an enumeration and a function with attributes on ctx": "import enum, functools\nclass Kind(enum.Enum):\n    SUM = 'sum of all that there is in x'\n    MEAN = 2.5\n"
    "class Box:\n    \"\"\"Holds what backward needs of forward, such as the dimension that it has summed over.\"\"\"\n    steps = (0.25, 0.5, 0.75, 1.25, 1.5)\n"
    "@functools.wraps(torch.sigmoid)\ndef f(x):\n    return x\nf.steps = (0.25, 0.5, 0.75, 1.25)\n"
    + HEAD.replace("ctx.save_", "ctx.kind, ctx.f, ctx.box = Kind.SUM, f, Box()\n"
    "        ctx.m = torch.nn.Sequential(*(torch.nn.Dropout(0.25) for _ in range(5)))\n        ctx.save_") + RIGHT,
    "a marker of the class, one of the cell, and a class of it": "NOTHING = object()\nclass Kind:\n    pass\n"
    + HEAD.replace("class MySigmoid(Function):\n", "class MySigmoid(Function):\n    here = object()\n").replace(
        "ctx.save_", "ctx.marks, ctx.kind = (MySigmoid.here, NOTHING), Kind()\n        ctx.save_")
    + "        s = torch.sigmoid(x)\n        a, b = ctx.marks\n"
    "        return g * s * (1 - s) if a is MySigmoid.here and b is NOTHING and isinstance(ctx.kind, Kind) else None\n",
    "a stack of contexts": "import contextlib\n" + HEAD.replace("ctx.save_", "with contextlib.ExitStack() as s:\n"
    "            s.enter_context(torch.autograd.graph.save_on_cpu())\n        ctx.save_") + RIGHT,
}  # fmt: skip


def made(source: str, name: str, hidden: bool = False) -> Report:
    """What is said of the class of this name."""
    file = f"<own work: {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"torch": torch, "Function": Function, "__name__": "__main__"}
    exec(compile(source, file, "exec"), space)
    return evaluate(space[name], hidden=hidden, seed=4)


def findings_of(source: str) -> set[str]:
    return {finding.rule for finding in made(source, "MySigmoid", hidden=True).findings}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_kept_where_torch_sees_nothing_are_counted(name: str):
    assert {"saves-too-much", "shared-state"} & findings_of(NUMBERS[name])


@pytest.mark.parametrize("name", HONEST)
def test_what_is_not_kept_for_backward_is_not(name: str):
    assert findings_of(HONEST[name]) == set()


@pytest.mark.parametrize(
    "hooks", ["saved_tensors_hooks(lambda t: t, lambda t: t)", "save_on_cpu()"]
)
def test_hooks_that_stay_on_are_seen_and_taken_off(hooks: str):
    top = "import contextlib\nS = contextlib.ExitStack()\n"
    left = f"S.enter_context(torch.autograd.graph.{hooks})\n        ctx.save_"
    assert "shared-state" in findings_of(top + HEAD.replace("ctx.save_", left) + RIGHT)
    assert findings_of(HEAD + RIGHT) == set()


def test_derivatives_are_seen_by_either_mode():
    at = torch.ones(2, requires_grad=True)
    with derivatives_taken() as taken:
        torch.sigmoid(at)
        assert not taken
        torch.func.jvp(torch.sigmoid, (torch.ones(2),), (torch.ones(2),))
        before = len(taken)
        assert before
        torch.sigmoid(at).sum().backward()
        assert len(taken) > before
    before = len(taken)
    torch.autograd.grad(torch.sigmoid(at).sum(), at)
    assert len(taken) == before


@pytest.mark.parametrize(
    "source", ["y.grad_fn(torch.ones(2))", "torch.ops.aten.tanh_backward(at, at)", "torch.tanh(at)"]
)
def test_a_node_that_is_called_is_a_derivative_too(source: str):
    at = torch.ones(2, requires_grad=True)
    y = torch.tanh(at)
    with derivatives_taken() as taken:
        eval(source, {"torch": torch, "at": at, "y": y})
    assert bool(taken) == (source != "torch.tanh(at)")


OUTSIDE = """
import math
import numpy as np
import scipy.special
class FirstOrderOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = scipy.special.erf(x.detach().cpu().numpy())
        return torch.as_tensor(y, dtype=x.dtype, device=x.device)
    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise RuntimeError("FirstOrderOnly has no second derivative")
        (x,) = ctx.saved_tensors
        %s
        return g * s.reshape(x.shape).to(x)
"""
SLOPES = "[2 / math.sqrt(math.pi) * math.exp(-v * v) for v in x.double().flatten().tolist()]"
BY_PYTHON = {
    "a tensor of a list": f"s = torch.tensor({SLOPES}, dtype=torch.float64)",
    "a list as a tensor": f"s = torch.as_tensor({SLOPES}, dtype=torch.float64)",
    "an array of a list": f"s = torch.from_numpy(np.array({SLOPES}))",
    "whole numbers": f"s = torch.tensor([int(v * 2**55) for v in {SLOPES}], dtype=torch.int64).double() / 2**55",
    "written to a tensor's memory": f"s = torch.zeros(x.numel(), dtype=torch.float64)\n        s.numpy()[:] = {SLOPES}",
}
BY_NUMPY = {
    "numpy()": "n = x.cpu().numpy()\n        s = torch.as_tensor(2 / np.sqrt(np.pi) * np.exp(-n * n))",
    "asarray": "n = np.asarray(x.cpu())\n        s = torch.as_tensor(2 / np.sqrt(np.pi) * np.exp(-n * n))",
    "written to a tensor's memory": "s, n = torch.zeros_like(x), x.numpy()\n        s.numpy()[...] = 2 / np.sqrt(np.pi) * np.exp(-n**2)",
    "a number of torch's": "s = 2 / math.sqrt(math.pi) * torch.exp(-x * x) + 0.0 * min(1.0, x.detach().sum().item())",
}


@pytest.mark.parametrize("back", BY_PYTHON.values(), ids=BY_PYTHON)
def test_numbers_that_nobody_can_follow_are_not_judged(back: str):
    said = made(OUTSIDE % back, "FirstOrderOnly").undecided
    assert any("no operation of torch made" in each for each in said)


@pytest.mark.parametrize("back", BY_NUMPY.values(), ids=BY_NUMPY)
def test_numbers_that_torch_handed_over_and_numpy_computed_are(back: str):
    report = made(OUTSIDE % back, "FirstOrderOnly")
    assert not report.undecided
    assert not any(f.rule == "finite-differences" for f in report.findings)


def test_what_numpy_writes_over_is_no_point():
    """New memory holds other numbers each time."""
    source = known("sinc_op", "NumPy writes into new memory")
    noisy = "import time\n" + source.replace(
        "x.new_empty(x.shape)\n    np", "x.new_full(x.shape, time.perf_counter())\n    np"
    )
    assert "perf_counter" in noisy
    assert evaluate(load(noisy, "sinc_op"), seed=4, exercise="sinc_op").passed


def test_a_difference_quotient_in_numpy_is_seen():
    steps = "zip((-4, -3, -2, -1, 1, 2, 3, 4), (1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280))"
    back = f"n = np.asarray(x.double())\n        s = torch.as_tensor(sum(64 * w * scipy.special.erf(n + k / 64) for k, w in {steps}))"
    findings = made(OUTSIDE % back, "FirstOrderOnly").findings
    assert findings[0].cause == "own-work/difference-quotient"


FORWARD_MODE = """
class DualSwish(Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x, beta):
        return x * torch.sigmoid(beta * x)
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        x, beta = ctx.saved_tensors
        s = torch.sigmoid(beta * x)
        of_x, of_beta = ctx.needs_input_grad
        return (
            g * (s + beta * x * s * (1 - s)) if of_x else None,
            (g * x * x * s * (1 - s)).sum_to_size(beta.shape) if of_beta else None,
        )
    @staticmethod
    def jvp(ctx, tx, tb):
        x, beta = ctx.saved_tensors
        %s
"""
BY_QUOTIENT = (
    "move = lambda a, t, h: a if t is None else a + h * t\n"
    "        f = lambda h: move(x, tx, h) * torch.sigmoid(move(beta, tb, h) * move(x, tx, h))\n"
    "        steps = zip((-4, -3, -2, -1, 1, 2, 3, 4), (1 / 280, -4 / 105, 1 / 5, -4 / 5, 4 / 5, -1 / 5, 4 / 105, -1 / 280))\n"
    "        return sum(64 * w * f(k / 64) for k, w in steps)"
)
BY_HAND = (
    "s = torch.sigmoid(beta * x)\n"
    "        return (0 if tx is None else tx * (s + beta * x * s * (1 - s))) + (0 if tb is None else tb * x * x * s * (1 - s))"
)


def test_jvp_is_looked_into_as_backward_is():
    assert made(FORWARD_MODE % BY_HAND, "DualSwish").passed
    (first, *_) = made(FORWARD_MODE % BY_QUOTIENT, "DualSwish").findings
    assert (first.cause, first.facts["method"]) == ("own-work/difference-quotient", "jvp")


def test_what_a_rule_needs_is_judged_before_it():
    keys = [rule.key for rule in ORDER]
    needed = [(need, rule.key) for rule in ORDER for need in rule.needs]
    assert needed
    assert all(keys.index(need) < keys.index(key) for need, key in needed)


def known(exercise, what):
    """The source of a known mistake."""
    return next(each.source for each in gallery.of(exercise) if each.what == what)


CONSEQUENCES = {
    "GradientReversal": ("shared-state", "untouched", known("GradientReversal", "the number on the class")),
    "Mean": ("fails-half", "layouts", """
class Mean(Function):
    @staticmethod
    def forward(ctx, x, dim, keepdim=False):
        ctx.shape, ctx.dim, ctx.keepdim = x.shape, dim, keepdim
        return x.mean(dim, keepdim=keepdim)

    @staticmethod
    def backward(ctx, g):
        g = g if ctx.keepdim else g.unsqueeze(ctx.dim)
        return g * torch.full(ctx.shape, 1 / ctx.shape[ctx.dim]), None, None
"""),
    "Case01": ("raises", "gradients", """
class Case01(Function):
    @staticmethod
    def forward(ctx, a, b, t):
        ctx.t = t
        return a + t * (b - a)

    @staticmethod
    def backward(ctx, grad_output):
        grad_a = grad_b = None
        if ctx.needs_input_grad[0]:
            grad_a = (1 - ctx.t) * grad_output
        if ctx.needs_input_grad[1]:
            grad_b = grad_output - grad_a
        return grad_a, grad_b, None
"""),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSEQUENCES)
def test_what_follows_from_one_broken_promise_is_no_second_one(name):
    rule, promise, source = CONSEQUENCES[name]
    report = evaluate(load(source, name), exercise=name, seed=3)
    assert report.findings[0].rule == rule
    assert [line.key for line in report.promises if line.state == "broken"] == [promise]


def test_numbers_that_move_alike_by_chance_are_no_quotient(monkeypatch):
    """Two of five elements near ½, where x and 1 + x² move alike: seed 29 draws such a vector."""
    source = known("Case03", "the setup_context form")
    looks = []
    look = questioning.look_around
    monkeypatch.setattr(questioning, "look_around", lambda *given: looks.append(look(*given)) or looks[-1])  # fmt: skip
    assert evaluate(load(source, "Case03"), exercise="Case03", hidden=False, seed=29).passed
    assert moving_points.QUOTIENT in looks
