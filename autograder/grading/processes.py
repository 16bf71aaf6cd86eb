"""The processes that grade: on this machine, or a cluster of machines."""

from __future__ import annotations

import gc
import hashlib
import logging
import multiprocessing
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import autograder
from autograder.grading.box.inside.walls import address_space
from autograder.grading.words import Trouble


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_pool(workers: int) -> Iterator[tuple[Executor, int]]:
    """Worker processes on this machine, and how many. They end with us, however we end.

    They are copies of this process: what it has imported they share, and nobody's collector looks at it again.
    """
    workers = max(1, workers)
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), initializer=_begin)
    try:
        # Where none can be started, the first task hears of it.
        with _signals_wait(), suppress(BrokenProcessPool, OSError):
            gc.freeze()
            pool.submit(int)
        gc.unfreeze()
        yield pool, workers
    finally:
        # An interrupted batch does not wait for what its workers are at.
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.kill()
        pool.shutdown(cancel_futures=True)


_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@contextmanager
def _signals_wait() -> Iterator[None]:
    """What is started within hears of none until it says what to do with it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """A worker ends with the grader, and leaves Ctrl-C to it."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)  # boxes interrupt cells
    threading.Thread(target=_end_with_grader, daemon=True).start()


def _end_with_grader() -> None:
    grader = multiprocessing.parent_process()
    assert grader is not None
    grader.join()
    os.kill(os.getpid(), signal.SIGKILL)


SECONDS_TO_ANSWER = 10


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """A Dask cluster's executor, and how many tasks it does at a time. Raises Trouble."""
    client = _connect(address)
    try:
        yield client.get_executor(pure=False), _usable(client, address)
    finally:
        client.close(timeout=5)


def lost(address: str) -> Trouble:
    """What to say where the scheduler has gone while it had work."""
    return Trouble(
        f"The Dask scheduler at {address} is gone, or has lost what it was given. Start it again"
    )


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        raise Trouble(
            "Dask is not installed here: pip install 'dask[distributed]' (the extra `cluster`)"
        ) from None
    # What it would say at length, the grader says in a sentence.
    for name in (
        "distributed.batched",
        "distributed.client",
        "distributed.comm",
        "distributed.core",
    ):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(address, timeout=SECONDS_TO_ANSWER)
    except (OSError, TimeoutError, ValueError) as error:
        raise Trouble(f"No Dask scheduler answers at {address}: {error}") from error


def _usable(client: Any, address: str) -> int:
    """How many tasks the workers do at a time, if all of them grade as this machine would."""
    threads: dict[str, int] = client.nthreads()
    if not threads:
        raise Trouble(
            f"The Dask scheduler at {address} has no workers. Start some: dask worker {address}"
        )
    try:
        found: Mapping[str, Any] = client.run(what_grades, on_error="return")
    except OSError:
        raise lost(address) from None
    here = what_grades()
    for worker, there in found.items():
        if isinstance(there, BaseException):
            raise Trouble(
                f"The course is not installed on the worker {worker} "
                f"({type(there).__name__}: {there}), or it is another version of it"
            )
        if there != here:
            raise Trouble(
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
    else:  # a process that has used the GPU could not be forked
        with local_pool(1) as (executor, _):
            there = executor.submit(_has_gpu).result()
    if not there:
        where = f"no worker of {scheduler} has a" if scheduler else "this machine has no"
        raise ValueError(
            f"--device cuda: {where} GPU that torch can use (`autograder doctor` says more). "
            "Without --device everything is asked on the CPU."
        )


def _has_gpu() -> bool:
    from autograder.learner.environment import find_device

    return len(find_device().names) > 1


# ---- what each may take of time and memory: bounds for what meets a submission's text outside of the box

MIB = 2**20
SECONDS, MEMORY = 60.0, 3072 * MIB  # far above what the largest honest notebook takes


class TooMuch(BaseException):
    """What is done with a submission takes too long or too much memory.

    No Exception: whatever is caught on the way, this goes through.
    """


@contextmanager
def bounded(seconds: float = SECONDS, memory: int | None = MEMORY) -> Iterator[None]:
    """Raises TooMuch, with how much it was in words, for what takes more than that."""

    def stop(*_: object) -> None:
        raise TooMuch(f"more than {seconds:g} s")

    before = resource.getrlimit(resource.RLIMIT_AS)
    hears = threading.current_thread() is threading.main_thread()
    # What does not hear of the end of its time ends with its process.
    signal.setitimer(signal.ITIMER_PROF, 2 * seconds)
    if hears:
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    if memory is not None and sys.platform == "linux":
        most = address_space() + memory
        if before[0] == resource.RLIM_INFINITY or before[0] > most:
            resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    except MemoryError as error:
        raise TooMuch(f"more than {(memory or 0) // MIB} MiB of memory") from error
    finally:
        if hears:
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
