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
import inspect
import sys
import types
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograder.observation.snapshot import (
    changed,
    in_words,
    moment,
    storage_of,
    tensors_within,
    who_is,
)
from autograder.running.function_classes import backwards_of, functions, of_operator, patched
from widgets.engine import COMPILED, Engine
from widgets.lineage import (
    Application,
    Backward,
    Cut,
    Event,
    Lineage,
    Node,
    Saved,
    Snapshot,
    Trace,
    snapshot,
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


Steps = Generator[tuple[Application | Backward | None, Lineage | None], Any, None]


class Recorder:
    """Wraps the methods of classes, and fills a Trace."""

    def __init__(self, trace: Trace, keep: int | None, hold: bool, follow: bool) -> None:
        self.trace, self.keep, self.hold, self.follow = trace, keep, hold, follow
        self._by_context: dict[int, tuple[Any, Application, list[Any]]] = {}

    def shot(self, value: Any) -> Any:
        return snapshot(value, self.keep)

    def forget(self) -> None:
        """Let go of every tensor: wrappers may live on until Python's garbage collector runs."""
        self._by_context.clear()

    def guarded(self, step: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run one step of the tracer; whatever goes wrong in it becomes a note."""
        try:
            return step(*args, **kwargs)
        except Exception as error:
            self.trace.notes.append(f"not recorded ({type(error).__name__}: {error})"[:200])
            return None

    # ---- forward ---------------------------------------------------------------------------
    def begin(self, cls: type, inputs: tuple[Any, ...], style: str) -> Application:
        application = Application(self.trace.tick(), cls, cls.__name__, style)
        application.inputs = [self.shot(v) for v in inputs]
        self.trace.applications.append(application)
        return application

    def finish(self, app: Application, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx = getattr(ctx, "_pt_inner_ctx", ctx)  # torch.func wraps the context
        app.context = id(ctx)
        dirty = getattr(ctx, "dirty_tensors", None) or ()
        app.marked_dirty = len(dirty)
        app.single = not isinstance(output, tuple | list)
        outputs = (output,) if app.single else tuple(output)
        app.outputs = [self.shot(v) for v in outputs]
        written = changed(app.inputs, inputs)
        app.inputs_changed = [i for i in written if not any(inputs[i] is d for d in dirty)]
        to_save = getattr(ctx, "to_save", None) or ()
        for i, tensor in enumerate(to_save):
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

    def lineage_of(self, app: Application, call: Backward) -> Lineage | None:
        """What follows the tensors of a backward that autograd records; None for any other."""
        transformed = torch._C._functorch.peek_interpreter_stack() is not None
        if not self.follow or not call.grad_mode or transformed:
            return None
        kept = {
            held.snapshot.storage: held.holder
            for held in (*app.saved, *app.attributes)
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

    # ---- what is done before and after one method of the learner's -------------------------
    # Each gives what its error is noted in, and what it runs in; and is sent what it returned.
    def forward(self, cls: type, own_setup: bool, /, *args: Any, **kwargs: Any) -> Steps:
        inputs = (args if own_setup else args[1:]) + tuple(kwargs.values())
        inputs = inputs[:-1] if of_operator(cls) else inputs
        app = self.begin(cls, inputs, "setup_context" if own_setup else "forward(ctx, …)")
        output = yield app, None
        if not own_setup and args:
            self.finish(app, args[0], inputs, output)

    def setup_context(self, cls: type, ctx: Any, inputs: Any, output: Any) -> Steps:
        yield None, None
        mine = [a for a in self.trace.applications if a.cls is cls and not a.outputs]
        if mine:
            self.finish(mine[-1], ctx, tuple(inputs), output)

    def backward(self, cls: type, ctx: Any, *grads: Any) -> Steps:
        if getattr(cls, "boxed_grads_call", False) and grads:
            grads = tuple(grads[0])
        ctx = getattr(ctx, "_pt_inner_ctx", ctx)
        _, app, held = self._by_context.get(id(ctx), (None, None, []))
        if app is None or app.cls is not cls:
            app = self.unknown(cls)
        call = Backward(self.trace.tick(), grad_mode=torch.is_grad_enabled())
        with contextlib.suppress(Exception):
            call.needs = tuple(ctx.needs_input_grad)
        call.received = [self.shot(g) for g in grads]
        app.backwards.append(call)
        before = list(map(moment, held))
        lineage = self.lineage_of(app, call)
        returned = yield call, lineage
        call.ended = self.trace.tick()
        call.returned_type = type(returned).__name__
        values = tuple(returned) if isinstance(returned, tuple | list) else (returned,)
        call.returned = [self.shot(v) for v in values]
        call.upstream_changed = changed(call.received, grads)
        call.saved_changed = changed(before, held)
        if lineage is not None:
            call.cuts = lineage.finish(returned)

    def patches(self, cls: Any) -> Iterator[tuple[Any, str, Any]]:
        """The methods of a class as they are recorded (``patched``)."""
        own_setup = cls.setup_context is not Function.setup_context
        methods = [(cls, "forward", partial(self.forward, cls, own_setup), cls.forward)]
        if own_setup:
            setup = partial(self.setup_context, cls)
            methods.append((cls, "setup_context", setup, cls.setup_context))
        backward = partial(self.backward, cls)
        for holder, name, steps, user in (
            *methods,
            *((held, n, backward, user) for held, n, user in backwards_of([cls])),
        ):
            made = self.wrapped(user, steps)
            yield (
                holder,
                name,
                staticmethod(same_parameters(user, made) if name == "forward" else made),
            )

    def wrapped(self, user: Callable[..., Any], steps: Callable[..., Steps]) -> Any:
        """A method of the learner's between these steps."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            run = steps(*args, **kwargs)
            noted, within = self.guarded(next, run) or (None, None)
            try:
                with within or contextlib.nullcontext():
                    result = user(*args, **kwargs)
            except BaseException as error:
                if noted is not None:
                    noted.error = f"{type(error).__name__}: {error}"
                raise
            self.guarded(_end, run, result)
            return result

        return _unless_compiled(user, recorded)


def _end(run: Steps, result: Any) -> None:
    """The last step; nothing where the first one went wrong."""
    try:
        run.send(result)
    except StopIteration:
        return


def _unless_compiled(user: Callable[..., Any], recorded: Callable[..., Any]) -> Callable[..., Any]:
    """What torch calls: it knows the recorder through another function only.

    Dynamo, which compiles it, cannot take in the recorder. Code that is being compiled goes past it and
    is not recorded.
    """

    @functools.wraps(user)
    def call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_dynamo_compiling():
            return user(*args, **kwargs)
        return recorded(*args, **kwargs)

    return call


def same_parameters(user: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the parameters of ``user`` that hands them on to ``call``.

    ``apply(x, scale=2.0)`` is legal since torch 2.13, which reads the names from the code of forward;
    a wrapper that takes ``*args, **kwargs`` has none.
    """
    code = getattr(user, "__code__", None)
    variable = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if code is None or code.co_kwonlyargcount or code.co_flags & variable:
        return call
    bound = inspect.ismethod(user)  # a class method has its class already
    names = code.co_varnames[bound : code.co_argcount]
    defaults = getattr(user, "__defaults__", None) or ()
    plain = len(names) - len(defaults)
    left_out = object()

    def hand_on(*values: Any) -> Any:
        # What was left out stays left out: the learner's own default holds, and inputs are counted right.
        while values and values[-1] is left_out:
            values = values[:-1]
        filled = [
            defaults[i - plain] if value is left_out else value for i, value in enumerate(values)
        ]
        return call(*filled)

    space: dict[str, Any] = {"_call": hand_on, "_left_out": left_out}
    exec(_definition(names, plain), space)
    return functools.update_wrapper(space["made"], user)


@functools.cache
def _definition(names: tuple[str, ...], plain: int) -> types.CodeType:
    """The code that defines a function of these parameters; all but the first ``plain`` have a default."""
    given = [*names[:plain], *(f"{name}=_left_out" for name in names[plain:])]
    text = f"def made({', '.join(given)}): return _call({', '.join(names)})"
    return compile(text, "<same parameters>", "exec")


@contextlib.contextmanager
def record(
    *classes: type, keep: int | None = 12, hold: bool = False, engine: bool = False
) -> Iterator[Trace]:
    """Record every application of ``classes`` (default: every Function there is) in the block.

    keep    values kept of each tensor; None keeps full copies
    hold    keep the saved tensors alive, so that writes to them in backward are seen
    engine  record what autograd's engine does too: order of nodes, gradients, leaves
    """
    trace = Trace()
    recorder = Recorder(trace, keep, hold, engine)
    nothing: AbstractContextManager[Any] = contextlib.nullcontext()
    patches = [
        each for cls in dict.fromkeys(classes or functions()) for each in recorder.patches(cls)
    ]
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
