"""Runs the learner's code and puts everything it may have changed back as it was."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import random
import signal
import tempfile
import threading
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.calls import codes_of
from autograder.observation import Failure
from autograder.reentry import nesting_limited

_OWN = os.path.dirname(os.path.abspath(__file__))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
# Modules whose functions a submission could replace so that a reference goes wrong with it.
_GUARDED = (torch, torch.Tensor, torch.autograd, torch.nn.functional, torch.autograd.Function)


@dataclass
class Contained:
    """What a contained block printed and left changed."""

    printed: str = ""
    changed: list[str] = field(default_factory=list)
    interrupted: bool = False


def _namespace(owner: Any) -> dict[str, Any]:
    return dict(vars(owner))


@contextlib.contextmanager
def contained(capture: bool = True) -> Iterator[Contained]:
    """Restore default dtype, grad mode, random state, threads and torch's own functions afterwards.

    Prints are captured (cut to 2,000 characters) and nothing reaches stderr, neither Python's nor the
    file descriptor's: nbgrader gives a test cell that wrote to stderr no points. Backward passes that
    start one another without end get a RecursionError.
    """
    seen = Contained()
    with contextlib.ExitStack() as stack:
        stack.enter_context(nesting_limited())
        before = {owner: _namespace(owner) for owner in _GUARDED}
        state = _State.read()
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        if capture:
            out = io.StringIO()
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(out))
            stack.enter_context(_quiet_descriptor(2))
        stack.enter_context(_interrupts(seen))
        try:
            yield seen
        finally:
            seen.changed = state.restore()
            for owner, names in before.items():
                seen.changed += _restore_names(owner, names)
            if capture:
                seen.printed = out.getvalue()[:2000]


@dataclass
class _State:
    dtype: torch.dtype
    grad: bool
    threads: int
    random_torch: torch.Tensor
    random_python: Any
    deterministic: bool
    anomaly: bool
    directory: str | None

    @classmethod
    def read(cls) -> _State:
        try:
            directory = os.getcwd()
        except OSError:
            directory = None
        return cls(
            torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads(),
            torch.get_rng_state(), random.getstate(),
            torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(), directory,
        )  # fmt: skip

    def restore(self) -> list[str]:
        """Put the state back; names of what a submission had left changed."""
        changed = []
        if torch.get_default_dtype() != self.dtype:
            torch.set_default_dtype(self.dtype)
            changed.append("the default dtype")
        if torch.is_grad_enabled() != self.grad:
            torch.set_grad_enabled(self.grad)
            changed.append("the grad mode")
        if torch.get_num_threads() != self.threads:
            torch.set_num_threads(self.threads)
            changed.append("the number of threads")
        if torch.are_deterministic_algorithms_enabled() != self.deterministic:
            torch.use_deterministic_algorithms(self.deterministic)
            changed.append("deterministic mode")
        if torch.is_anomaly_enabled() != self.anomaly:
            torch.autograd.set_detect_anomaly(self.anomaly)
            changed.append("anomaly mode")
        # The probe itself draws no random numbers, so this only undoes what the learner's code drew.
        torch.set_rng_state(self.random_torch)
        random.setstate(self.random_python)
        with contextlib.suppress(OSError):
            if self.directory and os.getcwd() != self.directory:
                os.chdir(self.directory)
        return changed


def _restore_names(owner: Any, names: dict[str, Any]) -> list[str]:
    """Undo replaced attributes of torch. Attributes that torch itself adds lazily are left alone."""
    title = getattr(owner, "__name__", str(owner))
    title = {"Tensor": "torch.Tensor", "Function": "torch.autograd.Function"}.get(title, title)
    changed = []
    current = vars(owner)
    for name in [name for name, value in names.items() if current.get(name) is not value]:
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
    return code is not None and code.co_filename.startswith(_TORCH)


@contextlib.contextmanager
def _quiet_descriptor(number: int) -> Iterator[None]:
    """Send a file descriptor to a temporary file for a while (C++ code writes past sys.stderr)."""
    try:
        saved = os.dup(number)
    except OSError:  # a closed descriptor has nothing to keep quiet
        yield
        return
    with tempfile.TemporaryFile() as sink:
        try:
            os.dup2(sink.fileno(), number)
            yield
        finally:
            os.dup2(saved, number)
            os.close(saved)


@contextlib.contextmanager
def _interrupts(seen: Contained) -> Iterator[None]:
    """Tell a person's interrupt from a KeyboardInterrupt that the submission raises itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(signum: int, frame: Any) -> None:
        seen.interrupted = True
        raise KeyboardInterrupt

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
    frames: list[tuple[types.CodeType, int]] = []
    trace = error.__traceback__
    while trace is not None and len(frames) < 5000:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    mine = [f for f in frames if f[0].co_filename in files]
    if not mine:
        mine = [f for f in frames if not f[0].co_filename.startswith((_OWN, _TORCH, "<frozen"))]
        mine = [f for f in mine if "site-packages" not in f[0].co_filename][-1:]
        own = False
    else:
        own = True
    line, source, function = None, "", ""
    if mine:
        code, line = mine[-1]
        source = linecache.getline(code.co_filename, line).strip()
        function = code.co_name
    message = _text(error)
    return Failure(
        stage, type(error).__name__, message[:1500], line, source[:200], function, own,
        isinstance(error, RuntimeError), len(frames),
    )  # fmt: skip


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception class of the learner's own may fail to print itself
        return "(the error's own message could not be read)"


def files_of(submission: Any) -> frozenset[str]:
    """The files in which a submission's functions are written."""
    found = set()
    candidates = [submission]
    if isinstance(submission, type):
        for base in submission.__mro__:
            if not (base.__module__ or "").startswith("torch"):
                candidates += list(vars(base).values())
    for value in candidates:
        found |= {code.co_filename for code in codes_of(value)}
    return frozenset(f for f in found if not f.startswith((_TORCH, _OWN)))
