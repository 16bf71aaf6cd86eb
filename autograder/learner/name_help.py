"""In a notebook, one sentence in place of a traceback where an exercise is not written yet.

These errors get one, and they stay errors: what a stub raises; a NameError for an exercise whose cell
has not run, or for what a cell was to make that one of these stopped; what is looked up in that and not
there. All others keep their traceback.
"""

from __future__ import annotations

import contextlib
import difflib
import dis
import linecache
import re
import traceback
from types import CodeType, FrameType, TracebackType
from typing import Any

from autograder.contract.friendly_error import in_lines, running_shell
from autograder.exercises import is_exercise

_STUB = re.compile(r"\s*raise NotImplementedError(\(\))?\s*(#.*)?$")


class NameHelp:
    """Finds the sentence for an error, and remembers what the cells that stopped have not made."""

    def __init__(self, namespace: dict[str, Any]):
        self._namespace = namespace
        self._unfinished: dict[str, str] = {}  # by variable the exercise that was not written

    def sentence(self, error: BaseException, trace: TracebackType | None) -> str | None:
        """What to show in place of the traceback of a cell's error; None where that is to be shown."""
        frames = list(traceback.walk_tb(trace))
        if not frames:
            return None
        last, line = frames[-1]
        found = self._about_an_exercise(error, last, line) or self._about_a_variable(error, last)
        if found is None:
            return None
        sentence, exercise = found
        for frame, _ in frames:
            if frame.f_globals is self._namespace and frame.f_code.co_name == "<module>":
                cell = compile(_source(frame.f_code), "<cell>", "exec")
                stored = (s.argval for s in dis.get_instructions(cell) if s.opname == "STORE_NAME")
                self._unfinished |= dict.fromkeys(stored, exercise)
        return sentence

    def _about_an_exercise(
        self, error: BaseException, frame: FrameType, line: int
    ) -> tuple[str, str] | None:
        """The sentence and the exercise that is not written, or not there."""
        name = str(error.name) if isinstance(error, NameError) else ""
        if is_exercise(name):
            if alike := self._alike(name):
                return (
                    f"There is no {name} here. Did you mean {alike}? Call it {name}, run its cell, "
                    "then run this one again."
                ), name
            return (
                f"{name} is not there yet: run the cell above first (the one with `class {name}` or "
                f"`def {name}`), then this one again."
            ), name
        if (stub := _stub(error, frame, line)) is None:
            return None
        exercise, method = stub
        return (
            f"{exercise} is not written yet: {f'its {method}' if method else 'it'} still raises "
            "NotImplementedError. Write it and run its cell, then run this cell again."
        ), exercise

    def _alike(self, name: str) -> str:
        """What the notebook's cells define under almost the name of an exercise; "" for nothing."""
        defined = [n for n, value in self._namespace.items() if callable(value) and n[:1] != "_"]
        folded = {n.lower(): n for n in defined if not is_exercise(n)}
        close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.85)
        return folded[close[0]] if close else ""

    def _about_a_variable(self, error: BaseException, frame: FrameType) -> tuple[str, str] | None:
        """The same for a variable that a stopped cell has not made."""
        names = [str(error.name)] if isinstance(error, NameError) else [*frame.f_code.co_names]
        if isinstance(error, IndexError):  # of a name that an earlier cell gave to something else
            names = [each for each in names if each not in self._namespace]
        name = next((each for each in names if each in self._unfinished), "")
        mine = frame.f_globals is self._namespace and not is_exercise(_place(frame.f_code)[0])
        if not mine or not isinstance(error, NameError | LookupError) or not name:
            return None
        exercise = self._unfinished[name]
        return (
            f"`{name}` is not ready yet: the cell that makes it stopped, because {exercise} was not "
            "written. Once it is, run that cell again, then this one."
        ), exercise


_installed: NameHelp | None = None


def install_name_help() -> None:
    """Show NameHelp's sentences in this notebook; nothing happens where this is no notebook."""
    global _installed
    shell = running_shell()
    if shell is None or _installed is not None:
        return
    _installed = NameHelp(shell.user_ns)
    show_in(shell, _installed)


def show_in(shell: Any, names: NameHelp) -> None:
    """Let an IPython shell ask for a sentence when a cell ends in one of the errors."""

    def friendly(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> None:
        with contextlib.suppress(Exception):  # whatever happens here, the learner's error is shown
            sentence = names.sentence(error, trace)
            if sentence is not None:
                error._render_traceback_ = lambda: in_lines(sentence)
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

    shell.set_custom_exc((NameError, LookupError, NotImplementedError), friendly)


def unwritten(error: BaseException) -> str:
    """The exercise whose stub raised an error; "" for any other error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    stub = _stub(error, *frames[-1]) if frames else None
    return stub[0] if stub else ""


def _stub(error: BaseException, frame: FrameType, line: int) -> tuple[str, str] | None:
    """The exercise and the method whose stub raises an error in this line."""
    written = _source(frame.f_code).split("\n")[line - 1 : line]
    if not isinstance(error, NotImplementedError) or not any(map(_STUB.match, written)):
        return None
    exercise, method = _place(frame.f_code)
    return (exercise, method) if is_exercise(exercise) else None


# ---- reading cells -------------------------------------------------------------------------


def _source(code: CodeType) -> str:
    return "".join(linecache.getlines(code.co_filename))


def _place(code: CodeType) -> tuple[str, str]:
    """("Square", "forward") for a method, ("hvp", "") for a function and all that is defined in it."""
    name, _, rest = code.co_qualname.partition(".")
    return name, "" if rest.startswith("<") else rest.partition(".")[0]
