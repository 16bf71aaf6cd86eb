"""Runs the learner's code and puts everything it may have changed back as it was."""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import linecache
import operator
import os
import signal
import tempfile
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.contract.differentiation import draws_kept
from autograder.contract.ending import Interrupted, a_call
from autograder.observation.observation import Failure
from autograder.running.function_classes import OWN, TORCH, instead_of_backward

# Modules whose functions a submission could replace so that a reference goes wrong with it.
_GUARDED = (torch, torch.Tensor, torch.autograd, torch.nn.functional, torch.autograd.Function)
_NOT_THEIRS = (OWN, TORCH, "<frozen")


@dataclass
class Contained:
    """What a contained block printed and left changed."""

    printed: str = ""
    changed: list[str] = field(default_factory=list)
    interrupted: bool = False


@contextlib.contextmanager
def contained(capture: bool = True) -> Iterator[Contained]:
    """Restore default dtype, grad mode, random state, threads and torch's own functions afterwards.

    Prints are captured (cut to 2,000 characters) and nothing reaches stderr, neither Python's nor the
    file descriptor's: nbgrader gives a test cell that wrote to stderr no points. Backward passes that
    start one another without end get a RecursionError. What ``torch.empty`` gives is NaN.
    """
    seen = Contained()
    with contextlib.ExitStack() as stack:
        stack.enter_context(nesting_limited())
        stack.callback(gc.set_threshold, *(collecting := gc.get_threshold()))
        gc.set_threshold(*collecting[:2], 10**9)  # a look at all there is takes 0.1 s and more
        stack.enter_context(_names_restored(seen))
        stack.enter_context(_memory_filled())
        stack.enter_context(_state_restored(seen))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if capture:
            out = io.StringIO()
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(out))
            stack.enter_context(_quiet_stderr())
        stack.enter_context(_interrupts(seen))
        try:
            yield seen
        finally:
            if capture:
                seen.printed = out.getvalue()[:2000]


def saving_hooks() -> Any:
    """The innermost hooks on saved tensors; None where there are none."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False)


def put_saving_hooks(before: Any) -> int:
    """Take off the hooks on saved tensors that came after these; gives how many there were."""
    count = 0
    while saving_hooks() not in (None, before):
        torch._C._autograd._pop_saved_tensors_default_hooks()
        count += 1
    return count


@contextlib.contextmanager
def _memory_filled() -> Iterator[None]:
    """Have torch fill new memory with NaN: what lay there before could be zeros, or what is right."""
    before = torch.are_deterministic_algorithms_enabled()
    only_warned = torch.is_deterministic_algorithms_warn_only_enabled()
    _set_deterministic(True, warn_only=True)
    try:
        yield
    finally:
        _set_deterministic(before, warn_only=only_warned)


def _set_deterministic(on: bool, warn_only: bool = True) -> None:
    """As ``torch.use_deterministic_algorithms``, which reads in the compiler for a second."""
    torch._C._set_deterministic_algorithms(on, warn_only=warn_only)


# What a submission may leave changed: how it is read, and how it is set.
_STATE: tuple[tuple[str, Callable[[], Any], Callable[[Any], Any]], ...] = (
    ("the default dtype", torch.get_default_dtype, torch.set_default_dtype),
    ("the grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
    ("the number of threads", torch.get_num_threads, torch.set_num_threads),
    ("deterministic mode", torch.are_deterministic_algorithms_enabled, _set_deterministic),
    ("anomaly mode", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    ("the hooks on saved tensors", saving_hooks, put_saving_hooks),
)  # fmt: skip


@contextlib.contextmanager
def _state_restored(seen: Contained) -> Iterator[None]:
    """Put the state back; notes what a submission had left changed."""
    before, directory = [read() for _, read, _ in _STATE], _directory()
    try:
        with draws_kept():
            yield
    finally:
        for (what, read, put), value in zip(_STATE, before, strict=True):
            if read() != value:
                put(value)
                seen.changed.append(what)
        with contextlib.suppress(OSError):  # it may be gone
            os.chdir(directory)


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


@contextlib.contextmanager
def _names_restored(seen: Contained) -> Iterator[None]:
    before = {owner: dict(vars(owner)) for owner in _GUARDED}
    try:
        yield
    finally:
        for owner, names in before.items():
            seen.changed += _restore_names(owner, names)


def _restore_names(owner: Any, names: dict[str, Any]) -> list[str]:
    """Undo replaced attributes of torch. Attributes that torch itself adds lazily are left alone."""
    title = getattr(owner, "__name__", str(owner))
    title = {"Tensor": "torch.Tensor", "Function": "torch.autograd.Function"}.get(title, title)
    changed = []
    current = vars(owner)
    others = map(operator.is_not, map(current.get, names), names.values())
    for name in [*itertools.compress(names, others)]:
        now, value = current.get(name), names[name]
        if not callable(value) or isinstance(value, types.ModuleType):
            continue
        if not _is_torchs_own(now):
            with contextlib.suppress(Exception):
                setattr(owner, name, value)
                changed.append(f"{title}.{name}")
    return changed


def _is_torchs_own(value: Any) -> bool:
    """Whether torch itself put the new value there (it replaces some functions when first used)."""
    code = getattr(getattr(value, "__func__", value), "__code__", None)
    return code is not None and code.co_filename.startswith(TORCH)


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Send the descriptor of stderr to a temporary file for a while (C++ code writes past sys.stderr)."""
    try:
        saved = os.dup(2)
    except OSError:  # a closed descriptor has nothing to keep quiet
        yield
        return
    with tempfile.TemporaryFile() as sink:
        try:
            os.dup2(sink.fileno(), 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


@contextlib.contextmanager
def _interrupts(seen: Contained) -> Iterator[None]:
    """Tell a person's interrupt from a KeyboardInterrupt that the submission raises itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(signum: int, frame: Any) -> None:
        seen.interrupted = True
        raise Interrupted

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # A submission may have put its own handler there; ours is replaced either way.
        signal.signal(signal.SIGINT, previous if previous is not None else signal.SIG_DFL)


def failure_from(error: BaseException, stage: str, files: frozenset[str]) -> Failure:
    """Turn an exception into plain data: the learner's own last line, the original message, cut.

    files  the files (or notebook cells) in which the submission's functions are defined
    """
    if type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__  # Triton's interpreter wraps what a kernel raises
    whole = itertools.islice(traceback.walk_tb(error.__traceback__), 5000)
    frames = [(frame.f_code, number) for frame, number in whole]
    mine = [f for f in frames if f[0].co_filename in files]
    own = bool(mine)
    if not mine:
        mine = [f for f in frames if not f[0].co_filename.startswith(_NOT_THEIRS)]
        mine = [f for f in mine if "site-packages" not in f[0].co_filename][-1:]
    line, source, function = None, "", ""
    if mine:
        code, line = mine[-1]
        source = linecache.getline(code.co_filename, line).strip()
        function = code.co_name
    message = _text(error)
    return Failure(
        stage, type(error).__name__, message[:1500], line, source[:200], function, own,
        isinstance(error, RuntimeError), _refused(*frames[-1]) if frames else False,
    )  # fmt: skip


def _refused(code: types.CodeType, line: int) -> bool:
    """Whether the statement that ended it was written to do so."""
    text = linecache.getline(code.co_filename, line).strip()
    ours = code.co_filename.startswith(_NOT_THEIRS)
    return not ours and (text.startswith(("raise ", "assert")) or ": raise " in text)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception class of the learner's own may fail to print itself
        return "(the error's own message could not be read)"


DEEPEST = (
    30  # nested checkpoints need a few; a pass that leads to itself would need infinitely many
)

ENDLESS = "a backward pass starts backward passes without end"


@contextlib.contextmanager
def nesting_limited() -> Iterator[None]:
    """Raise RecursionError where more than ``DEEPEST`` backward passes run inside one another.

    A backward that differentiates a graph through its own node never comes to its end: Python's
    recursion limit does not count what the engine calls, and the process would be killed.
    """
    depth = 0

    def run(original: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        if depth >= DEEPEST:
            raise RecursionError(ENDLESS)
        depth += 1
        try:
            with a_call("backward"):
                return original(*args, **kwargs)
        finally:
            depth -= 1

    with instead_of_backward(run):
        yield
