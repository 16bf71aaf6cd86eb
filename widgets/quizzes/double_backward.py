"""Lesson 05: gradients of gradients."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="What does `create_graph=True` change while `backward` runs?",
        choices=(
            Choice(
                "Torch computes the Hessian along with the gradient.",
                False,
                "No second derivative is computed yet. The gradient only becomes something that "
                "can be differentiated.",
            ),
            Choice(
                "Recording is on: what backward computes becomes part of the graph.",
                True,
                "`torch.is_grad_enabled()` is true in backward then, and false otherwise. That is "
                "what the guard in `FirstOrderOnly` asks.",
            ),
            Choice(
                "The saved tensors are copied, so that they can be used twice.",
                False,
                "Nothing is copied. The graph is kept, as with `retain_graph=True`, and backward "
                "itself is recorded.",
            ),
            Choice(
                "Backward is called twice.",
                False,
                "It is called once now. It is called again when its result is differentiated.",
            ),
        ),
    ),
    Question(
        prompt="A saved *output* is fine for the second derivative. Why is a clone of it not?",
        code="y = torch.exp(x)\nctx.save_for_backward(y.clone())\nreturn y",
        choices=(
            Choice(
                "The clone has other values after rounding.",
                False,
                "A clone is equal to the last bit.",
            ),
            Choice(
                "Torch knows the returned tensor as this Function's output. The clone was made "
                "while recording was off: it has no history.",
                True,
                "What comes back from `saved_tensors` is then a constant, and its part of the "
                "second derivative is 0.",
            ),
            Choice(
                "`save_for_backward` refuses clones.",
                False,
                "It takes any tensor, without a word.",
            ),
            Choice(
                "It is fine; it only costs memory.",
                False,
                "It costs memory as well. But `gradgradcheck` fails.",
            ),
        ),
    ),
    Question(
        prompt="A Function for x³ saves x and x². Its backward returns `g * (square + 2*x*x)`. What "
        "comes out at x = 2?",
        choices=(
            Choice(
                "First derivative 12, second derivative 12",
                False,
                "That would be right. But `square` is an intermediate, a constant to the second "
                "derivative.",
            ),
            Choice(
                "First derivative 12, and an error for the second",
                False,
                "Torch finds a path to x, through `2*x*x`, and follows it.",
            ),
            Choice(
                "First derivative 12, second derivative 8",
                True,
                "Only 2x² is differentiated: 4x = 8. No error, and `gradcheck` passes.",
            ),
            Choice(
                "First derivative 8, second derivative 8",
                False,
                "The first derivative is 4 + 8 = 12, which is right: the numbers are all there.",
            ),
        ),
    ),
    Question(
        prompt="Which check finds a wrong second derivative?",
        choices=(
            Choice(
                "`gradcheck`",
                False,
                "It compares the first derivative with differences of forward. A saved "
                "intermediate passes.",
            ),
            Choice(
                "`gradgradcheck`",
                True,
                "It checks your backward as a function of the inputs and of `grad_output`. When "
                "it fails, the error is a kind of RuntimeError.",
            ),
            Choice(
                "None is needed: torch raises an error by itself.",
                False,
                "Only if nothing in backward depends on the input, and not even then in a sum.",
            ),
            Choice(
                "Training: the loss explodes.",
                False,
                "In this lesson `SwishOnce` trained without any visible trouble.",
            ),
        ),
    ),
    Question(
        prompt="Your backward calls a C++ library. What should it do about second derivatives?",
        choices=(
            Choice(
                "Nothing. Nobody takes second derivatives.",
                False,
                "Gradient penalties do, Newton's method does, and they would get wrong numbers.",
            ),
            Choice(
                "`@once_differentiable`: then every attempt raises.",
                False,
                "In y + x³ it is silent: its error node is only reached through a `grad_output` "
                "that requires grad.",
            ),
            Choice(
                "Begin with `if torch.is_grad_enabled(): raise RuntimeError(…)`.",
                True,
                "Recording is on exactly when somebody asked for a graph. Or be right: let "
                "backward call a second Function that knows its own slope.",
            ),
            Choice(
                "Detach `grad_output`, to make clear that it is a constant.",
                False,
                "That makes it silent in more cases, not fewer.",
            ),
        ),
    ),
    Question(
        prompt="f has a million variables. What does one product of its Hessian with a vector cost?",
        choices=(
            Choice(
                "A million backward passes, one a row",
                False,
                "That is the whole Hessian. Weight the gradient with v first, and differentiate "
                "that one number.",
            ),
            Choice(
                "Two backward passes and a few vectors",
                True,
                "The gradient with `create_graph=True`, then the gradient of its dot product "
                "with v.",
            ),
            Choice(
                "Two backward passes and a matrix of 10¹² numbers",
                False,
                "The matrix is never formed: the second pass gives the product itself.",
            ),
            Choice(
                "One backward pass, with v as upstream gradient of f",
                False,
                "f gives one number, so its upstream gradient is one number. v weights the "
                "*gradient*, which has a million.",
            ),
        ),
    ),
    Question(
        prompt="Why does the gradient penalty differentiate the *sum* of the critic's scores?",
        choices=(
            Choice(
                "The sum makes the penalty larger, which trains faster.",
                False,
                "The penalty would be another one then. The sum is about which gradients come out.",
            ),
            Choice(
                "Each score depends on its own sample only, so row n of the gradient is that of "
                "score n.",
                True,
                "One pass gives all rows. With the mean each would be N times too short, and "
                "layers that mix samples would break it.",
            ),
            Choice(
                "`torch.autograd.grad` cannot handle anything but sums.",
                False,
                "It takes any tensor, with `grad_outputs` of its shape. Ones there are the same as "
                "the sum.",
            ),
            Choice(
                "Because the norm is taken over the whole batch afterwards.",
                False,
                "One norm a sample: the batch dimension is kept until the mean.",
            ),
        ),
    ),
)
