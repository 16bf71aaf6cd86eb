"""All rules, in the order in which causes come before their consequences."""

from __future__ import annotations

from autograder.judging.evidence import Evidence
from autograder.judging.rules import (
    budget,
    context,
    far_out,
    forward,
    gradient,
    half_written,
    honesty,
    order_two,
    outputs,
    ranges,
    runs,
    sizes,
    special,
    transforms,
    writes,
)
from autograder.judging.rules.registry import (
    NOT_ASKED,
    Rule,
    Undecided,
    Verdict,
    Verdicts,
    judge_all,
    rule,
)

ORDER: tuple[Rule, ...] = (
    special.leaves_torch_alone,
    sizes.looks_nothing_up,
    runs.forward_runs,
    outputs.output_has_value,
    outputs.output_shape,
    outputs.output_dtype,
    writes.leaves_inputs,
    forward.output_value,
    runs.output_is_connected,
    half_written.forward_of_a_half,
    writes.leaves_saved,
    writes.leaves_upstream,
    runs.backward_runs,
    runs.one_gradient_an_argument,
    gradient.gradients_agree,
    gradient.function_gradients_agree,
    special.refuses_what_it_should,
    honesty.builds_it_itself,
    honesty.differentiates_exactly,
    honesty.writes_it_by_hand,
    context.keeps_calls_apart,
    gradient.gradcheck_passes,
    far_out.output_stable,
    far_out.gradient_stable,
    ranges.special_points,
    ranges.batch_dimensions,
    context.saves_where_torch_can_see,
    order_two.second_derivatives,
    order_two.gradgradcheck_passes,
    context.honours_needs_input_grad,
    budget.keeps_within_budget,
    context.saves_masks_too,
    ranges.other_strides,
    ranges.expanded_upstream,
    ranges.empty_tensors,
    ranges.single_precision,
    ranges.half_precision,
    ranges.other_devices,
    sizes.works_for_every_size,
    sizes.works_on_whole_tensors,
    transforms.forward_mode_agrees,
    transforms.batches_agree,
    transforms.registered_as_torch_wants,
    gradient.nothing_left_to_torch,
    ranges.keeps_precision,
    honesty.is_the_same_when_watched,
    honesty.has_all_digits,
)


def in_order(evidence: Evidence) -> tuple[Rule, ...]:
    """All rules and the exercise's own experiments, causes before consequences."""
    first, early, late = special.scenario_rules(evidence)
    consequences = (i for i, each in enumerate(ORDER) if each is gradient.gradcheck_passes)
    place = next(consequences, 0)
    return *first, *ORDER[:place], *early, *ORDER[place:], *late


def judge(evidence: Evidence) -> Verdicts:
    """Judge everything that was observed; the first finding is the root cause."""
    return judge_all(in_order(evidence), evidence)


__all__ = [
    "NOT_ASKED", "ORDER", "Rule", "Undecided", "Verdict", "Verdicts", "in_order", "judge", "judge_all",
    "rule",
]  # fmt: skip
