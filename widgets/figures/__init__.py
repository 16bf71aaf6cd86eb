"""Figures of the lessons, by name: a lesson computes the numbers, and draws them with one call.

One module a lesson. Each function takes what the lesson has computed, shows one figure with its
alternative text, and gives nothing back.
"""

from widgets.figures.attention import four_attentions, tiles, time_and_memory, where_heads_look
from widgets.figures.checkpointing import kept_over_batch, square_root_law, trainings
from widgets.figures.course_map import course_map
from widgets.figures.double_backward import (
    critic_map,
    critics,
    newton_lengths,
    orders,
    second_derivatives,
)
from widgets.figures.linear import (
    digits,
    ink_and_gain,
    kept_by_stacks,
    losses_and_their_gaps,
    soft_maximum,
    sums_of_a_gradient,
)
from widgets.figures.sigmoid import (
    learned_swishes,
    losses_of_activations,
    one_output_two_slopes,
    slope_over_output,
    swish_family,
    two_slopes_of_sigmoid,
)
from widgets.figures.ste import (
    accuracies,
    boundaries,
    choosing,
    descent,
    features,
    latent_weights,
    pushes,
    staircase,
    temperatures,
)
from widgets.figures.template import anatomy, fits, jacobians, kink, secants, u_curve

__all__ = [
    "accuracies",
    "anatomy",
    "boundaries",
    "choosing",
    "course_map",
    "critic_map",
    "critics",
    "descent",
    "digits",
    "features",
    "fits",
    "four_attentions",
    "ink_and_gain",
    "jacobians",
    "kept_by_stacks",
    "kept_over_batch",
    "kink",
    "latent_weights",
    "learned_swishes",
    "losses_and_their_gaps",
    "losses_of_activations",
    "newton_lengths",
    "one_output_two_slopes",
    "orders",
    "pushes",
    "secants",
    "second_derivatives",
    "slope_over_output",
    "soft_maximum",
    "square_root_law",
    "staircase",
    "sums_of_a_gradient",
    "swish_family",
    "temperatures",
    "tiles",
    "time_and_memory",
    "trainings",
    "two_slopes_of_sigmoid",
    "u_curve",
    "where_heads_look",
]
