"""Lesson 12: torch.func, operators, what the stack keeps, kernels."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="`backward` of a Function with two inputs and one output returns two gradients. How many tangents does "
        "its `jvp` return?",
        choices=(
            Choice("two", False, "It *gets* two, one for each input."),
            Choice("one", True, "One for each output: the sum of what the inputs contribute."),
            Choice("as many as need a gradient", False, "An input that does not move has the tangent 0."),
        ),
    ),
    Question(
        prompt="f maps 1000 numbers to 3. Which of the two makes its Jacobian with less work?",
        choices=(
            Choice("`jacrev`", True, "Three backwards, one for each output."),
            Choice("`jacfwd`", False, "A thousand jvps, one for each input."),
            Choice("both the same", False, "One goes by outputs, the other by inputs."),
        ),
    ),
    Question(
        prompt="The body gives a contiguous tensor, and the fake `torch.empty_like(x)`. When does that show?",
        choices=(
            Choice("never: the shapes agree", False, "Compiled code reads memory by the fake's strides."),
            Choice(
                "when x is not contiguous",
                True,
                "empty_like copies x's strides: then the fake promises what the body does not give.",
            ),
            Choice("always", False, "For a contiguous x both are contiguous."),
        ),
    ),
    Question(
        prompt="A network with straight-through rounding, as a Function, is exported and trained on somewhere else. "
        "What happens?",
        choices=(
            Choice("it trains as before", False, "The program has `aten.round`, and your backward is not in it."),
            Choice("export refuses it", False, "It exports without a warning."),
            Choice("it stops learning, silently", True, "Rounding's own derivative is 0. An operator would stay whole."),
        ),
    ),
    Question(
        prompt="A softmax kernel loads what lies behind the end of a row with `other=0.0`. What is wrong then?",
        choices=(
            Choice("nothing: the store is masked", False, "The sum was taken before."),
            Choice("the sum of the row is too large", True, "Each such place adds e to the power of −max."),
            Choice("the maximum is always 0", False, "Only where all real elements are negative."),
        ),
    ),
    Question(
        prompt="An online softmax forgets to rescale the *output*. For which rows is it right all the same?",
        choices=(
            Choice("none", False, "There is one way to be lucky."),
            Choice(
                "those whose largest score is in the first block",
                True,
                "Nothing has to be rescaled there: every later factor is 1.",
            ),
            Choice("those of even length", False, "Length decides about masks, not about scale."),
        ),
    ),
    Question(
        prompt="Why does a Function for a layer that FSDP shards not save `weight.t().contiguous()`?",
        choices=(
            Choice("it would be wrong", False, "The gradient is right."),
            Choice("a copy stays whole on every device", True, "Only the parameter's own memory is freed and refilled."),
            Choice("a transpose cannot be saved", False, "Any tensor can."),
        ),
    ),
)  # fmt: skip
