"""Sentences that name what happened, where several things would fit."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers, load


def first(exercise, source):
    return evaluate(load(source, exercise), exercise=exercise, seed=1).findings[0]


def test_a_special_point_says_what_comes_out_there():
    source = """
class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 1e-9, 1.0, -1.0).to(x.dtype)
    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0].abs() <= 1)
"""
    assert first("Binarize", source).message.endswith(
        "the output is -1 at x = 0, where 1 is right."
    )


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("torch.autograd.grad(torch.sigmoid(t), t, g)[0]", "torch.autograd.grad"),
        ("torch.ops.aten.sigmoid_backward(g, torch.sigmoid(t))", "aten.sigmoid_backward"),
    ],
)
def test_autograd_is_named_as_it_was_called(call, named):
    grad = "torch.enable_grad()" if "autograd" in named else "torch.no_grad()"
    source = f"""
class MySigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)
    @staticmethod
    def backward(ctx, g):
        t = ctx.saved_tensors[0].detach()
        with {grad}:
            t.requires_grad_()
            return {call}
"""
    found = first("MySigmoid", source)
    assert f"({named})" in found.message
    assert found.evidence["source"].startswith("return ")


def test_bounds_of_a_clamp_that_are_exchanged():
    swapped = next(a for a in answers() if a.what == "the bounds of clamp the wrong way round")
    found = evaluate(swapped.load(), exercise="ClipGradient", seed=1).findings[0]
    assert found.message.startswith("The gradient is −limit everywhere")


HOOKS = """
import contextlib
from torch.autograd.graph import saved_tensors_hooks
@contextlib.contextmanager
def save_in_bfloat16():
    def pack(t):
        base = t if t._base is None else t._base
        if t.dtype != torch.float32 or base.is_leaf:
            return t.detach(), False
        return t.detach().to(torch.bfloat16), True
    hooks = saved_tensors_hooks(pack, lambda kept: kept[0].float() if kept[1] else kept[0])
    hooks.__enter__()
    yield
    {after}
"""


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (
            "hooks.__exit__()",
            "after the block when an error ends it; without an error they are off. The error skips what takes them off",
        ),
        ("pass", "The hooks are still on after the block."),
    ],
)
def test_when_hooks_stay_on(after, message):
    found = evaluate(
        load(HOOKS.format(after=after), "save_in_bfloat16"), exercise="save_in_bfloat16", seed=1
    ).findings
    assert any(message in f.message for f in found)


def test_bytes_of_a_view_are_not_called_a_sum():
    source = """
from torch.autograd.graph import saved_tensors_hooks
def saved_bytes(f, *args):
    seen = {}
    def pack(t):
        seen[t.untyped_storage().data_ptr()] = t.nbytes
        return t.detach()
    with saved_tensors_hooks(pack, lambda t: t):
        result = f(*args)
    return sum(seen.values())
"""
    found = first("saved_bytes", source)
    assert found.message.startswith("The bytes of the tensor are counted, not those of the storage")
