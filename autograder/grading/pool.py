"""Where the work is done: processes on this machine, or a Dask cluster, behind one interface."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

_PR_SET_PDEATHSIG = 1


class NoCluster(RuntimeError):
    """The cluster cannot be reached; the message says what was tried."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local_pool(workers: int) -> Iterator[Executor]:
    """Worker processes on this machine. They end with us, however we end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["autograder.grading.work"])
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


def _begin() -> None:
    """A worker ends with the process that started it, and leaves Ctrl-C to the grader."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGKILL") and os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    import torch

    torch.set_num_threads(1)


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """A Dask cluster's executor, and how many tasks it does at a time. Raises NoCluster."""
    try:
        from distributed import Client
    except ImportError:
        raise NoCluster(
            "Dask is not installed here: pip install 'dask[distributed]' (the extra `cluster`)"
        ) from None
    try:
        client: Any = Client(address, timeout=30)
    except (OSError, TimeoutError, ValueError) as error:
        raise NoCluster(f"No Dask scheduler answers at {address}: {error}") from error
    try:
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise NoCluster(f"The Dask scheduler at {address} has no workers.")
        yield client.get_executor(pure=False), threads
    finally:
        client.close(timeout=5)
