"""What autograd's engine does in one or several backward passes, node by node.

Every backward of torch (Tensor.backward, torch.autograd.backward and .grad) goes through one
function, which is wrapped while watching. Just before a pass starts, hooks are put on its nodes;
they only look, and are gone when the pass ends. A hook on a node is given its gradients after torch
repaired them (summed to the input's shape, cast to its dtype).
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.running.function_classes import instead_of_backward
from widgets.lineage import Event, Node, Trace, sequence_of

COMPILED = (
    "what torch.compile compiled is not recorded, neither Functions in it nor their order: call the "
    "function without torch.compile to see them"
)
_OF_COMPILED = frozenset({"CompiledFunctionBackward", "ApplyTemplateBackward"})
MOST_NODES = 400  # hooks on more would make a backward slow that somebody only wants to look at


class Engine:
    """Fills ``nodes`` and ``events`` of a trace. ``guarded`` turns the watcher's own errors to notes."""

    def __init__(
        self, trace: Trace, shot: Callable[[Any], Any], guarded: Callable[..., Any]
    ) -> None:
        self.trace, self.shot, self.guarded = trace, shot, guarded
        self._watched: dict[int, tuple[Any, Node]] = {}  # nodes of passes that run now, by id

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Watch every backward pass that starts in the block."""

        def run(original: Any, roots: Any, *args: Any, **kwargs: Any) -> Any:
            hooks: list[Any] = []
            mine: list[int] = []
            self.guarded(self._start, roots, args, hooks, mine)
            try:
                result = original(roots, *args, **kwargs)
            except BaseException as error:
                self._add("error", text=f"{type(error).__name__}: {error}")
                raise
            finally:
                for hook in hooks:
                    hook.remove()
                for key in mine:
                    self._watched.pop(key, None)
            self.guarded(self._end, result)
            return result

        with instead_of_backward(run):
            yield

    def _add(self, kind: str, node: int | None = None, gradients: Any = (), text: str = "") -> None:
        shots = [self.shot(g) for g in gradients]
        self.trace.events.append(Event(self.trace.tick(), kind, node, shots, text))

    def _start(self, roots: Any, args: tuple[Any, ...], hooks: list[Any], mine: list[int]) -> None:
        if torch._C._functorch.peek_interpreter_stack() is not None:
            self.trace.notes.append("under torch.func the order of the nodes is not recorded")
            return
        starts = [getattr(root, "grad_fn", None) for root in roots]
        self._walk([node for node in starts if node is not None], mine)
        self._add("starts", gradients=args[0] if args else ())
        known = [self._watched[id(n)][1].number for n in starts if id(n) in self._watched]
        self.trace.events[-1].roots = known
        for key in mine:
            hooks += self._hooks(*self._watched[key])

    def _walk(self, starts: list[Any], mine: list[int]) -> None:
        """Number the nodes that can be reached and that no running pass has numbered yet."""
        waiting, found = list(starts), []
        while waiting:
            node = waiting.pop()
            if id(node) in self._watched:
                continue
            if len(mine) >= MOST_NODES:
                self.trace.notes.append(f"only the first {MOST_NODES} nodes are recorded")
                break
            variable = getattr(node, "variable", None)
            made = Node(len(self.trace.nodes), node.name(), self._application(node))
            made.sequence = sequence_of(node)
            if made.name in _OF_COMPILED and COMPILED not in self.trace.notes:
                self.trace.notes.append(COMPILED)
            if variable is not None:
                made.leaf = weakref.ref(variable)
            self.trace.nodes.append(made)
            self._watched[id(node)] = (node, made)
            mine.append(id(node))
            found.append((node, made))
            # The last one in is taken first, so inputs are met in their order.
            waiting += [after for after, _ in reversed(node.next_functions) if after is not None]
        for node, made in found:
            for after, which in node.next_functions:
                known = after is not None and id(after) in self._watched
                made.next.append((self._watched[id(after)][1].number, which) if known else None)

    def _application(self, node: Any) -> int | None:
        """The application whose ctx this node is: the latest with that id, and of that class."""
        cls = getattr(node, "_forward_cls", None)
        matches = [
            i
            for i, app in enumerate(self.trace.applications)
            if app.context == id(node) and app.cls is cls
        ]
        return matches[-1] if matches else None

    def _hooks(self, node: Any, made: Node) -> list[Any]:
        """Hooks that note what one node does; each returns None, so nothing is changed."""
        number, add, guarded = made.number, self._add, self.guarded
        if made.leaf is not None:
            leaf = node.variable
            received: list[Any] = []
            reference = made.leaf

            def before(gradients: tuple[Any, ...]) -> None:
                held = reference()
                received[:] = [self.shot(None if held is None else held.grad)]
                received.extend(self.shot(g) for g in gradients)

            def after(parameter: Tensor) -> None:
                add("accumulates", number)
                self.trace.events[-1].gradients = [*received, self.shot(parameter.grad)]

            return [
                node.register_prehook(lambda g: guarded(before, g)),
                leaf.register_post_accumulate_grad_hook(lambda p: guarded(after, p)),
            ]
        return [
            node.register_prehook(lambda g: guarded(add, "receives", number, g)),
            node.register_hook(lambda sent, _: guarded(add, "sends", number, sent)),
        ]

    def _end(self, result: Any) -> None:
        given = result if isinstance(result, tuple) else ()
        self._add("ends", gradients=given)
