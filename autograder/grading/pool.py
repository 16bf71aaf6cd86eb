"""Where the work is done: processes on this machine, or a Dask cluster, behind one interface."""

from __future__ import annotations

import atexit
import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from multiprocessing.process import current_process

from autograder.grading.folders import make_folder, sweep

_PR_SET_PDEATHSIG = 1
_WORKER = "autograder.grading.worker"


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare() -> None:
    """Begin to import what workers need, in a process of its own: meanwhile other things are read."""
    _use_folder_of_our_own()
    multiprocessing.get_context("forkserver").set_forkserver_preload([_WORKER])
    with _ctrl_c_is_ours():
        forkserver.ensure_running()


def _use_folder_of_our_own() -> None:
    """Let multiprocessing keep its sockets where what a killed process leaves is taken away."""
    settings: dict[str, object] = vars(current_process()).get("_config", {})
    if not settings.get("tempdir"):
        folder = make_folder(for_sockets=True)
        settings["tempdir"] = str(folder.path)
        atexit.register(folder.remove)


@contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Worker processes on this machine. They end with us, however we end."""
    prepare()
    context: BaseContext = multiprocessing.get_context("forkserver")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)
    try:
        yield pool
    finally:
        # An interrupted batch does not wait for what its workers are at.
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()
        sweep()  # what their boxes were built in


@contextmanager
def _ctrl_c_is_ours() -> Iterator[None]:
    """What is started within does not hear of Ctrl-C, not even while it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """A worker ends with the grader and with the process it was forked from, and leaves Ctrl-C to us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # boxes interrupt cells with it
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    threading.Thread(target=_end_with_grader, daemon=True).start()


def _end_with_grader() -> None:
    grader = multiprocessing.parent_process()
    assert grader is not None
    grader.join()
    os.kill(os.getpid(), signal.SIGKILL)
