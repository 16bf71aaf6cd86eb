"""Records one run of ``torch.autograd.Function`` classes: what forward was given and kept, what
backward received and returned.

The learner's code is not changed. For the time of ``with record() as trace`` the classes' forward,
setup_context and backward (or vjp) are wrapped; torch looks them up on the class at each call, so a
``square = Square.apply`` made earlier is traced too. A tracer never raises into the learner's code,
restores every class, leaves gradients bit-identical and, unless asked to, keeps no tensor alive.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.calls import patched, same_parameters
from autograder.engine import COMPILED, Engine
from autograder.lineage import Cut, Lineage
from autograder.recorded import Application, Backward, Event, Node, Saved, Trace
from autograder.snapshot import (
    Snapshot,
    changed,
    in_words,
    moment,
    snapshot,
    storage_of,
    tensors_within,
    who_is,
)

__all__ = [
    "Application",
    "Backward",
    "Cut",
    "Event",
    "Node",
    "Saved",
    "Snapshot",
    "Trace",
    "functions",
    "record",
    "snapshot",
    "storage_of",
    "tensors_within",
    "who_is",
]


def functions(root: type = Function) -> Iterator[type]:
    """Every Function class that is not torch's own, depth first."""
    cls: type
    for cls in root.__subclasses__():
        if not (cls.__module__ or "").startswith("torch."):
            yield cls
        yield from functions(cls)


class _Recorder:
    """Wraps one set of classes and fills a Trace."""

    def __init__(self, trace: Trace, keep: int | None, hold: bool, details: bool, follow: bool):
        self.trace, self.keep, self.hold = trace, keep, hold
        self.details, self.follow = details, follow
        self._by_context: dict[int, tuple[Any, Application, list[Any]]] = {}

    def shot(self, value: Any) -> Any:
        return (snapshot if self.details else moment)(value, self.keep)

    def forget(self) -> None:
        """Let go of every tensor: wrappers may live on until Python's garbage collector runs."""
        self._by_context.clear()

    def guarded(self, step: Callable[..., Any], *args: Any) -> Any:
        """Run one step of the tracer; whatever goes wrong in it becomes a note."""
        try:
            return step(*args)
        except Exception as error:
            self.trace.notes.append(f"not recorded ({type(error).__name__}: {error})"[:200])
            return None

    # ---- forward ---------------------------------------------------------------------------
    def begin(self, cls: type, inputs: tuple[Any, ...], style: str) -> Application:
        application = Application(self.trace.tick(), cls, cls.__name__, style)
        application.inputs = [self.shot(v) for v in inputs]
        application.input_ids = [id(v) for v in inputs]
        self.trace.applications.append(application)
        return application

    def finish(self, app: Application, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx = getattr(ctx, "_pt_inner_ctx", ctx)  # torch.func wraps the context
        app.context = id(ctx)
        app.marked_dirty = len(getattr(ctx, "dirty_tensors", None) or ())
        app.single = not isinstance(output, tuple | list)
        outputs = (output,) if app.single else tuple(output)
        app.outputs = [self.shot(v) if self.details else None for v in outputs]
        app.inputs_changed = [
            i
            for i, (before, now) in enumerate(zip(app.inputs, inputs, strict=False))
            if isinstance(now, Tensor) and changed(before, now)
        ]
        to_save = getattr(ctx, "to_save", None) or ()
        for i, tensor in enumerate(to_save if self.details else ()):
            who = who_is(tensor, inputs, outputs) if isinstance(tensor, Tensor) else "None"
            app.saved.append(Saved(f"saved[{i}]", who, self.shot(tensor)))
        for name, value in vars(ctx).items():
            if name.startswith("_pt_") or name == "_materialize_non_diff_grads":
                continue
            found = list(tensors_within(value, f"ctx.{name}"))
            for path, tensor in found:
                who = who_is(tensor, inputs, outputs)
                app.attributes.append(Saved(path, who, self.shot(tensor)))
            if not found:
                app.plain_attributes[name] = in_words(value)
        held = list(to_save) if self.hold else []
        self._by_context[id(ctx)] = (ctx if self.hold else None, app, held)

    # ---- backward --------------------------------------------------------------------------
    def backward_begin(self, cls: type, ctx: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        ctx = getattr(ctx, "_pt_inner_ctx", ctx)
        _, app, held = self._by_context.get(id(ctx), (None, None, []))
        if app is None or app.cls is not cls:
            app = self.unknown(cls)
        call = Backward(self.trace.tick(), grad_mode=torch.is_grad_enabled())
        with contextlib.suppress(Exception):
            call.needs = tuple(ctx.needs_input_grad)
        call.received = [self.shot(g) for g in grads]
        app.backwards.append(call)
        return call, held, [self.before(t, app) for t in held], app

    def before(self, tensor: Tensor, app: Application) -> Any:
        """A saved tensor before backward: an input that forward left alone is what it was before."""
        place = app.input_ids.index(id(tensor)) if id(tensor) in app.input_ids else -1
        if place < 0 or self.keep is not None or place in app.inputs_changed:
            return moment(tensor)
        return app.inputs[place]

    def lineage_of(self, state: tuple[Any, ...] | None) -> Lineage | None:
        """What follows the tensors of a backward that autograd records; None for any other."""
        if state is None or not self.follow or not state[0].grad_mode:
            return None
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return None
        kept = {
            held.snapshot.storage: held.holder
            for held in (*state[3].saved, *state[3].attributes)
            if held.snapshot is not None and not held.who.startswith(("input", "output"))
        }
        return Lineage(kept, self.guarded)

    def unknown(self, cls: type) -> Application:
        """The application of a context that was not seen in forward."""
        waiting = [a for a in self.trace.applications if a.cls is cls and not a.backwards]
        if len(waiting) == 1:  # torch.func hands backward another context than setup_context
            self.trace.notes.append("under torch.func: forward and backward matched by order")
            return waiting[0]
        return self.begin(cls, (), "forward not recorded")

    def backward_end(self, state: tuple[Any, ...], grads: tuple[Any, ...], returned: Any) -> None:
        call, held, before, _ = state
        call.ended = self.trace.tick()
        call.returned_type = type(returned).__name__
        values = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
        call.returned = [self.shot(v) for v in values]
        for i, (old, now) in enumerate(zip(call.received, grads, strict=False)):
            if isinstance(now, Tensor) and changed(old, now):
                call.upstream_changed.append(i)
        for i, (old, now) in enumerate(zip(before, held, strict=False)):
            if isinstance(now, Tensor) and changed(old, now):
                call.saved_changed.append(i)

    # ---- wrappers --------------------------------------------------------------------------
    # What torch calls knows the recorder through another function only: Dynamo, which compiles it,
    # cannot take in the recorder. Code that is being compiled goes past it and is not recorded.
    def wrap_forward(self, cls: type, user: Callable[..., Any], own_setup: bool) -> Any:
        def recorded(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            inputs = (args if own_setup else args[1:]) + tuple(kwargs.values())
            style = "setup_context" if own_setup else "forward(ctx, …)"
            app = self.guarded(self.begin, cls, inputs, style)
            try:
                output = user(*args, **kwargs)
            except BaseException as error:
                if app is not None:
                    app.error = f"{type(error).__name__}: {error}"
                raise
            if app is not None and not own_setup and args:
                self.guarded(self.finish, app, args[0], inputs, output)
            return output

        @functools.wraps(user)
        def forward(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_dynamo_compiling():
                return user(*args, **kwargs)
            return recorded(args, kwargs)

        return staticmethod(same_parameters(user, forward))

    def wrap_setup(self, cls: type, user: Callable[..., Any]) -> Any:
        def recorded(ctx: Any, inputs: Any, output: Any) -> Any:
            result = user(ctx, inputs, output)
            mine = [a for a in self.trace.applications if a.cls is cls and not a.outputs]
            if mine:
                self.guarded(self.finish, mine[-1], ctx, tuple(inputs), output)
            return result

        @functools.wraps(user)
        def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
            if torch.compiler.is_dynamo_compiling():
                return user(ctx, inputs, output)
            return recorded(ctx, inputs, output)

        return staticmethod(setup_context)

    def wrap_backward(self, cls: type, user: Callable[..., Any]) -> Any:
        def recorded(ctx: Any, grads: tuple[Any, ...]) -> Any:
            received = grads
            if getattr(cls, "boxed_grads_call", False) and grads:
                received = tuple(grads[0])
            state = self.guarded(self.backward_begin, cls, ctx, received)
            lineage = self.guarded(self.lineage_of, state)
            try:
                with lineage or contextlib.nullcontext():
                    returned = user(ctx, *grads)
            except BaseException as error:
                if state is not None:
                    state[0].error = f"{type(error).__name__}: {error}"
                raise
            if state is not None:
                self.guarded(self.backward_end, state, received, returned)
            if lineage is not None:
                state[0].cuts = self.guarded(lineage.finish, returned) or []
            return returned

        @functools.wraps(user)
        def backward(ctx: Any, *grads: Any) -> Any:
            if torch.compiler.is_dynamo_compiling():
                return user(ctx, *grads)
            return recorded(ctx, grads)

        return staticmethod(backward)


@contextlib.contextmanager
def record(
    *classes: type, keep: int | None = 12, hold: bool = False, details: bool = True,
    engine: bool = False,
) -> Iterator[Trace]:  # fmt: skip
    """Record every application of ``classes`` (default: every Function there is) in the block.

    keep    values kept of each tensor; None keeps full copies
    hold    keep the saved tensors alive, so that writes to them in backward are seen
    details False: without the outputs and the saved tensors, which takes two thirds of the time
    engine  record what autograd's engine does too: order of nodes, gradients, leaves
    """
    trace = Trace()
    recorder = _Recorder(trace, keep, hold, details, engine)
    nothing: AbstractContextManager[Any] = contextlib.nullcontext()
    patches: list[tuple[type, str, Any]] = []
    for cls in dict.fromkeys(classes or functions()):
        own_setup = cls.setup_context is not Function.setup_context  # type: ignore[attr-defined]
        patches.append((cls, "forward", recorder.wrap_forward(cls, cls.forward, own_setup)))  # type: ignore[attr-defined]
        if own_setup:
            patches.append((cls, "setup_context", recorder.wrap_setup(cls, cls.setup_context)))  # type: ignore[attr-defined]
        for name in ("backward", "vjp"):
            user = getattr(cls, name)
            if user is not getattr(Function, name):
                patches.append((cls, name, recorder.wrap_backward(cls, user)))
    watched = Engine(trace, recorder.shot, recorder.guarded).watched() if engine else nothing
    before = _compilations()
    try:
        with patched(patches), watched:
            yield trace
    finally:
        recorder.forget()
        if _compilations() > before and COMPILED not in trace.notes:
            trace.notes.append(COMPILED)


def _compilations() -> int:
    """How many functions torch.compile has compiled so far; wrapped classes are compiled anew."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return 0 if dynamo is None else dynamo.counters["stats"]["unique_graphs"]
