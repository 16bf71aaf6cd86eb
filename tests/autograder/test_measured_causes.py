"""Experiments say what they measured: which layers ran, what was kept, what came back."""

import pytest

from autograder import evaluate
from tests.mistakes.gallery import answers

SAID = {
    ("checkpoint_sequential", "segments overlap"): "Layers 3 and 5 run twice: neighbouring",
    (
        "checkpoint_sequential",
        "the function of a segment returns",
    ): "One layer of each segment runs",
    ("checkpoint_sequential", "every n-th layer"): "Each segment has layers that lie 3 apart",
    ("checkpoint_sequential", "x becomes a new leaf"): "x is cut off before the first segment",
    (
        "checkpoint_sequential",
        "each segment starts from a new leaf",
    ): "each segment is cut off from",
    ("checkpoint_sequential", "the function of a segment detaches"): "ends before layer 5",
    ("checkpoint_sequential", "the result is detached"): "the result has no graph",
    ("checkpoint_sequential", "each layer of a segment has a"): "runs twice in backward",
    ("checkpoint_sequential", "rounded down"): "The size of a segment is rounded down",
    ("checkpoint_sequential", "the size is rounded up"): "The size of a segment is rounded up",
    ("checkpoint_sequential", "segments is taken for the size"): "segments is taken for the number",
    ("checkpoint_sequential", "every segment starts from the first x"): "layer 3 gets x, not",
}


@pytest.mark.parametrize(("exercise", "why"), SAID)
def test_the_first_sentence_says_what_was_measured(exercise, why):
    (answer,) = (
        a for a in answers() if a.exercise == exercise and not a.right and a.what.startswith(why)
    )
    report = evaluate(answer.load(), exercise=exercise, hidden=True, seed=1)
    assert SAID[exercise, why] in report.headline
