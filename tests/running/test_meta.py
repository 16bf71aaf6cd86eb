"""QuickMeta gives what torch's own meta kernels give, the second time as the first, and all their errors."""

import itertools

import pytest
import torch

from autograder.running.meta_tensors import QuickMeta

SHAPES = [(3, 4), (1, 4), (4,), (), (2, 1, 4), (0, 4)]
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64]
BINARY = [torch.add, torch.div, torch.gt, torch.maximum, torch.matmul, lambda a, b: a.add_(b)]
UNARY = [
    torch.exp, torch.neg, torch.isnan, torch.t, lambda x: x[..., 0], lambda x: x.sum(-1),
    lambda x: x.sum(-1, keepdim=True), lambda x: x.mean(0), lambda x: x / 2, lambda x: x * 2.0,
    lambda x: x * 2, lambda x: x * True, lambda x: x.clamp(0, None), lambda x: x.clamp(0.5),
    lambda x: torch.where(x > 0, x, 0.0), torch.zeros_like, lambda x: x.new_zeros(-1),
    lambda x: x.new_full((2, 3), 2), lambda x: torch.arange(5, device=x.device),
    lambda x: torch.zeros(2, device=x.device), lambda x: torch.zeros(2),
    lambda x: torch.full_like(x, 2, device="cpu"), lambda x: x.max(0),
]  # fmt: skip


def tensors(shape, dtype):
    yield torch.empty(shape, dtype=dtype, device="meta")
    yield torch.empty((*shape, 2), dtype=dtype, device="meta")[..., 0]


def outcome(func, *args):
    try:
        result = func(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    parts = result if isinstance(result, tuple) else (result,)
    return [(tuple(t.shape), t.numel() and t.stride(), t.dtype, t.device.type) for t in parts]


@pytest.mark.parametrize("func", UNARY)
def test_one_tensor(func):
    for shape, dtype in itertools.product(SHAPES, DTYPES):
        for x in tensors(shape, dtype):
            expected = outcome(func, x)
            with QuickMeta():
                assert [outcome(func, x) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize("func", BINARY)
def test_two_tensors(func):
    for shape, other, dtype in itertools.product(SHAPES, SHAPES, DTYPES):
        for b in (*tensors(other, dtype), *tensors(other, torch.float64)):
            a = next(tensors(shape, dtype))
            expected = outcome(func, a, b)
            with QuickMeta():
                assert [outcome(func, a, b) for _ in range(2)] == [expected] * 2


def test_the_default_dtype_counts():
    x = torch.empty(2, dtype=torch.int64, device="meta")
    with QuickMeta():
        assert (x / 2).dtype is torch.float32
        torch.set_default_dtype(torch.float64)
        try:
            assert (x / 2).dtype is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)


def test_what_shares_memory_is_not_made_anew():
    x = torch.empty(2, device="meta")
    with QuickMeta():
        for _ in range(2):
            assert x.add_(1) is x
            assert x.view(1, 2)._base is x


@pytest.mark.parametrize("operation", [torch.add, torch.maximum, torch.gt])
def test_a_tensor_on_the_cpu_meets_torchs_error(operation):
    meta, cpu = torch.empty(3, 4, device="meta"), torch.ones(3, 4)
    for _ in range(2):
        with QuickMeta(), pytest.raises(RuntimeError, match="device"):
            operation(meta, cpu)
