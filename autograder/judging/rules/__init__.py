"""All rules, in the order in which causes come before their consequences."""

from __future__ import annotations

from autograder.judging.evidence import Evidence
from autograder.judging.rules import (
    context,
    far_out,
    gradient,
    honesty,
    order_two,
    outputs,
    ranges,
    runs,
    sizes,
    special,
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
    honesty.leaves_torch_alone,
    sizes.looks_nothing_up,
    runs.forward_runs,
    outputs.output_has_value,
    outputs.output_shape,
    outputs.output_dtype,
    honesty.leaves_inputs,
    outputs.output_value,
    runs.output_is_connected,
    far_out.forward_of_a_half,
    honesty.leaves_saved,
    honesty.leaves_upstream,
    runs.backward_runs,
    runs.one_gradient_an_argument,
    gradient.gradients_agree,
    special.refuses_what_it_should,
    honesty.builds_it_itself,
    honesty.writes_it_by_hand,
    honesty.differentiates_exactly,
    gradient.elements_are_apart,
    context.keeps_calls_apart,
    honesty.leaves_random_numbers,
    gradient.gradcheck_passes,
    far_out.output_stable,
    far_out.gradient_stable,
    ranges.special_points,
    ranges.batch_dimensions,
    context.saves_where_torch_can_see,
    order_two.second_derivatives,
    context.honours_needs_input_grad,
    context.keeps_within_budget,
    context.saves_masks_too,
    ranges.other_strides,
    ranges.expanded_upstream,
    ranges.empty_tensors,
    ranges.single_precision,
    ranges.half_precision,
    ranges.other_devices,
    sizes.works_for_every_size,
    sizes.works_on_whole_tensors,
    ranges.forward_mode_agrees,
    ranges.batches_agree,
    ranges.transforms_agree,
    ranges.registered_as_torch_wants,
    ranges.compiled,
    gradient.nothing_left_to_torch,
    ranges.keeps_precision,
    honesty.is_the_same_when_watched,
    honesty.has_all_digits,
)


def in_order(evidence: Evidence) -> tuple[Rule, ...]:
    """All rules and the exercise's own experiments, causes before consequences."""
    first, early, late = special.scenario_rules(evidence)
    # A test may leave rules out, those that the experiments stand before among them.
    place = ORDER.index(gradient.gradcheck_passes) if gradient.gradcheck_passes in ORDER else 0
    return *first, *ORDER[:place], *early, *ORDER[place:], *late


def judge(evidence: Evidence) -> Verdicts:
    """Judge everything that was observed; the first finding is the root cause.

    A count of gradients that ends every backward follows from no dtype, and weighs more than one.
    """
    verdicts = judge_all(in_order(evidence), evidence)
    if any(f.rule == "gradient-count" for f in verdicts.findings):
        verdicts.findings.sort(key=lambda f: f.rule == "forward-dtype")
    return verdicts


__all__ = [
    "NOT_ASKED", "ORDER", "Rule", "Undecided", "Verdict", "Verdicts", "in_order", "judge", "judge_all",
    "rule",
]  # fmt: skip
