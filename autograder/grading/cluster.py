"""A Dask cluster as a place where the work is done. Submissions travel to it as bytes."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import autograder

SECONDS_TO_ANSWER = 10


class NoCluster(RuntimeError):
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
