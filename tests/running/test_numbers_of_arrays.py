"""What NumPy computes from a tensor in backward is looked at, whatever part of an array it is computed from."""

import numpy as np
import pytest
import scipy.special
import torch

from autograder.running.operation_runs import Results
from autograder.running.watching import IMAGINARY, Storages

PARTS = {
    "the array": lambda a: a,
    "its real part": lambda a: a.real,
    "backwards": lambda a: a[::-1],
    "transposed": lambda a: a.T,
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_an_array_tells_as_well(part):
    x = torch.tensor([0.5, 1.5, 2.5], dtype=torch.float64)
    seen = Results()
    with seen, seen.arrays:
        numbers = np.exp(PARTS[part](x.numpy()))
    assert any(np.array_equal(each, numbers) for each in seen.told)


def test_real_numbers_of_a_complex_dtype_are_no_complex_step():
    x = torch.tensor([0.5, 1.5], dtype=torch.float64)
    for function, steps in ((scipy.special.lambertw, 0), (lambda a: np.exp(a + 1e-20j), 1)):
        seen = Results()
        with seen, seen.arrays:
            function(x.numpy())
        assert bool(seen.operations[IMAGINARY]) == steps


def test_what_lay_in_new_memory_is_no_complex_step():
    left = [torch.full((2,), 1e-20j, dtype=torch.complex128)]
    aten = torch.ops.aten
    for operation, steps in (
        (aten.empty.memory_format, 0), (aten.new_empty.default, 0), (aten.select.int, 0), (aten.add.Tensor, 1)
    ):  # fmt: skip
        seen = Storages()
        seen.saw(operation, left)
        assert bool(seen.operations[IMAGINARY]) == steps
