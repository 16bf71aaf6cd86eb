"""The figures of all lessons under one name each."""

import inspect

import pytest

from widgets import figures


def test_each_public_function_of_a_module_is_a_figure_and_no_two_have_one_name():
    every = [
        name
        for module in figures.MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    ]
    assert len(every) == len(set(every)) >= 35
    assert dir(figures) == sorted([*every, "course_map"])
    assert figures.u_curve.__name__ == "u_curve"


def test_a_figure_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(
        AttributeError, match="no figure is called 'x_curve'; there are accuracies, "
    ):
        figures.x_curve  # noqa: B018
