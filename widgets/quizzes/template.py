"""Lesson 01: anatomy of a Function."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="Which two static methods does a Function need, to be used with `.backward()`?",
        choices=(
            Choice(
                "`__init__` and `forward`",
                False,
                "That is a `torch.nn.Module`. A Function is never instantiated: `apply` is called "
                "on the class.",
            ),
            Choice(
                "`forward` and `backward`",
                True,
                "`forward` computes the output, `backward` the vector–Jacobian product. "
                "`setup_context` may take over the noting, and `vjp` is another name for "
                "`backward`.",
            ),
            Choice(
                "`forward` and `apply`",
                False,
                "`apply` comes from torch. You call it, you do not write it.",
            ),
            Choice(
                "`setup_context` and `backward`",
                False,
                "Without `forward` there is no output. `setup_context` is optional; `torch.func` "
                "asks for it.",
            ),
        ),
    ),
    Question(
        prompt="Why does `backward` receive `grad_output`?",
        choices=(
            Choice(
                "It is the output of `forward`, in case backward needs it.",
                False,
                "An output that backward needs goes through `ctx.save_for_backward`. "
                "`grad_output` is a gradient *with respect to* the output.",
            ),
            Choice(
                "To tell how large a step the optimiser will take.",
                False,
                "Backward knows nothing about optimisers or learning rates.",
            ),
            Choice(
                "The operation is one link of a chain: backward multiplies the upstream gradient "
                "∂L/∂y with the local Jacobian.",
                True,
                "It computes vᵀJ, with v = `grad_output`. So it need not know the loss, and the "
                "Jacobian itself is never built.",
            ),
            Choice(
                "It holds the Jacobian of the operation.",
                False,
                "The Jacobian is yours to know. `grad_output` has the shape of the output, "
                "whatever the input is.",
            ),
        ),
    ),
    Question(
        prompt="This `forward` takes three inputs. How many values does `backward` return?",
        code="def forward(ctx, x, weight, exponent):  # exponent is a number\n    ...",
        choices=(
            Choice(
                "1: the gradient of `x`",
                False,
                "`weight` wants its gradient too, and the count has to match the arguments.",
            ),
            Choice(
                "2: one for each tensor",
                False,
                "A number has no gradient, but it has its place: `None` stands there.",
            ),
            Choice(
                "3: one for each argument except `ctx`, `None` for the number",
                True,
                "`return grad_x, grad_weight, None`: in the order of the arguments.",
            ),
            Choice(
                "4: one for each argument, `ctx` included",
                False,
                "`ctx` is the notepad, not an input. A leading `None` for it would push the "
                "gradients one place to the right: torch raises an error.",
            ),
        ),
    ),
    Question(
        prompt="Why does `save_for_backward` take only tensors?",
        choices=(
            Choice(
                "Because a copy of each is made, and numbers cannot be copied.",
                False,
                "Nothing is copied: a saved input is the very same tensor, kept alive.",
            ),
            Choice(
                "Because what it does is about tensors: it checks their version, releases them "
                "after backward, and lets hooks see them.",
                True,
                "For a number none of this means anything: `ctx.exponent = 3` is right for it.",
            ),
            Choice(
                "Because backward can only compute with tensors.",
                False,
                "Backward computes with numbers as well. They just travel as attributes of `ctx`.",
            ),
            Choice(
                "It takes anything, numbers included.",
                False,
                "With an input that requires a gradient a number is a TypeError. `None` is "
                "allowed, beside tensors.",
            ),
        ),
    ),
    Question(
        prompt="Why are the inputs of `gradcheck` float64?",
        choices=(
            Choice(
                "Because backward always runs in float64.",
                False,
                "Backward runs in the type of its tensors, mostly float32.",
            ),
            Choice(
                "Because `gradcheck` refuses float32 with an error.",
                False,
                "It warns, and goes on. Then it usually fails, though the gradient may be right.",
            ),
            Choice(
                "Because it is faster.",
                False,
                "It moves twice the bytes. Accuracy is the reason.",
            ),
            Choice(
                "Because the numerical derivative is a difference of nearly equal numbers.",
                True,
                "Its relative error is about ε_machine / ε: with a step of 1e-6 that is 2e-10 in "
                "float64, but 0.1 in float32, far above the tolerance.",
            ),
        ),
    ),
    Question(
        prompt="For which of these would you write a Function of your own?",
        choices=(
            Choice(
                "`x * torch.sigmoid(x)`, to make it faster",
                False,
                "It is made of torch operations, so autograd has the gradient. A Function fuses "
                "nothing; for speed there is `torch.compile`.",
            ),
            Choice(
                "rounding, with a gradient that passes as if nothing had been rounded",
                True,
                "You want another gradient than the true one, which is zero almost everywhere. "
                "Lesson 04 is about such Functions.",
            ),
            Choice(
                "stopping the gradient of a branch",
                False,
                "`x.detach()` does that, and everybody knows what it means.",
            ),
            Choice(
                "clipping one gradient on its way back",
                False,
                "A hook is enough: `h.register_hook(lambda g: g.clamp(-1, 1))`.",
            ),
        ),
    ),
    Question(
        prompt="This is the `backward` of y = 2x. In `f(h) + h` it gives 4 instead of 3. Why?",
        code="def backward(ctx, grad_output):\n    grad_output *= 2\n    return grad_output",
        choices=(
            Choice(
                "The formula is wrong: the local derivative of 2x is x.",
                False,
                "The local derivative of 2x is 2. The formula is right; look at what `*=` does.",
            ),
            Choice(
                "It forgets to save `x`.",
                False,
                "The derivative is the constant 2. There is nothing to save.",
            ),
            Choice(
                "It edits `grad_output` in place, and the other branch receives the same tensor.",
                True,
                "`return 2 * grad_output` makes a new tensor. `gradcheck` of f alone does not see "
                "the difference.",
            ),
            Choice(
                "Backward runs twice, because `h` is used twice.",
                False,
                "Each node runs once. The two gradients of `h` are added, and one of them has been "
                "doubled by mistake.",
            ),
        ),
    ),
)
