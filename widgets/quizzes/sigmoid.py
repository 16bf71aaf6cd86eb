"""Lesson 02: save the output, not the input."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="When can `backward` do with the output alone?",
        choices=(
            Choice(
                "Whenever the function is differentiable.",
                False,
                "Swish is differentiable, and takes one value with two slopes. Its output does not "
                "tell which slope it is.",
            ),
            Choice(
                "When the slope is a function of the output.",
                True,
                "For σ it is y(1 − y), for tanh 1 − y², for exp y, for relu 0 or 1.",
            ),
            Choice(
                "Only when the function is injective.",
                False,
                "That is enough, but not needed: relu maps all negative numbers to 0, and they all "
                "share the slope 0.",
            ),
            Choice(
                "When the output is smaller than the input.",
                False,
                "An elementwise function has as many outputs as inputs. The question is what the "
                "output knows.",
            ),
        ),
    ),
    Question(
        prompt="`MySigmoid` saves `x` and computes σ(x) again in `backward`. That is …",
        choices=(
            Choice(
                "a cost: right, but more work and memory.",
                True,
                "A bug would be to save one tensor and use the formula of the other.",
            ),
            Choice(
                "a bug: the gradient comes out wrong.",
                False,
                "The gradient is right, and so is the second derivative. Check it with `gradcheck`.",
            ),
            Choice(
                "an error: torch refuses the input.",
                False,
                "torch cannot know your formula. It saves whatever tensor you give it.",
            ),
            Choice(
                "the only way: outputs cannot be saved.",
                False,
                "Inputs and outputs can both be saved, and both keep their place in the graph.",
            ),
        ),
    ),
    Question(
        prompt="`ctx.save_for_backward(y)`, and the next linear layer keeps `y` as its input. "
        "How much memory does the saving cost?",
        choices=(
            Choice(
                "as much as `y`, for the copy",
                False,
                "No copy is made: both hold a reference to the same memory.",
            ),
            Choice(
                "twice as much as `y`, one for each",
                False,
                "Two references to the same memory take no more of it than one.",
            ),
            Choice(
                "nothing: both refer to the same memory",
                True,
                "Saving prolongs a life. Here another layer prolongs it anyway.",
            ),
            Choice(
                "nothing now, and a copy during backward",
                False,
                "Backward gets the same memory back, not a copy.",
            ),
        ),
    ),
    Question(
        prompt="What goes wrong with this Function for x · eˣ?",
        code=(
            "def forward(ctx, x):\n"
            "    e = torch.exp(x)\n"
            "    ctx.save_for_backward(x, e)\n"
            "    return x * e\n"
            "\n"
            "def backward(ctx, grad_output):\n"
            "    x, e = ctx.saved_tensors\n"
            "    return grad_output * (e + x * e)"
        ),
        choices=(
            Choice(
                "The first derivative is wrong: `e` has no gradient.",
                False,
                "The numbers are right, so the first derivative is right. `gradcheck` passes.",
            ),
            Choice(
                "The second derivative is wrong, without an error.",
                True,
                "`e` is neither input nor output: to a second derivative it is a constant. "
                "`gradgradcheck` says so.",
            ),
            Choice(
                "The second derivative raises an error.",
                False,
                "It would be kinder if it did. Since `x` is still connected, a number comes out.",
            ),
            Choice(
                "Nothing: all derivatives are right.",
                False,
                "At x = 1 the second derivative comes out as 2.718; right is 8.155.",
            ),
        ),
    ),
    Question(
        prompt="What should `ScaledSigmoid`, scale · σ(x), save to be right at scale = 0?",
        choices=(
            Choice(
                "the output `y`, and use `y / scale`",
                False,
                "At 0 that is 0/0, NaN: the output has forgotten `x`.",
            ),
            Choice(
                "σ(x), computed in `forward`",
                False,
                "It gives the right gradient at 0, but it is an intermediate: second derivatives "
                "are lost.",
            ),
            Choice(
                "`scale`, with `save_for_backward`",
                False,
                "A float is no tensor: it is stored as `ctx.scale`. And the slope needs `x`.",
            ),
            Choice(
                "`x`, and σ is computed again",
                True,
                "An input has its place in the graph, and no division is needed.",
            ),
        ),
    ),
    Question(
        prompt="Why is the gradient of `1 / (1 + torch.exp(-x))` NaN at x = −100 in float32, "
        "although its value is fine?",
        choices=(
            Choice(
                "The slopes of the steps multiply to 0 · inf.",
                True,
                "1/(1+e)² is 0, e is inf. Written as y(1 − y) the slope has no such product.",
            ),
            Choice(
                "`exp(100)` is inf, so the value is NaN already.",
                False,
                "1 / (1 + inf) is 0, which is the right value, rounded.",
            ),
            Choice(
                "The sigmoid has no derivative there.",
                False,
                "It has one everywhere; at −100 it is about 4e-44.",
            ),
            Choice(
                "float32 cannot hold numbers as small as the slope.",
                False,
                "It can, down to 1.4e-45, and this one is 4e-44. A smaller number becomes 0, which does "
                "no harm: NaN needs 0 · inf or the like.",
            ),
        ),
    ),
    Question(
        prompt="In `Swish`, `x` has the shape (32, 8) and `beta` the shape (8,). `backward` returns "
        "a gradient of shape (32, 8) for `beta`. What happens?",
        choices=(
            Choice(
                "torch raises an error about the shape.",
                False,
                "It raises only where `beta` could not be expanded to that shape.",
            ),
            Choice(
                "`gradcheck` fails.",
                False,
                "It sees the repaired gradient, like everybody else.",
            ),
            Choice(
                "torch takes the gradient of the first row.",
                False,
                "It sums. Each row of the batch has used `beta` once, and all uses count.",
            ),
            Choice(
                "torch sums it over the batch, silently.",
                True,
                "It works, but your formula does not say what it means. Write "
                "`.sum_to_size(beta.shape)`: then it is right wherever it is called.",
            ),
        ),
    ),
    Question(
        prompt="How many tensors are in `ctx.saved_tensors`?",
        code="ctx.save_for_backward(x)\nctx.save_for_backward(beta)",
        choices=(
            Choice(
                "1: `beta`",
                True,
                "The last call wins. Give all tensors to one call.",
            ),
            Choice(
                "1: `x`",
                False,
                "The second call replaces what the first one noted.",
            ),
            Choice(
                "2: `x` and `beta`",
                False,
                "The calls do not add up. `x, beta = ctx.saved_tensors` raises: not enough values "
                "to unpack.",
            ),
            Choice(
                "0: the second call raises an error",
                False,
                "There is no error at this line, which makes the mistake hard to find.",
            ),
        ),
    ),
    Question(
        prompt="What is the slope of log σ(x)?",
        choices=(
            Choice(
                "σ(x)",
                False,
                "That is the slope of softplus, log(1 + eˣ). At −1000 log σ(x) is −1000: its slope "
                "there is 1.",
            ),
            Choice(
                "x − σ(x)",
                False,
                "It is found in print as the slope of log(1 + eˣ), and is right for neither.",
            ),
            Choice(
                "1 / σ(x)",
                False,
                "The inner derivative is missing: σ′(x) / σ(x).",
            ),
            Choice(
                "σ(−x)",
                True,
                "σ′/σ = 1 − σ(x) = σ(−x): between 0 and 1 for every x, so nothing can overflow.",
            ),
        ),
    ),
)
