"""Where the boxes and lines of a small graph go: one layout for the widget and for its picture.

Layers from left to right in the direction of the forward pass. A line that skips layers is led
through them by a place of its own in each, so that no line runs behind a box.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import networkx as nx

Node = str | tuple[str, str, int]  # a box, or the place of line (a, b) in one layer

LETTER = 8.2  # width of a letter in CSS pixels; labels are set in 13 px
PADDING = 14
BOX_HEIGHT = 38
BELOW_BOX = 34  # room under a box for the two lines of values
ROW = BOX_HEIGHT + BELOW_BOX + 14
BETWEEN_LAYERS = 56
LEAST_WIDTH = 138  # values under a box are wider than most labels
MARGIN = 14
SWEEPS = 6


@dataclass(frozen=True)
class Box:
    """A box by its centre and size, in CSS pixels from the top left corner."""

    x: float
    y: float
    width: float
    height: float = BOX_HEIGHT


@dataclass(frozen=True)
class Layout:
    """Boxes by key, lines by (from, to) as points from box edge to box edge, and the whole size."""

    boxes: dict[str, Box]
    lines: dict[tuple[str, str], list[tuple[float, float]]]
    width: float
    height: float


def lay_out(labels: Mapping[str, str], edges: Iterable[tuple[str, str]]) -> Layout:
    """Lay out an acyclic graph.

    Args:
        labels: what stands in each box, by key; boxes are as wide as their labels need.
        edges: pairs of keys, in the direction of the forward pass; repeated pairs count once.

    Raises:
        ValueError: if an edge names no box, or the edges go in a circle.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(labels)
    graph.add_edges_from(edges)
    strange = set(graph) - set(labels)
    if strange:
        raise ValueError(f"edges name boxes that are not there: {sorted(strange)}")
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError("this graph goes in a circle and has no layers")
    layer = layers_of(graph)
    routes = {edge: route(edge, layer) for edge in graph.edges}
    columns = ordered_columns(graph, layer, routes)
    return _placed(labels, columns, routes)


def layers_of(graph: nx.DiGraph) -> dict[str, int]:
    """The layer of each node: past all it depends on, and a source just before its first use."""
    layer: dict[str, int] = {}
    for number, generation in enumerate(nx.topological_generations(graph)):
        layer.update(dict.fromkeys(generation, number))
    for node in graph:
        if graph.in_degree(node) == 0 and graph.out_degree(node):
            layer[node] = min(layer[after] for after in graph.successors(node)) - 1
    return layer


def route(edge: tuple[str, str], layer: Mapping[str, int]) -> list[Node]:
    """The line's stations, one a layer: its two boxes, and between them places of its own."""
    start, end = edge
    between: list[Node] = [(start, end, at) for at in range(layer[start] + 1, layer[end])]
    return [start, *between, end]


def ordered_columns(
    graph: nx.DiGraph,
    layer: Mapping[str, int],
    routes: Mapping[tuple[str, str], list[Node]],
) -> list[list[Node]]:
    """What stands in each layer from top to bottom, by barycentres, so that few lines cross."""
    columns: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node in graph:
        columns[layer[node]].append(node)
    proper = nx.DiGraph()
    proper.add_nodes_from(graph)
    for (start, _), stations in routes.items():
        for offset, station in enumerate(stations[1:-1], start=1):
            columns[layer[start] + offset].append(station)
        nx.add_path(proper, stations)
    place = {node: _height(i, column) for column in columns for i, node in enumerate(column)}
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            centre = {}
            for node in column:
                beside = list(proper.predecessors(node) if forward else proper.successors(node))
                centre[node] = (
                    sum(place[other] for other in beside) / len(beside) if beside else place[node]
                )
            column.sort(key=centre.__getitem__)  # stable: equals keep their order
            place.update({node: _height(i, column) for i, node in enumerate(column)})
    return columns


def _height(index: int, column: list[Node]) -> float:
    """Rows above or below the middle line; columns are centred on it."""
    return index - (len(column) - 1) / 2


def _placed(
    labels: Mapping[str, str],
    columns: list[list[Node]],
    routes: Mapping[tuple[str, str], list[Node]],
) -> Layout:
    """Coordinates of boxes and lines from the order in each layer."""
    rows = max(map(len, columns), default=0)
    height = rows * ROW - (ROW - BOX_HEIGHT - BELOW_BOX) + 2 * MARGIN if rows else 2 * MARGIN
    middle = (height - BELOW_BOX) / 2
    boxes: dict[str, Box] = {}
    # x and y of the centre, width of the box (none for a passing line), width of its column
    spots: dict[Node, tuple[float, float, float, float]] = {}
    left: float = MARGIN
    for column in columns:
        widths = [max(LEAST_WIDTH, _width(labels[n])) for n in column if isinstance(n, str)]
        room = max(widths, default=LEAST_WIDTH)
        for i, node in enumerate(column):
            x, y = left + room / 2, middle + _height(i, column) * ROW
            if isinstance(node, str):
                boxes[node] = Box(x, y, max(72, _width(labels[node])))
                spots[node] = (x, y, boxes[node].width, room)
            else:
                spots[node] = (x, y, room, room)
        left += room + BETWEEN_LAYERS
    width = max(left - BETWEEN_LAYERS, MARGIN) + MARGIN
    lines = {edge: _points(stations, spots) for edge, stations in routes.items()}
    return Layout(boxes, lines, width, height)


def _width(label: str) -> float:
    return len(label) * LETTER + 2 * PADDING


def _points(
    stations: list[Node], spots: Mapping[Node, tuple[float, float, float, float]]
) -> list[tuple[float, float]]:
    """From the right edge of the first box to the left edge of the last.

    Level within a column, where boxes of several widths stand, and aslant only between columns.
    """
    points: list[tuple[float, float]] = []
    last = len(stations) - 1
    for i, station in enumerate(stations):
        x, y, width, room = spots[station]
        if i > 0:
            points += [(x - room / 2, y), (x - width / 2, y)]
        if i < last:
            points += [(x + width / 2, y), (x + room / 2, y)]
    return list(dict.fromkeys(points))
