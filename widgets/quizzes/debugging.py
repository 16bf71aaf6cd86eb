"""Lesson 10: finding faults, and what instruments cannot see."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="`… modified by an inplace operation: [torch.FloatTensor [8]], which is output 0 of TanhBackward0, is at "
        "version 2; expected version 1 instead`. Where do you look?",
        choices=(
            Choice("in tanh", False, "It only saved its output. Somebody wrote there later."),
            Choice(
                "in what used that output afterwards",
                True,
                "One write since it was saved: find who got the tensor.",
            ),
            Choice(
                "in the optimiser's step", False, "It writes to parameters, not to activations."
            ),
        ),
    ),
    Question(
        prompt="A Function passes gradcheck. Which fault can it still have?",
        choices=(
            Choice("a factor 2 in the gradient", False, "That is what gradcheck finds best."),
            Choice(
                "the gradients of two inputs exchanged", False, "Each is compared with its own."
            ),
            Choice(
                "state that two calls share", True, "gradcheck goes back right after each call."
            ),
        ),
    ),
    Question(
        prompt="A reduction passes gradcheck for x of shape (4, 4) and stops for (3, 4). What was wrong with the test?",
        choices=(
            Choice("it needed more elements", False, "Twelve are as good as sixteen."),
            Choice("two sizes were equal", True, "A sum over the wrong one has the right shape."),
            Choice("it should have run in float32", False, "Shapes do not depend on the dtype."),
        ),
    ),
    Question(
        prompt="`fast_mode=True` passes, the slow gradcheck fails. Who is right?",
        choices=(
            Choice(
                "the slow one",
                True,
                "Fast mode looks along one random direction, where one element's fault drowns.",
            ),
            Choice("the fast one: it is newer", False, "It asks for less."),
            Choice("nobody can tell", False, "The slow one names the element."),
        ),
    ),
    Question(
        prompt="A random Function fails gradcheck. What do you do?",
        choices=(
            Choice("set nondet_tol=1", False, "Then everything may differ by 1."),
            Choice("call torch.manual_seed in forward", False, "Then every call draws the same."),
            Choice(
                "set the seed around it, in the test",
                True,
                "The test becomes a function of x alone.",
            ),
        ),
    ),
    Question(
        prompt="Your new instrument complains about a Function. What is the next step?",
        choices=(
            Choice("repair the Function", False, "You do not know yet that it is wrong."),
            Choice(
                "try the instrument on the same computation in plain torch",
                True,
                "If it complains there as well, the instrument is what is wrong.",
            ),
            Choice("raise the tolerance until it is quiet", False, "Then it is blind."),
        ),
    ),
    Question(
        prompt="Backward computes `common` behind `if ctx.needs_input_grad[0]:` and reads it behind "
        "`if ctx.needs_input_grad[1]:`. Which call shows the fault?",
        choices=(
            Choice("both inputs need a gradient", False, "Then both branches run."),
            Choice("only the first needs one", False, "It makes what it reads."),
            Choice("only the second needs one", True, "It reads what nobody has made."),
        ),
    ),
)
