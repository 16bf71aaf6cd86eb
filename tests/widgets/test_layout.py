"""Boxes never overlap, lines go one way and never run behind a pill or another box."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.blocks import PILL, Room
from widgets.layout import lay_out

FLOW = {name: Room(60, 90, 70) for name in ("x", "y", "square", "relu", "add", "loss")}
FLOW_EDGES = [
    ("x", "square"), ("y", "relu"), ("square", "add"), ("relu", "add"), ("add", "loss"),
]  # fmt: skip


def rooms(names):
    return {name: Room(60, 90, 70) for name in names}


def inside(box, room, point, height=PILL):
    across = box.x < point[0] < box.x + (box.width if height == PILL else room.width)
    return across and box.y < point[1] < box.y + height


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
    sizes = [Room(40, 40, PILL), Room(60, 120, 90), Room(150, 150, PILL), Room(80, 230, 200)]
    return {name: draw(st.sampled_from(sizes)) for name in names}, edges


def test_the_small_graph_of_the_course_reads_from_left_to_right():
    made = lay_out(FLOW, FLOW_EDGES)
    x = {key: box.x for key, box in made.boxes.items()}
    assert x["x"] == x["y"] < x["square"] == x["relu"] < x["add"] < x["loss"]
    assert made.boxes["x"].y == made.boxes["square"].y < made.boxes["add"].y
    assert made.boxes["add"].y == made.boxes["loss"].y


def test_or_from_top_to_bottom():
    made = lay_out(FLOW, FLOW_EDGES, down=True)
    y = {key: box.y for key, box in made.boxes.items()}
    assert y["x"] == y["y"] < y["square"] == y["relu"] < y["add"] < y["loss"]


def test_a_skipping_line_goes_round_the_box_between():
    edges = [("x", "f"), ("f", "mul"), ("x", "mul")]
    made = lay_out(rooms(["x", "f", "mul"]), edges)
    assert len(made.lines["x", "mul"]) > 2
    box = made.boxes["f"]
    assert not any(inside(box, Room(60, 90, 70), p, 70) for p in along(made.lines["x", "mul"]))


def test_lines_that_cross_in_the_given_order_are_sorted_out():
    made = lay_out(rooms("abcd"), [("a", "d"), ("b", "c")])
    assert (made.boxes["a"].y < made.boxes["b"].y) == (made.boxes["d"].y < made.boxes["c"].y)


def test_a_late_weight_stands_just_before_its_use():
    made = lay_out(rooms("abcw"), [("a", "b"), ("b", "c"), ("w", "c")])
    assert made.boxes["w"].x == made.boxes["b"].x


@given(graphs(), st.booleans())
def test_nothing_overlaps_and_everything_is_on_the_sheet(graph, down):
    sizes, edges = graph
    made = lay_out(sizes, edges, down)
    assert set(made.boxes) == set(sizes)
    assert set(made.lines) == set(edges)
    for one, other in itertools.combinations(sizes, 2):
        first, second = made.boxes[one], made.boxes[other]
        across = first.x + sizes[one].width <= second.x or second.x + sizes[other].width <= first.x
        below = first.y + sizes[one].height <= second.y or second.y + sizes[other].height <= first.y
        assert across or below
    for key, box in made.boxes.items():
        assert 0 <= box.x <= made.width - sizes[key].width
        assert 0 <= box.y <= made.height - sizes[key].height
    for (start, end), points in made.lines.items():
        way = [p[1 if down else 0] for p in points]
        assert way == sorted(way)
        others = [key for key in made.boxes if key not in (start, end)]
        assert not any(
            inside(made.boxes[key], sizes[key], p, sizes[key].height)
            for p in along(points)
            for key in others
        )


def test_the_same_graph_is_laid_out_the_same_way():
    assert lay_out(FLOW, FLOW_EDGES) == lay_out(FLOW, [*FLOW_EDGES, FLOW_EDGES[0]])


@pytest.mark.parametrize(
    ("edges", "problem"), [([("x", "z")], "not there"), ([("x", "y"), ("y", "x")], "circle")]
)
def test_what_cannot_be_laid_out_is_said(edges, problem):
    with pytest.raises(ValueError, match=problem):
        lay_out(rooms("xy"), edges)


def test_nothing_is_a_layout_too():
    assert lay_out({}, []).boxes == {}
