"""Lesson 06: what an experiment measures becomes the cause that it is."""

import pytest
import torch

from autograder import evaluate
from autograder.exercises.checkpointing.measuring import Watch, hooks_cleared
from tests.mistakes.gallery import answers, load

CAUSES = {
    ("saved_bytes", "a default argument rem"): "experiment/remembers",
    ("saved_bytes", "pack keeps no tensor"): "experiment/let-go",
    ("save_in_bfloat16", "a flat copy"): "experiment/comes-back",
    ("Checkpoint", "the graph of forward is kept"): "experiment/graph-kept",
    ("Checkpoint", "a refusal under once_diff"): "second/once",
    ("Checkpoint", "the refusal asks grad_output"): "second/by-grad-output",
    ("checkpoint_sequential", "a list keeps a copy"): "experiment/kept-besides",
}


@pytest.mark.parametrize(("exercise", "what"), CAUSES, ids=str)
def test_what_was_measured_is_the_cause(exercise, what):
    answer = next(a for a in answers() if a.exercise == exercise and a.what.startswith(what))
    report = evaluate(answer.load(), exercise=exercise, seed=1)
    assert report.findings[0].cause == CAUSES[exercise, what]


HOOKS = """
import contextlib
from torch.autograd.graph import saved_tensors_hooks
@contextlib.contextmanager
def save_in_bfloat16():
    def pack(t):
        base = t if t._base is None else t._base
        if t.dtype != torch.float32 or base.is_leaf:
            return t.detach(), False
        return t.detach().to(torch.bfloat16), True
    hooks = saved_tensors_hooks(pack, lambda kept: kept[0].float() if kept[1] else kept[0])
    hooks.__enter__()
    yield
    {after}
"""


@pytest.mark.parametrize(
    ("after", "when"),
    [("hooks.__exit__()", "after an error in the block"), ("pass", "after the block")],
)
def test_when_hooks_stay_on(after, when):
    answer = load(HOOKS.format(after=after), "save_in_bfloat16")
    found = evaluate(answer, exercise="save_in_bfloat16", seed=1).findings
    (left,) = (f for f in found if f.cause == "experiment/still-on")
    assert left.facts["when"] == when
    assert "hooks.__enter__()" in left.evidence["source"]


def test_hooks_that_are_left_on_are_counted_and_removed():
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach() * 0, lambda t: t)
    with hooks_cleared() as left:
        hooks.__enter__()
    assert left == [1]
    x = torch.ones(2, requires_grad=True)
    torch.sin(x).sum().backward()
    assert torch.equal(x.grad, torch.cos(x.detach()))


def test_what_is_left_of_a_tensor():
    watch = Watch()
    tensor = watch.over(torch.ones(3))
    assert watch.left == "itself"
    shares = tensor.detach()
    del tensor
    assert watch.left == "memory"
    del shares
    assert watch.left == ""
