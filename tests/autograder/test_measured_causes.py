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
    (
        "Checkpoint",
        "the tensors come first",
    ): "fn gets (args[0], args[2], args[4], 1.5, True, 'mode')",
    ("hvp", "the weight is x"): "the gradient is multiplied by x, not by v",
    ("hvp", "x and v exchanged"): "The Hessian at v is multiplied by x",
    ("hvp", "the point is moved by v"): "The Hessian is the one at x + v",
    ("hvp", "the squared gradient"): "the gradient is multiplied by itself",
    ("hvp", "the mean for the sum"): "The mean of the products g · v",
    ("hvp", ".backward() twice"): "This is the gradient plus the product",
    ("gradient_penalty", "the 1-norm"): "the 1-norm",
    ("gradient_penalty", "no length at all"): "Each element of the gradient is compared with 1",
    ("gradient_penalty", "squared too early"): "squared before 1 is subtracted",
    ("gradient_penalty", "the mean gradient"): "averaged before the length is taken",
    ("gradient_penalty", "the worst sample"): "the largest penalty of the batch",
    ("Checkpoint", "the other arguments are"): "are left out in the recomputation",
    ("Checkpoint", "the tensors are put back from"): "the arguments stand in another order",
    ("Checkpoint", "the state is noted when"): "as with a random state that is noted when fn has",
    ("Checkpoint", "fork_rng without the saved"): "from the random state that backward finds",
    ("Checkpoint", "the seed is kept"): "begins at the seed again",
    ("Checkpoint", "the state that forward noted"): "leaves the random state of forward behind",
    ("Checkpoint", "forward puts the state back"): "forward puts the random state back",
    ("Checkpoint", "fn runs twice in forward"): "fn runs twice in forward",
    ("Checkpoint", "the refusal asks grad_output"): "refused only where grad_output requires grad",
    ("saved_bytes", "mebibytes"): "The result is in MiB",
    ("saved_bytes", "kibibytes"): "The result is in KiB, rounded down",
    (
        "saved_bytes",
        "every tensor is made",
    ): "An argument that requires no grad was made to require it",
    ("saved_bytes", "the arguments are detached"): "comes to f without",
    ("saved_bytes", "the star is forgotten"): "it is called as f(args)",
    ("saved_bytes", "the largest storage"): "Only the largest storage is counted",
    ("saved_bytes", "the result is counted"): "The result of f is counted as well",
    ("saved_bytes", "the hooks are made"): "No saved-tensor hooks are on while f runs",
    ("saved_bytes", "under no_grad"): "f runs with grad mode off",
    ("saved_bytes", "what requires no grad"): "Tensors that require no grad are left out",
    ("saved_bytes", "leaves are left out"): "Leaves are left out",
    ("saved_bytes", "counted in unpack"): "A backward runs inside",
    ("saved_bytes", "pack returns the tensor itself"): "pack returns the tensor itself",
    ("saved_bytes", "a global list keeps"): "something that outlives the call holds",
    ("save_in_bfloat16", "half in place of"): "The intermediates are kept as float16",
    ("save_in_bfloat16", "unpack makes float64"): "unpack gives back float64",
    ("save_in_bfloat16", "a flat copy"): "a tensor of shape (2000,), where one of shape (50, 40)",
    ("save_in_bfloat16", "a list keeps the copies"): "a copy of it stays",
    ("save_in_bfloat16", "rounded and made float32"): "are rounded, but kept as float32",
    ("save_in_bfloat16", "the default dtype"): "No saved-tensor hook is on inside the block",
    ("save_in_bfloat16", "autocast in place"): "autocast changes in which dtype forward computes",
    ("save_in_bfloat16", "untouched tensors"): "pack returns a float64 result as it is",
    ("save_in_bfloat16", "what was bfloat16 all along"): "all along comes back from unpack as",
    ("checkpoint_sequential", "every segment starts from the first x"): "layer 3 gets x, not",
}


@pytest.mark.parametrize(("exercise", "why"), SAID)
def test_the_first_sentence_says_what_was_measured(exercise, why):
    (answer,) = (
        a for a in answers() if a.exercise == exercise and not a.right and a.what.startswith(why)
    )
    report = evaluate(answer.load(), exercise=exercise, hidden=True, seed=1)
    assert SAID[exercise, why] in report.headline
