"""The random numbers of a question: the same for the reference and for whoever answers."""

from __future__ import annotations

import contextlib
import random
import zlib
from collections.abc import Iterator

import torch

from autograder.observation.observation import Question


@contextlib.contextmanager
def same_draws(question: Question) -> Iterator[None]:
    """Random numbers drawn in the block are the same in all questions about one case: so is the verdict."""
    kept = torch.get_rng_state(), random.getstate()
    torch.default_generator.manual_seed(zlib.crc32(question.case.encode()))
    random.seed(question.case)
    try:
        yield
    finally:
        torch.set_rng_state(kept[0])
        random.setstate(kept[1])
