"""The processes that grade: on this machine, or a cluster of machines."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from multiprocessing.process import current_process
from pathlib import Path
from typing import Any

import autograder
from autograder.grading.box.outer_wall import make_folder, sweep
from autograder.grading.words import Trouble

_PR_SET_PDEATHSIG = 1
_PRELOADED = ["autograder.grading.worker"]


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare() -> None:
    """Begin to import what workers need, in a process of its own: meanwhile other things are read."""
    _use_folder_of_our_own()
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOADED)
    resource_tracker.ensure_running()  # it unblocks signals where it has to be started
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
def local_pool(workers: int, begun: str = "forkserver") -> Iterator[tuple[Executor, int]]:
    """Worker processes on this machine, and how many. They end with us, however we end.

    begun  "fork": as copies of this process; else from one that has imported what grading needs
    """
    if begun == "forkserver":
        prepare()
    context: BaseContext = multiprocessing.get_context(begun)
    workers = max(1, workers)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin)
    try:
        # A worker that starts while we stop would look for locks that are gone, and say so. Where
        # none can be started, the first task hears of it.
        with _ctrl_c_is_ours(), suppress(BrokenProcessPool, OSError, EOFError):
            for _ in range(workers):
                pool.submit(int)
        yield pool, workers
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


SECONDS_TO_ANSWER = 10


class NoCluster(Trouble):
    """The cluster cannot be reached or used; the message says what was tried."""


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """A Dask cluster's executor, and how many tasks it does at a time. Raises NoCluster."""
    client = _connect(address)
    try:
        yield client.get_executor(pure=False), _usable(client, address)
    finally:
        client.close(timeout=5)


def lost(address: str) -> NoCluster:
    """What to say where the scheduler has gone while it had work."""
    return NoCluster(
        f"The Dask scheduler at {address} is gone, or has lost what it was given. Start it again"
    )


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise NoCluster(
            "Dask is not installed here: pip install 'dask[distributed]' (the extra `cluster`)"
        ) from None
    # What it would say at length, the grader says in a sentence.
    for name in ("distributed.client", "distributed.comm", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(address, timeout=SECONDS_TO_ANSWER)
    except (OSError, TimeoutError, ValueError) as error:
        raise NoCluster(f"No Dask scheduler answers at {address}: {error}") from error


def _usable(client: Any, address: str) -> int:
    """How many tasks the workers do at a time, if all of them grade as this machine would."""
    threads: dict[str, int] = client.nthreads()
    if not threads:
        raise NoCluster(
            f"The Dask scheduler at {address} has no workers. Start some: dask worker {address}"
        )
    try:
        found: Mapping[str, Any] = client.run(what_grades, on_error="return")
    except OSError:
        raise lost(address) from None
    here = what_grades()
    for worker, there in found.items():
        if isinstance(there, BaseException):
            raise NoCluster(
                f"The course is not installed on the worker {worker} "
                f"({type(there).__name__}: {there}), or it is another version of it"
            )
        if there != here:
            raise NoCluster(
                f"The worker {worker} has {there}, and here is {here}: they could grade differently"
            )
    return sum(threads.values())


def what_grades() -> str:
    """What results depend on besides the submission and the lesson."""
    import torch

    digest = hashlib.sha256()
    package = Path(autograder.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes())
    python = ".".join(map(str, sys.version_info[:2]))
    return f"Python {python}, torch {torch.__version__}, course {digest.hexdigest()[:12]}"


def refuse_without_gpu(device: str, scheduler: str = "") -> None:
    """Raise ValueError where a GPU is asked for, and none of those who work has one."""
    if device != "cuda":
        return
    if scheduler:
        with _connect(scheduler) as client:
            there = True in client.run(_has_gpu, on_error="return").values()
    else:
        there = _has_gpu()
    if not there:
        where = f"no worker of {scheduler} has a" if scheduler else "this machine has no"
        raise ValueError(
            f"--device cuda: {where} GPU that torch can use (`autograder doctor` says more). "
            "Without --device everything is asked on the CPU."
        )


def _has_gpu() -> bool:
    from autograder.learner.environment import find_device

    return len(find_device().names) > 1
