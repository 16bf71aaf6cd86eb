"""Helpers that a learner's code takes from a demonstration are there when it is graded."""

from __future__ import annotations

from autograder.grading.borrowed import borrowed, free_names

DEMOS = {
    "demo-first": "import scipy.special\n\nvalue = scipy.special.j0(1.0)\nprint(value)",
    "demo-helpers": (
        "def blocks(n, size):\n    return [slice(i, i + size) for i in steps(n, size)]\n\n\n"
        "def steps(n, size):\n    return range(0, n, size)\n\n\n"
        "raise RuntimeError('a demonstration that is never to run')"
    ),
    "demo-unused": "big = list(range(10**9))",
}


def test_only_what_is_used_is_taken() -> None:
    learner = "class A:\n    def f(self, n):\n        return blocks(n, 4)"
    assert list(borrowed([learner], DEMOS)) == ["demo-helpers"]
    space: dict[str, object] = {}
    exec(borrowed([learner], DEMOS)["demo-helpers"], space)
    assert len(space["blocks"](10, 4)) == 3  # type: ignore[operator]


def test_an_import_counts() -> None:
    found = borrowed(["def f(x):\n    return scipy.special.erf(x)"], DEMOS)
    assert found == {"demo-first": "import scipy.special"}


def test_local_names_are_not_borrowed() -> None:
    learner = "def f(value, big):\n    blocks = value\n    return [big for steps in blocks]"
    assert borrowed([learner], DEMOS) == {}
    assert free_names(learner) == set()


def test_a_cell_that_is_no_python_borrows_nothing() -> None:
    assert borrowed(["def f(:"], DEMOS) == {}
