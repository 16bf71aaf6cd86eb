"""Lesson 06: trade compute for memory."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="`sin(exp(x))` with an x of 4000 bytes. How much does the graph keep for backward?",
        choices=(
            Choice(
                "0 bytes: everything is computed again.",
                False,
                "Nothing is computed again unless you ask for it. Both operations save something.",
            ),
            Choice(
                "4000 bytes",
                True,
                "`exp` saves its output and `sin` saves its input: the same tensor, referenced "
                "twice.",
            ),
            Choice(
                "8000 bytes: two saved tensors",
                False,
                "There are two saves, but of one tensor. A graph keeps references, not copies.",
            ),
            Choice(
                "12 000 bytes: x, exp(x) and the result",
                False,
                "Neither x nor the result is needed for backward here.",
            ),
        ),
    ),
    Question(
        prompt="A checkpoint computes its gradients with `torch.autograd.grad(output, inputs, "
        "grad_output)`. The checkpointed function is a layer with a weight. What happens to the "
        "weight?",
        choices=(
            Choice(
                "It gets its gradient as usual.",
                False,
                "`torch.autograd.grad` computes gradients of what it is told, and the weight is "
                "not among the inputs.",
            ),
            Choice(
                "It gets no gradient and no error: the layer does not train.",
                True,
                "`torch.autograd.backward(output, grad_output)` reaches every leaf, the weight too.",
            ),
            Choice(
                "torch raises an error, because a gradient is missing.",
                False,
                "Nobody misses it: a `.grad` that stays None is legal.",
            ),
            Choice(
                "It gets the gradient twice.",
                False,
                "Twice would be a *leaf argument* that was not detached. The weight gets none.",
            ),
        ),
    ),
    Question(
        prompt="Why must forward's random state be set again before the recomputation?",
        choices=(
            Choice(
                "Otherwise the training is not reproducible.",
                False,
                "It would be, with a seed at the beginning. The gradient would still be wrong.",
            ),
            Choice(
                "Otherwise dropout drops other elements, and the gradient belongs to another "
                "function than the loss.",
                True,
                "And the caller's state must be put back afterwards, or the next random numbers "
                "repeat.",
            ),
            Choice(
                "Because random operations cannot be differentiated.",
                False,
                "Dropout is a product with a mask, which has a derivative. It only has to be the "
                "same mask.",
            ),
            Choice(
                "It need not be, if the model is in training mode.",
                False,
                "In training mode dropout is on: exactly then it matters.",
            ),
        ),
    ),
    Question(
        prompt="100 layers, each keeps one tensor. One checkpoint around all of them: how many of "
        "these tensors are alive at the peak of a training step?",
        choices=(
            Choice(
                "1",
                False,
                "Between forward and backward, yes. Then backward recomputes.",
            ),
            Choice(
                "About 10",
                False,
                "That is for 10 segments: 10 inputs, and 10 intermediates of one segment.",
            ),
            Choice(
                "About 100",
                True,
                "The recomputation records all layers, and all their intermediates are alive at "
                "once. Segments bring the peak down.",
            ),
            Choice(
                "About 200",
                False,
                "Forward's tensors are gone when backward makes them again.",
            ),
        ),
    ),
    Question(
        prompt="The same 100 layers in 10 segments. What is the peak, and what does it cost?",
        choices=(
            Choice(
                "About 20 tensors, and one more forward",
                True,
                "10 inputs of segments and 10 intermediates of the one at work. Each layer is "
                "recomputed once.",
            ),
            Choice(
                "About 20 tensors, and ten more forwards",
                False,
                "Each segment is recomputed once, and together they are one forward.",
            ),
            Choice(
                "About 10 tensors, and one more forward",
                False,
                "The intermediates of the segment at work come on top of the inputs.",
            ),
            Choice(
                "About 10 tensors, at no cost",
                False,
                "What is thrown away has to be computed again.",
            ),
        ),
    ),
    Question(
        prompt="What goes wrong here?",
        code="for part in parts:\n    x = Checkpoint.apply(lambda h: part(h), x)",
        choices=(
            Choice(
                "Nothing.",
                False,
                "Forward is right. But the lambda looks `part` up again when backward calls it.",
            ),
            Choice(
                "The output: every segment runs the last part.",
                False,
                "In forward each lambda is called at once, while `part` is the right one.",
            ),
            Choice(
                "The gradients: in backward every segment runs the last part.",
                True,
                "The loop is over by then. Bind the part when the function is made.",
            ),
            Choice(
                "torch refuses to differentiate lambdas.",
                False,
                "Any callable will do.",
            ),
        ),
    ),
    Question(
        prompt="`save_in_bfloat16` leaves parameters and their transposes as they are. Why?",
        choices=(
            Choice(
                "bfloat16 is too inaccurate for parameters.",
                False,
                "That would be a reason too, but it is not the first: the copy would be extra.",
            ),
            Choice(
                "They are in memory anyway, so a rounded copy would come on top.",
                True,
                "The graph only refers to them. Nothing is gained by letting go of a reference.",
            ),
            Choice(
                "The hooks never get to see parameters.",
                False,
                "They do: a product with an input that requires grad saves its weight.",
            ),
            Choice(
                "Parameters must not be cast while they require grad.",
                False,
                "They may. Hooks run without recording anyway.",
            ),
        ),
    ),
)
