"""QuickMeta answers as torch's own meta kernels do, and leaves every error to them."""

import itertools

import pytest
import torch

from autograder.meta import _BY_SHAPE, _COMPARES, _MADE, _SAME_DTYPE, QuickMeta, _reduced
from autograder.modes import PlainMode

SHAPES = [(3, 4), (1, 4), (4,), (), (2, 1, 4)]
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.int64]


def tensors(shape, dtype):
    return torch.empty(shape, dtype=dtype, device="meta")


def calls():
    for func in sorted(_SAME_DTYPE | _COMPARES, key=str):
        for shape, dtype in itertools.product(SHAPES[:3], DTYPES):
            a = tensors(shape, dtype)
            if len([s for s in func._schema.arguments if s.default_value is None]) == 1:
                yield func, (a,)
            elif str(func).endswith(("Scalar", "Tensor_Scalar")):
                yield from ((func, (a, number)) for number in (2, 0.5))
            else:
                for other, kind in itertools.product(SHAPES, DTYPES):
                    yield func, (a, tensors(other, kind))
    for shape, other, dtype in itertools.product(SHAPES, SHAPES, DTYPES):
        mask = tensors(shape, torch.bool)
        yield torch.ops.aten.where.self, (mask, tensors(other, dtype), tensors((4,), dtype))
        yield torch.ops.aten.masked_fill.Scalar, (tensors((2, 3, 4), dtype), mask, 0.0)

    dims = ([0], [-1], [1, 2], [0, 0], [3], [])
    reduces = [func for func, answer in _BY_SHAPE.items() if answer is _reduced]
    for func, shape, dtype in itertools.product(reduces, [*SHAPES, (0, 3)], DTYPES[::3]):
        for dim, keepdim in itertools.product(dims, (True, False)):
            yield func, (tensors(shape, dtype), dim, keepdim)
            yield func, (tensors(shape, dtype), dim)

    for shape, dtype in itertools.product(SHAPES, [torch.bool, torch.int64, torch.float64]):
        yield torch.ops.aten.bitwise_not.default, (tensors(shape, dtype),)
        for limits in [(0, 1), (None, 0.5), (2,), (None, None), (True, None)]:
            yield torch.ops.aten.clamp.default, (tensors(shape, dtype), *limits)
    for shape, other, dtype in itertools.product(SHAPES, SHAPES, DTYPES):
        yield torch.ops.aten.add_.Tensor, (tensors(shape, dtype), tensors(other, torch.float64))
        yield torch.ops.aten.add_.Tensor, (tensors(shape, dtype), tensors(other, dtype))
    for a, b, dtype in itertools.product([(3, 4), (0, 4), (4,)], [(4, 2), (4, 0), (3, 4)], DTYPES):
        yield torch.ops.aten.mm.default, (tensors(a, dtype), tensors(b, dtype))
        yield torch.ops.aten.mm.default, (tensors(a, dtype), tensors(b, torch.float64))
        for batch in (2, 1):
            pair = tensors((2, *a), dtype), tensors((batch, *b), dtype)
            yield torch.ops.aten.bmm.default, pair


def outcome(func, args, more=None):
    try:
        result = func(*args, **(more or {}))
    except Exception as error:
        return type(error).__name__, str(error)
    return tuple(result.shape), result.dtype, result.device.type


def test_shapes_dtypes_and_errors_are_torchs():
    covered = set()
    for func, args in calls():
        expected = outcome(func, args)
        with QuickMeta():
            assert outcome(func, args) == expected, (func, [getattr(a, "shape", a) for a in args])
        covered.add(func)
    assert covered == set(_BY_SHAPE)


@pytest.mark.parametrize("operation", [torch.add, torch.maximum, torch.gt])
def test_a_tensor_on_the_cpu_meets_torchs_error(operation):
    meta, cpu = tensors((3, 4), torch.float64), torch.ones(3, 4).double()
    with QuickMeta(), pytest.raises(RuntimeError, match="device"):
        operation(meta, cpu)


KEYWORDS = [{}, {"dtype": torch.float32}, {"device": "cpu"}]
LIKE = [torch.zeros_like, torch.ones_like, lambda x, **more: torch.full_like(x, 2.0, **more)]
NEW = [
    lambda x, **more: x.new_zeros(2, 3, **more),
    lambda x, **more: x.new_ones((), **more),
    lambda x, **more: x.new_full((4,), 2, **more),
    lambda x, **more: x.new_zeros(-1, **more),
]
COUNTERS = [
    lambda x, **more: torch.arange(5, **{"device": x.device, **more}),
    lambda x, **more: torch.arange(2, 5, **{"device": x.device, **more}),
    lambda x, **more: torch.arange(5, 2, **{"device": x.device, **more}),
    lambda x, **more: torch.arange(0.5, 3, **{"device": x.device, **more}),
    lambda x, **more: torch.arange(2, 9, 3, **{"device": x.device, **more}),
]


@pytest.mark.parametrize("make", [*LIKE, *NEW, *COUNTERS])
@pytest.mark.parametrize("more", KEYWORDS)
def test_tensors_like_others_are_torchs(make, more):
    for shape in SHAPES:
        for x in (tensors(shape, torch.float64), tensors((*shape, 2), torch.float64)[..., 0]):
            expected = outcome(make, (x,), more)
            with QuickMeta():
                assert outcome(make, (x,), more) == expected


def test_every_operation_that_makes_tensors_is_asked_for():
    class Noting(PlainMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.add(func)
            return func(*args, **(kwargs or {}))

    seen = set()
    with Noting():
        for make in (*LIKE, *NEW, *COUNTERS):
            outcome(make, (tensors((3,), torch.float64),))
    assert set(_MADE) <= seen
