"""Boxes never overlap, lines go from left to right and never run behind a box."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.layout import BELOW_BOX, lay_out

FLOW = {"x": "x", "y": "y", "square": "Square", "relu": "ReLU", "add": "Add", "loss": "Loss"}
FLOW_EDGES = [
    ("x", "square"), ("y", "relu"), ("square", "add"), ("relu", "add"), ("add", "loss"),
]  # fmt: skip


def inside(box, point):
    return abs(box.x - point[0]) < box.width / 2 and abs(box.y - point[1]) < box.height / 2


def along(points, parts=40):
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        for k in range(parts + 1):
            yield x0 + (x1 - x0) * k / parts, y0 + (y1 - y0) * k / parts


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 9))
    names = [f"n{i}" for i in range(count)]
    pairs = list(itertools.combinations(names, 2))
    edges = draw(st.lists(st.sampled_from(pairs), max_size=14)) if pairs else []
    labels = {n: draw(st.sampled_from(["x", "Square", "a rather long name"])) for n in names}
    return labels, edges


def test_the_small_graph_of_the_course_reads_from_left_to_right():
    made = lay_out(FLOW, FLOW_EDGES)
    x = {key: box.x for key, box in made.boxes.items()}
    assert x["x"] == x["y"] < x["square"] == x["relu"] < x["add"] < x["loss"]
    assert made.boxes["x"].y == made.boxes["square"].y < made.boxes["add"].y
    assert made.boxes["add"].y == made.boxes["loss"].y


def test_a_skipping_line_goes_round_the_box_between():
    made = lay_out({"x": "x", "f": "Exp", "mul": "Mul"}, [("x", "f"), ("f", "mul"), ("x", "mul")])
    assert len(made.lines["x", "mul"]) > 2
    assert not any(inside(made.boxes["f"], p) for p in along(made.lines["x", "mul"]))


def test_lines_that_cross_in_the_given_order_are_sorted_out():
    labels = {name: name for name in "abcd"}
    made = lay_out(labels, [("a", "d"), ("b", "c")])
    assert (made.boxes["a"].y < made.boxes["b"].y) == (made.boxes["d"].y < made.boxes["c"].y)


def test_a_late_weight_stands_just_before_its_use():
    made = lay_out(dict.fromkeys("abcw", "name"), [("a", "b"), ("b", "c"), ("w", "c")])
    assert made.boxes["w"].x == made.boxes["b"].x


@given(graphs())
def test_nothing_overlaps_and_everything_is_on_the_sheet(graph):
    labels, edges = graph
    made = lay_out(labels, edges)
    assert set(made.boxes) == set(labels)
    assert set(made.lines) == set(edges)
    for one, other in itertools.combinations(made.boxes.values(), 2):
        beside = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert beside or abs(one.y - other.y) >= one.height + BELOW_BOX
    for box in made.boxes.values():
        assert box.width / 2 <= box.x <= made.width - box.width / 2
        assert box.height / 2 <= box.y <= made.height - box.height / 2 - BELOW_BOX
    for (start, end), points in made.lines.items():
        assert [p[0] for p in points] == sorted(p[0] for p in points)
        others = [box for key, box in made.boxes.items() if key not in (start, end)]
        assert not any(inside(box, p) for p in along(points) for box in others)


def test_the_same_graph_is_laid_out_the_same_way():
    assert lay_out(FLOW, FLOW_EDGES) == lay_out(FLOW, [*FLOW_EDGES, FLOW_EDGES[0]])


@pytest.mark.parametrize(
    ("edges", "problem"), [([("x", "z")], "not there"), ([("x", "y"), ("y", "x")], "circle")]
)
def test_what_cannot_be_laid_out_is_said(edges, problem):
    with pytest.raises(ValueError, match=problem):
        lay_out({"x": "x", "y": "y"}, edges)


def test_nothing_is_a_layout_too():
    assert lay_out({}, []).boxes == {}
