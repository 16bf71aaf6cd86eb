"""save_in_bfloat16 of lesson 06, the exercise."""

from __future__ import annotations

import contextlib

from autograder.exercise import Exercise, Scenario
from autograder.exercises import bfloat16_after as after
from autograder.exercises import bfloat16_copies as copies
from autograder.exercises import bfloat16_experiments as experiments

LESSON = "06_checkpointing"

_FIRST = "it is a context manager"
_MANAGER = (f"scenario {_FIRST}",)
_RUNS = (*_MANAGER, "scenario backward gets back what it needs")
_LEAVES = "what the caller holds is not copied"
_ADDRESSES = "what was rounded is not told by its address"
_COPIES = (*_RUNS, f"scenario {_LEAVES}")

SAVE_IN_BFLOAT16 = Exercise(
    name="save_in_bfloat16",
    lesson=LESSON,
    summary="inside the block, float32 intermediates are kept for backward as bfloat16.",
    signature="()",
    reference=contextlib.nullcontext,  # what a block is without it
    cases=(),
    hints=(
        "The same hooks that measured can change what is kept. Which tensors are worth rounding: all of "
        "them, or those that live only because the graph holds them?",
        "pack: float32, not a leaf, and not a view of a leaf (tensor._is_view() and tensor._base.is_leaf) "
        "becomes bfloat16; everything else stays. Return a pair, so that unpack knows which it was.",
        "pack returns (True, t.to(torch.bfloat16)) or (False, t.detach()); unpack((rounded, t)) returns "
        "t.to(torch.float32) if rounded else t. Return saved_tensors_hooks(pack, unpack).",
    ),
    is_function=True,
    second_order="not-judged",
    gradcheck=False,
    may_use_autograd=True,
    scenarios=(
        Scenario(
            _FIRST,
            "value",
            experiments.run_manager,
            experiments.judge_manager,
            visible=True,
            needs=(),
        ),
        Scenario(
            "backward gets back what it needs",
            "raises",
            experiments.run_chain,
            experiments.judge_returns,
            visible=True,
            needs=_MANAGER,
        ),
        Scenario(
            _LEAVES,
            "saves-too-much",
            copies.run_leaves,
            copies.judge_leaves,
            visible=True,
            needs=_RUNS,
        ),
        Scenario(
            "half of the intermediates' bytes are kept",
            "saves-too-much",
            experiments.run_chain,
            experiments.judge_half,
            visible=True,
            needs=_COPIES,
        ),
        Scenario(
            "intermediates of every shape are rounded",
            "saves-too-much",
            copies.run_shapes,
            copies.judge_shapes,
            needs=(*_COPIES, "scenario half of the intermediates' bytes are kept"),
        ),
        Scenario(
            "views of intermediates are rounded too",
            "saves-too-much",
            copies.run_views,
            copies.judge_views,
            visible=True,
            needs=(*_COPIES, "scenario half of the intermediates' bytes are kept"),
        ),
        Scenario(
            "the gradient is that of rounded intermediates",
            "gradient-value",
            experiments.run_chain,
            experiments.judge_chain,
            visible=True,
            needs=(*_COPIES, "scenario half of the intermediates' bytes are kept"),
        ),
        Scenario(
            _ADDRESSES,
            "shared-state",
            copies.run_addresses,
            copies.judge_addresses,
            visible=True,
            needs=_RUNS,
        ),
        Scenario(
            "other dtypes are left alone",
            "gradient-value",
            after.run_dtypes,
            after.judge_dtypes,
            visible=True,
            needs=(*_RUNS, f"scenario {_ADDRESSES}"),
        ),
        Scenario(
            "nothing outlasts the block",
            "shared-state",
            after.run_after,
            after.judge_after,
            needs=_RUNS,
        ),
        Scenario(
            "a result that is dropped frees its memory",
            "saves-on-ctx",
            after.run_release,
            after.judge_release,
            visible=True,
            needs=_RUNS,
        ),
    ),
)
