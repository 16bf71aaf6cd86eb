"""Lesson 03: one gradient per input."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="A linear layer has `x` of shape (8, 5), `weight` (3, 5) and an upstream gradient "
        "`g` (8, 3). Which product is the gradient of `weight`?",
        choices=(
            Choice(
                "`x.T @ g`",
                False,
                "That has the shape (5, 3): it is the transpose. A gradient has the shape of its "
                "own input, here (3, 5).",
            ),
            Choice(
                "`g @ weight`",
                False,
                "That has the shape (8, 5) and is the gradient of `x`.",
            ),
            Choice(
                "`g.T @ x`",
                True,
                "(3, 8) times (8, 5) is (3, 5), and the inner index that is summed is the row of "
                "the batch: every row used the same weight.",
            ),
            Choice(
                "`g.T @ weight.T`",
                False,
                "The sizes 8 and 5 do not meet. And the gradient of a factor never contains the "
                "factor itself, but the other one.",
            ),
        ),
    ),
    Question(
        prompt="Which tensors does the backward of x · Wᵀ + b read?",
        choices=(
            Choice(
                "`x` and `W`",
                True,
                "`W` for the gradient of `x`, and `x` for that of `W`. The gradient of `b` is a sum "
                "of `grad_output` alone.",
            ),
            Choice(
                "`x`, `W` and `b`",
                False,
                "No gradient contains `b`. Saving it costs a false alarm: an update of `b` between "
                "forward and backward would then raise an error.",
            ),
            Choice(
                "`W` only",
                False,
                "Enough for the gradient of `x`, but that of `W` is made of `x`.",
            ),
            Choice(
                "The output",
                False,
                "Neither `x` nor `W` can be told from the output.",
            ),
        ),
    ),
    Question(
        prompt="`b` of shape (4,) is multiplied with `a` of shape (3, 4). Backward returns a "
        "gradient of shape (3, 4) for `b`. What happens in training?",
        choices=(
            Choice(
                "A RuntimeError: the shapes do not match.",
                False,
                "torch refuses only a gradient that the shape of `b` cannot be *expanded* to. (4,) "
                "can be expanded to (3, 4).",
            ),
            Choice(
                "`b.grad` gets the shape (3, 4).",
                False,
                "The gradient of a leaf always ends up with the shape of the leaf.",
            ),
            Choice(
                "torch takes the first row, so the gradient is too small.",
                False,
                "It does something better, which is why the mistake is so hard to notice.",
            ),
            Choice(
                "torch sums it down to (4,) silently, and the result is right.",
                True,
                "The engine repairs it, and gradcheck passes. Write the sum all the same: outside "
                "the engine nobody repairs anything.",
            ),
        ),
    ),
    Question(
        prompt="Why are sizes that are all different the better test?",
        choices=(
            Choice(
                "Because gradcheck refuses square matrices.",
                False,
                "It takes them, and says less about them.",
            ),
            Choice(
                "Because with equal sizes a transposed or wrongly stretched gradient still has the "
                "right shape.",
                True,
                "With a symmetric *value* even the numbers agree. Different sizes and random values "
                "leave no place to hide.",
            ),
            Choice(
                "Because rounding errors are smaller then.",
                False,
                "Rounding has nothing to do with it.",
            ),
            Choice(
                "Because square matrices may have no inverse.",
                False,
                "No inverse is needed in any of these backwards.",
            ),
        ),
    ),
    Question(
        prompt="`MyLinear.apply(x, weight)` is called without the optional bias, and forward has the "
        "form with `ctx`. What is `ctx.needs_input_grad`?",
        choices=(
            Choice(
                "Three entries, the last one `False`",
                False,
                "That is so when `None` is passed explicitly, or in the form with `setup_context`, "
                "where torch fills in the defaults.",
            ),
            Choice(
                "Three entries, the last one `None`",
                False,
                "The entries are always `True` or `False`.",
            ),
            Choice(
                "Two entries: one for each argument that was passed",
                True,
                "So `needs_input_grad[2]` is an IndexError. Note in forward whether there is a bias.",
            ),
            Choice(
                "It cannot be read when an argument is missing.",
                False,
                "It is there, in forward too, and shorter than you may expect.",
            ),
        ),
    ),
    Question(
        prompt="A Function returns (values, indices), and only the values are used in the loss. What "
        "does its backward receive?",
        choices=(
            Choice(
                "One gradient, that of the values",
                False,
                "There is always one for each output. A backward with a single parameter fails: "
                "it is called with two.",
            ),
            Choice(
                "Two gradients, each with one value for every element of x",
                False,
                "An upstream gradient has the shape of the *output* it belongs to.",
            ),
            Choice(
                "Two gradients; that of the unused output is zeros, or `None` after "
                "`set_materialize_grads(False)`",
                True,
                "One for each output, in order, whether it was used or not.",
            ),
            Choice(
                "Nothing: backward is not called while an output is unused.",
                False,
                "It is called as soon as a gradient arrives for any of the outputs.",
            ),
        ),
    ),
    Question(
        prompt="A Function for relu(x · Wᵀ + b) keeps a bool mask in place of the float32 "
        "pre-activation. What is true?",
        choices=(
            Choice(
                "The mask takes 1 byte an element, a quarter of float32; whether the network keeps "
                "less depends on what else is kept.",
                True,
                "In a stack of layers the output of relu is kept anyway, as the input of the next. "
                "There the mask comes on top.",
            ),
            Choice(
                "The mask takes 1 bit an element, a thirty-second of float32.",
                False,
                "`torch.bool` has one byte an element.",
            ),
            Choice(
                "It is fused: forward runs as a single kernel.",
                False,
                "A Function in Python runs the same operations one after the other, and one more "
                "for the mask.",
            ),
            Choice(
                "Second derivatives are wrong, because the mask is an intermediate.",
                False,
                "It is one, but piecewise constant: its derivative is 0, so nothing is lost.",
            ),
        ),
    ),
)
