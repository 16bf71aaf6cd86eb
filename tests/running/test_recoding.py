"""Which functions of a submission are known: their code may be run with another expression in it."""

import torch

from autograder.running.recoding import Noted


@torch.library.custom_op("recoding::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_the_function_of_a_custom_operator_is_known():
    noted = Noted(frozenset({__file__}))
    with noted:
        twice(torch.ones(2))
    assert [*noted.found] == [twice._init_fn]
