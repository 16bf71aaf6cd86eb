"""The warm process in the box: imports once what every submission needs, then forks for each.

It never reads a byte of a submission: each child gets the socket its job comes from.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import pickle
import select
import signal
import socket
import sys
from types import ModuleType
from typing import Any

_ANSWER = """
import numpy
from torch.autograd import Function

class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output

1 / 0
"""
_FEW = 2  # jobs after which there will be many


def main(settings: dict[str, Any]) -> None:
    """Serve until the other side closes its end."""
    control = socket.socket(fileno=settings["control"])
    gc.disable()  # what is imported stays
    settings |= {"user": os.getuid(), "group": os.getgid()}  # unknown in a new namespace
    for room in (
        "",
        "/contract",
        "/grading",
        "/grading/box",
    ):  # without what they import themselves
        name = f"autograder{room}".replace("/", ".")
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [settings["package"] + room]
    experiments = warm_up(settings)
    from autograder.grading.box.inside import cells, walls

    cells.send(control, b"r", b"ready")
    gc.freeze()
    gc.enable()
    for jobs in itertools.count():
        if jobs == _FEW:  # what torch imports for torch.func and custom operators takes a second
            import torch._dynamo  # noqa: F401
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if not descriptors:
            continue  # told to end a submission that has just ended
        try:
            own = settings["walls"]["namespaces"]
            pid = walls.fork_into_namespaces() if own else os.fork()
        except OSError as error:
            os.close(descriptors[0])
            cells.send(control, b"f", f"no namespace of its own: {error.strerror}".encode())
            continue
        if pid == 0:
            _be_a_submission(descriptors[0], settings, experiments)
        os.close(descriptors[0])
        cells.send(control, b"d", str(_wait(pid, control)).encode())


def _wait(pid: int, control: socket.socket) -> int:
    """How a submission's process has ended, by itself or because we are told to end it."""
    watched = os.pidfd_open(pid)
    while True:
        ready, _, _ = select.select([watched, control.fileno()], [], [])
        if watched in ready:
            break
        if not control.recv(1):
            os._exit(0)  # nobody is left to grade for
        os.kill(pid, signal.SIGKILL)
    os.close(watched)
    return os.waitpid(pid, 0)[1]


def _be_a_submission(job: int, settings: dict[str, Any], experiments: dict[str, Any]) -> None:
    """Everything a child does; never returns."""
    status = 1
    try:
        from autograder.grading.box.inside import cells

        to = socket.socket(fileno=job)
        try:
            _put_up_walls(job, settings)
        except Exception as error:  # then nothing of the submission is read at all
            cells.send(to, cells.NO_WALL, f"{type(error).__name__}: {error}".encode())
            os._exit(2)
        cells.send(to, cells.READY)
        cells.take_steps(to, settings["limits"], experiments)
        status = 0
    finally:
        os._exit(status)


def _put_up_walls(job: int, settings: dict[str, Any]) -> None:
    from autograder.grading.box.inside import walls

    up, limits = settings["walls"], settings["limits"]
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, job)
    os.closerange(job + 1, 4096)
    os.setsid()
    if up["namespaces"]:
        walls.become_user(settings["user"], settings["group"])
    if up["limits"]:
        walls.limit(limits, settings["device"])
    if up["namespaces"]:
        walls.own_file_system(settings["work"], int(limits["disk"]), int(limits["files"]))
        walls.drop_capabilities()
    if up["landlock"]:
        gpu = ["/dev"] if settings["device"] != "cpu" else []
        walls.restrict_files([settings["work"], *gpu])
    if up["seccomp"]:
        walls.no_new_privileges()
        walls.install_filter()


def _set_of_tensor(tensor: Any, name: str, value: Any) -> None:
    """A tensor's own methods tell what it is: none of them is replaced."""
    if not name.startswith("__") and callable(getattr(type(tensor), name, None)):
        raise AttributeError(f"{name} is a method of every tensor", name=name, obj=tensor)
    object.__setattr__(tensor, name, value)


def warm_up(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Import what submissions import and answer a few questions, so that no child has to wait."""
    import torch

    torch.set_num_threads(1)
    torch.Tensor.__setattr__ = _set_of_tensor  # type: ignore[method-assign]
    from autograder.running.program import Piece, new_space, run

    space = new_space()
    run([Piece("an answer, and what a failing cell needs is imported, too", _ANSWER)], space)
    from autograder.contract.functions import FUNCTIONS

    with open(settings["given"], "rb") as file:
        experiments, functions, questions = pickle.load(file)
    FUNCTIONS.update(functions)
    if settings["device"] == "cpu":  # a process that has run backward with a GPU cannot be forked
        from autograder.observation.observation import Question
        from autograder.observation.packing import from_bytes, to_bytes
        from autograder.running.probe import probe

        asked = from_bytes(questions, expect=list[Question])
        to_bytes(probe(space["Square"], asked, {}))
    return dict(experiments)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
