"""More rows, counted work and lookups: what the rules memorised and too-slow rest on."""

import sys
from functools import partial

import torch

from autograder import evaluate
from autograder.contract.drawing import TIMES, rows_of
from autograder.contract.other_arguments import more_rows, scaled
from autograder.contract.plan import make_plan
from autograder.exercises import all_exercises
from autograder.judging.rules.sizes import _named_sizes
from autograder.observation.source import Source
from autograder.running.watching import counted
from tests.mistakes.gallery import answers, load
from tests.sigmoid_and_product import SIGMOID, Sigmoid, sigmoid_with


def grown(exercise):
    return [q for q in make_plan(exercise, 1, True) if q.kind == "grown"]


def test_every_function_of_the_course_is_asked_once_with_more_rows():
    for exercise in all_exercises().values():
        asked = grown(exercise)
        expects = exercise.any_size and not exercise.is_function
        assert len(asked) == expects, exercise.name
        for question in asked:
            assert rows_of(question.args) == TIMES * rows_of(question.more["args"]), exercise.name


def test_rows_are_added_to_the_first_tensors_or_to_none():
    def more(shapes, reference):
        few = tuple(torch.ones(shape).double() for shape in shapes)
        return more_rows(few, partial(scaled, few, TIMES), reference)

    x, w = more([(2, 3), (4, 3)], lambda x, w: x @ w.T)
    assert (x.shape, w.shape) == ((8, 3), (4, 3))
    assert x[:, 0].tolist() == [1, 1, 1.25, 1.25, 1.5, 1.5, 1.75, 1.75]
    a, b = more([(2,), (2,)], torch.dot)
    assert (a.shape, b.shape) == ((8,), (8,))
    a, b, w = more([(2, 3), (2, 3), (3, 3)], lambda a, b, w: (a + b) @ w)
    assert (a.shape, b.shape, w.shape) == ((8, 3), (8, 3), (3, 3))
    assert more([(2, 2)], torch.linalg.inv) is None
    assert more([()], torch.sin) is None


def test_work_counts_operations_and_the_learners_lines_and_leaves_the_tracer_alone():
    space: dict = {}
    code = (
        "def add(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n"
    )
    exec(compile(code, "<mine>", "exec"), space)
    before = sys.gettrace()
    counts = []
    for n in (3, 9):
        with counted(frozenset({"<mine>"})) as work:
            space["add"](n)
            torch.ones(n) + 1
        counts.append((work.operations, work.lines))
    (few, few_lines), (many, many_lines) = counts
    assert few == many == 2
    assert many_lines - few_lines == 2 * 6
    assert sys.gettrace() is before


def test_sizes_that_code_names_are_those_that_it_compares_or_looks_up():
    def found(line):
        source = f"def backward(ctx, g):\n    x, = ctx.saved_tensors\n    {line}\n    return g\n"
        return [(place[0], sizes) for place, sizes in _named_sizes(Source.parse(source))]

    assert found("y = 1 if x.shape == (2, 3) else 2") == [(3, {(2, 3), 2, 3})]
    assert found("y = len(x) in (5, 12)") == [(3, {(5, 12), 5, 12})]
    assert found("y = x.size(0) != 7") == [(3, {7})]
    assert found("y = x.numel() in (0, 1, 6)") == [(3, {(0, 1, 6), 6})]
    assert found("y = x.shape in [(5,), (1,)]") == [(3, {(5,), 5})]
    assert found("y = {3: 1.0, (2, 4): 2.0}[x.numel()]") == [(3, {3, (2, 4), 2, 4})]
    for honest in (
        "y = x.shape == g.shape", "y = x.numel() == 0", "y = x.shape[-1] == 1",
        "y = {'dim': 0, 'keepdim': 1}", "y = x.shape[0] > 5",
    ):  # fmt: skip
        assert found(honest) == [], honest


SIZED = """
class ExampleSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        if CONDITION:
            return FACTOR * g * y * (1 - y)
        return g * y * (1 - y)
"""


def rules(condition, factor, hidden=False):
    source = SIZED.replace("CONDITION", condition).replace("FACTOR", factor)
    report = evaluate(load(source, "ExampleSigmoid"), exercise=SIGMOID, seed=1, hidden=hidden)
    return [finding.rule for finding in report.findings]


def test_a_memory_of_sizes_is_named_only_where_it_makes_answers_wrong():
    assert rules("y.shape != (5,)", "2.0")[0] == "memorised"
    assert rules("y.shape != (5,)", "2.0", hidden=True)[0] == "memorised"
    assert rules("y.shape == (5,)", "1.0") == []
    assert rules("True", "2.0")[0] == "gradient-scale"


def test_a_size_that_no_case_has_must_come_out_right_too():
    assert rules("y.shape[0] > 10 if y.dim() else False", "2.0") == ["gradient-value"]


def test_what_large_tensors_alone_get_must_be_right_too():
    assert rules("y.numel() > 300", "2.0") == ["gradient-value"]


def test_the_same_counts_on_every_run():
    def row_by_row(ctx, g):
        right = Sigmoid.backward(ctx, g)
        return torch.stack([1 * row for row in right]) if right.dim() and right.numel() else right

    reports = [evaluate(sigmoid_with(row_by_row), exercise=SIGMOID, seed=1) for _ in range(2)]
    assert [r.findings[0].rule for r in reports] == ["too-slow", "too-slow"]
    assert reports[0].to_json() == reports[1].to_json()


def test_the_line_of_a_loop_is_named_where_it_stands_outside_of_the_class():
    (answer,) = [a for a in answers() if a.what.startswith("math.erf, one number after")]
    finding = evaluate(answer.load(), exercise="MyGELU", seed=1, hidden=True).findings[0]
    assert (
        "goes through the elements in Python: line 7 runs again for each of them" in finding.message
    )
    assert finding.evidence["source"] == "for place in range(flat.numel()):"
