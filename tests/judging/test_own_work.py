"""Derivatives that somebody else takes: by autograd out of sight, by differences, by complex numbers, by another apply."""

import linecache

import pytest
import torch
from torch.autograd import Function

from autograder import evaluate
from autograder.explaining.edits import nothing_tried

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
    "a difference quotient in float64": (HEAD + QUOTIENT, "own-work/inexact"),
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
    file = f"<own work: {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"torch": torch, "Function": Function, "__name__": "__main__"}
    exec(compile(source, file, "exec"), space)
    with nothing_tried():
        report = evaluate(space["MySigmoid"], hidden=hidden, seed=4)
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
