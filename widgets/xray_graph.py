"""From a trace to the boxes and lines of its graph, in the direction of the forward pass."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
from torch import Tensor

from widgets.steps import CUT, END, LEAF, OWN, TORCH, Part
from widgets.trace import Application, Node, Snapshot, Trace
from widgets.xray_dangers import name_at

FLOATING = ("float", "bfloat", "complex")
MOST_BOXES = 30  # more are hard to read: then torch's own nodes are left out


@dataclass(frozen=True)
class XRayGraph:
    """Boxes and lines, and which box shows which node or application. Left-out nodes have none.

    `of_cut` are boxes of tensors without history, by application and origin; `ends` those of the
    roots of each pass, by its moment and their place; `of_output` those of outputs, by application
    and position.
    """

    parts: tuple[Part, ...]
    edges: tuple[tuple[str, str], ...]
    of_node: Mapping[int, str]
    of_application: Mapping[int, str]
    of_input: Mapping[tuple[int, int], str]
    of_cut: Mapping[tuple[int, str], str]
    ends: Mapping[tuple[int, int], str]
    of_output: Mapping[tuple[int, int], str]


def graph_of(
    trace: Trace,
    names: list[list[str]],
    leaf_name: Mapping[int, str],
    gradient_names: Sequence[str] = (),
) -> XRayGraph:
    """The graph of what was recorded.

    Args:
        trace: recorded with engine=True.
        names: the argument names of each application's forward.
        leaf_name: names of leaf tensors, by the number of their node.
        gradient_names: of what the gradients are that a second backward starts at.
    """
    graph = nx.DiGraph()
    parts: dict[str, Part] = {}
    of_node: dict[int, str] = {}
    of_application: dict[int, str] = {}

    def add(key: str, label: str, kind: str) -> str:
        parts.setdefault(key, Part(key, label, kind))
        graph.add_node(key)
        return key

    leaves: dict[int, str] = {}  # one box a leaf, however many passes end in it
    for node in trace.nodes:
        if node.application is not None:
            app = trace.applications[node.application]
            key = add(f"f{node.application}", app.name, OWN)
            of_application[node.application] = key
        elif node.leaf is not None:
            tensor = node.leaf()
            same = id(tensor) if tensor is not None else -node.number - 1
            key = add(leaves.setdefault(same, f"n{node.number}"), leaf_name[node.number], LEAF)
        else:
            key = add(f"n{node.number}", node_name(node), TORCH)
        of_node[node.number] = key
    for node in trace.nodes:
        for after in filter(None, node.next):
            graph.add_edge(of_node[after[0]], of_node[node.number])
    of_input = _seen_in_forward_only(trace, names, of_application, add, graph)
    of_cut = _cuts(trace, of_node, add, graph)
    ends, of_output = _ends(trace, of_node, gradient_names, add, graph)
    if len(graph) > MOST_BOXES:
        _leave_out_torchs_own(graph, parts)
    here = {number: key for number, key in of_node.items() if key in graph}
    return XRayGraph(
        tuple(part for key, part in parts.items() if key in graph),
        tuple(graph.edges),
        here,
        of_application,
        of_input,
        of_cut,
        ends,
        of_output,
    )


def second_start(trace: Trace) -> int | None:
    """The moment at which the first backward through a recorded backward starts; None without one."""
    calls = [call for app in trace.applications for call in app.backwards]
    recorded = [call.ended for call in calls if call.grad_mode and call.ended]
    starts = [event.order for event in trace.events if event.kind == "starts"]
    return next((order for order in starts if recorded and order > min(recorded)), None)


def running(trace: Trace, order: int) -> Application | None:
    """The application in whose backward a moment lies; None outside of any."""
    return next(
        (
            app
            for app in trace.applications
            for call in app.backwards
            if call.order < order < call.ended
        ),
        None,
    )


def node_name(node: Node) -> str:
    """What people call a node of a trace."""
    return spoken_name(node.name)


def spoken_name(name: str) -> str:
    """What people call a node of the graph: "MulBackward0" → "Mul"."""
    return re.sub(r"Backward\d*$", "", name.rsplit("::", 1)[-1]) or name


def leaf_names(trace: Trace, known: Mapping[str, object]) -> dict[int, str]:
    """A name for each leaf: the variable that holds it, else "leaf 1", "leaf 2", …"""
    found: dict[int, str] = {}
    numbers: dict[int, int] = {}
    for node in trace.nodes:
        if node.leaf is None:
            continue
        tensor = node.leaf()
        held = [name for name, value in known.items() if value is tensor and tensor is not None]
        # A notebook's _ and _12 hold outputs; such a name says nothing.
        held.sort(key=lambda name: (name.startswith("_"), len(name)))
        if held:
            found[node.number] = held[0]
        else:
            number = numbers.setdefault(id(tensor) if tensor is not None else -node.number, 0)
            number = number or max(numbers.values()) + 1
            numbers[id(tensor) if tensor is not None else -node.number] = number
            found[node.number] = f"leaf {number}"
    return found


def tensors_named(values: Mapping[str, object]) -> dict[str, Tensor]:
    """The tensors among variables, and the parameters of modules among them, by name."""
    found: dict[str, Tensor] = {}
    for name, value in values.items():
        if isinstance(value, Tensor):
            found[name] = value
        elif hasattr(value, "named_parameters") and not isinstance(value, type):
            found.update({f"{name}.{inner}": p for inner, p in value.named_parameters()})
    return found


def _seen_in_forward_only(trace, names, of_application, add, graph) -> dict[tuple[int, int], str]:  # type: ignore[no-untyped-def]
    """Boxes of applications that no backward reached, with a box for each tensor they got."""
    inputs: dict[tuple[int, int], str] = {}
    for index, app in enumerate(trace.applications):
        if index in of_application:
            continue
        of_application[index] = add(f"f{index}", app.name, OWN)
        for position, shot in enumerate(app.inputs):
            if isinstance(shot, Snapshot):
                key = add(f"f{index}-{position}", name_at(names[index], position), LEAF)
                inputs[index, position] = key
                graph.add_edge(key, of_application[index])
    return inputs


def _cuts(
    trace: Trace, of_node: Mapping[int, str], add: Callable[..., str], graph: nx.DiGraph
) -> dict[tuple[int, str], str]:
    """Boxes of what has lost its history, each with lines to where it meets what has one."""
    boxes: dict[tuple[int, str], str] = {}
    numbers = {(node.name, node.sequence): node.number for node in trace.nodes}
    for index, app in enumerate(trace.applications):
        for cut in (cut for call in app.backwards for cut in call.cuts):
            key = add(f"cut{index}-{cut.origin}", f"✕ {cut.origin}", CUT)
            boxes[index, cut.origin] = key
            if cut.node in numbers:
                graph.add_edge(key, of_node[numbers[cut.node]])
    return boxes


def _ends(
    trace: Trace,
    of_node: Mapping[int, str],
    gradient_names: Sequence[str],
    add: Callable[..., str],
    graph: nx.DiGraph,
) -> tuple[dict[tuple[int, int], str], dict[tuple[int, int], str]]:
    """A box for each root that a pass starts at: an output, or a gradient; and which output it is."""
    ends: dict[tuple[int, int], str] = {}
    of_output: dict[tuple[int, int], str] = {}
    second = second_start(trace)
    for event in trace.events:
        roots = event.roots if event.kind == "starts" else []
        for place, root in enumerate(roots):
            label, position = "output", None
            application = trace.nodes[root].application
            if second is not None and event.order >= second:
                named = place < len(gradient_names)
                label = f"gradient of {gradient_names[place]}" if named else "gradient"
            elif running(trace, event.order):
                label = "inner output"
            else:
                position = _which_output(trace, roots, place)
                several = application is not None and not trace.applications[application].single
                label += f" {position}" if several else ""
            box = ends[event.order, place] = add(f"end-{of_node[root]}-{label}", label, END)
            graph.add_edge(of_node[root], box)
            if position is not None and application is not None:
                of_output[application, position] = box
    return ends, of_output


def _which_output(trace: Trace, roots: Sequence[int], place: int) -> int:
    """Which output of its application a root is: outputs that are no numbers have no gradient."""
    application = trace.nodes[roots[place]].application
    outputs = trace.applications[application].outputs if application is not None else []
    live = [i for i, v in enumerate(outputs) if getattr(v, "dtype", "").startswith(FLOATING)]
    before = list(roots[:place]).count(roots[place])
    return live[before] if before < len(live) else before


def _leave_out_torchs_own(graph: nx.DiGraph, parts: Mapping[str, Part]) -> None:
    """Join what comes before and after each of torch's own nodes, and take the node out."""
    for key in [key for key in graph if parts[key].kind == TORCH]:
        before, after = list(graph.predecessors(key)), list(graph.successors(key))
        graph.add_edges_from((b, a) for b in before for a in after)
        graph.remove_node(key)
