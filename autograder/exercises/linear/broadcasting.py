"""unbroadcast and Multiply of lesson 03."""

from __future__ import annotations

from autograder.contract.exercise import Arguments, Exercise, Sampler
from autograder.exercises.common_cases import cases_of, extreme, float64, kept, special

_down_case = cases_of(lambda s, grad, shape: (s.normal(*grad), shape), wants=(0,))


UNBROADCAST = Exercise(
    name="unbroadcast",
    summary="grad summed down to shape: the reverse of broadcasting a tensor of that shape.",
    signature="(grad, shape)",
    reference=lambda grad, shape: grad.sum_to_size(shape),
    cases=(
        _down_case("(3, 4) down to (4,): a new leading dimension", (3, 4), (4,)),
        _down_case("(3, 4) down to (3, 1): a stretched dimension", (3, 4), (3, 1)),
        _down_case("(2, 3, 4) down to (3, 1): both at once", (2, 3, 4), (3, 1)),
        _down_case("the shape it has already", (3, 4), (3, 4)),
        _down_case("(3, 4) down to (), a single number", (3, 4), ()),
        _down_case("(1, 3) down to (3,): a new leading dimension of size 1", (1, 3), (3,)),
        _down_case("(1, 1) down to (), a single number", (1, 1), ()),
        _down_case("(3, 4) down to [1, 1], the shape given as a list", (3, 4), [1, 1]),
        _down_case("(2, 3, 4, 2) down to (3, 1, 2)", (2, 3, 4, 2), (3, 1, 2)),
        _down_case("(2, 1, 3) down to (1, 3): a 1 that was never stretched", (2, 1, 3), (1, 3)),
        # Told apart only by lengths of 1 and 2: which dimension was stretched, and from what.
        _down_case("(1, 4, 3) down to (1, 3): behind a leading 1", (1, 4, 3), (1, 3)),
        _down_case("(2, 1, 5) down to (1, 1): beside a leading 2", (2, 1, 5), (1, 1)),
        _down_case("(5, 2, 1) down to (1, 1): stretched to 2", (5, 2, 1), (1, 1)),
        _down_case("a single number (no dimensions)", (), (), role="special"),
        _down_case("an empty batch, (0, 4) down to (4,)", (0, 4), (4,), role="empty"),
        _down_case(
            "an empty batch, (0, 3) down to (1, 3)",
            (0, 3),
            (1, 3),
            role="empty",
            advice="A 1 in shape can be stretched to 0 as well, and a sum over nothing is 0: ask whether the "
            "two sizes differ (!= 1), not whether grad's is larger (> 1).",
        ),
        _down_case(
            "(2, 0, 3) down to (0, 1)",
            (2, 0, 3),
            (0, 1),
            role="empty",
            advice="Both have no element at all: the number of elements tells nothing here. Compare the shapes, and "
            "avoid reductions without a dim.",
        ),
    ),
    hints=(
        "Broadcasting does two things: it puts new dimensions in front, and it stretches dimensions of "
        "size 1. Whatever was repeated has to be summed. Undo the two things one after the other.",
        "First sum over dimension 0 as long as grad has more dimensions than shape. Then go through "
        "shape: where it says 1 and grad has another size, sum over that dimension and keep it "
        "(keepdim=True).",
        "while grad.dim() > len(shape): grad = grad.sum(0). Then for i, size in enumerate(shape): if "
        "size == 1 and grad.shape[i] != 1: grad = grad.sum(i, keepdim=True). Return grad.",
    ),
    is_function=True,
)


_factors = cases_of(lambda s, a, b: (s.away_from(*a), s.away_from(*b)))


def _zero_factors(s: Sampler) -> Arguments:
    a = s.normal(2, 3)
    a[0, 1] = 0.0
    return a, float64([0.0, 1.5, -2.0])


def _large_factors(s: Sampler) -> Arguments:
    ends = float64([-1000.0, 1000.0, 1e-3])
    return ends + s.uniform(2, 3), s.uniform(3, low=0.5, high=1.5)


MULTIPLY = Exercise(
    name="Multiply",
    summary="a · b, element by element, for any two shapes that broadcast.",
    signature="(a, b)",
    reference=lambda a, b: a * b,
    cases=(
        _factors("a matrix times a row", (3, 4), (4,)),
        _factors("a column times a row: both are stretched", (3, 1), (1, 4)),
        _factors("two matrices of one shape", (2, 3), (2, 3)),
        _factors("a single number times a matrix", (), (2, 3)),
        _factors("a row times a batch of matrices", (4,), (2, 3, 4)),
        special(
            "zeros among the factors",
            _zero_factors,
            second=True,
            advice="a · b divided by b does not give a back where b is 0. Save the factors themselves.",
        ),
        _factors("a batch of matrices times a column", (2, 3, 4), (3, 1), role="batch"),
        _factors("a batch of matrices times a row", (3, 2, 4), (4,), role="batch"),
        _factors("two single numbers", (), (), role="batch"),
        _factors("an empty batch times a row", (0, 4), (4,), role="empty"),
        _factors(
            "an empty batch times a single row of two dimensions", (0, 3), (1, 3), role="empty"
        ),
        extreme("inputs of ±1000", _large_factors),
    ),
    budget=kept(0, 1),
    budget_words="a and b",
    hints=(
        "When a grows a little, by how much does a · b grow? Which tensor does that gradient need, and "
        "which shape must it have in the end?",
        "The product grad_output * b has the shape of the output. Where a was broadcast, every copy of "
        "an element of a contributes: sum the product down to the shape of a. You have just written the "
        "function for that.",
        "grad_a = unbroadcast(grad_output * b, a.shape) and grad_b = unbroadcast(grad_output * a, "
        "b.shape), each only where ctx.needs_input_grad says so.",
    ),
)
