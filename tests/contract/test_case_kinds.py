"""Which cases stand for all whose arguments take the same branches."""

from __future__ import annotations

import torch

from autograder.contract.drawing import one_of_each_kind

X = torch.ones(2, 3)
MASK = torch.ones(2, 3, dtype=torch.bool)


def test_the_case_with_most_dimensions_stands_for_its_kind():
    assert one_of_each_kind({0: (X,), 4: (torch.ones(2, 3, 4),), 7: (torch.ones(2),)}) == {4}


def test_every_type_and_flag_of_each_argument_is_there():
    cases = {0: (X, True), 1: (X, False), 2: (MASK, False)}
    assert one_of_each_kind(cases) == {0, 2}  # MASK, False brings both that X, True has not


def test_an_argument_that_is_left_out_counts_too():
    """Whether it is not there or None: the same branch runs."""
    assert one_of_each_kind({0: (X, None), 1: (X,), 2: (X, 0.5)}) == {0, 2}


def test_combinations_are_not_all_needed():
    cases = {0: (X,), 1: (X, MASK), 2: (X, None, 0.7), 3: (X, MASK, 1.3)}
    assert one_of_each_kind(cases) == {0, 3}  # without a mask and a scale, and with both


def test_no_cases():
    assert one_of_each_kind({}) == set()
