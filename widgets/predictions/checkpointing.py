"""Lesson 06: what is asked before it is shown."""

from widgets.quiz_data import Choice, Question
from widgets.suspects import Suspects

PREDICTIONS = {
    "two-saves": Question(
        prompt="x has 40 000 bytes. How much does the graph of `sin(exp(x))` keep besides x?",
        choices=(
            Choice("0 bytes", False, "Both need the result of `exp`, and that is not x."),
            Choice("40 000 bytes", True, "Two saves of one tensor: the same storage twice."),
            Choice("80 000 bytes", False, "Saving makes no copy: both look into one storage."),
        ),
    ),
    "pack-leak": Question(
        prompt="Pack returns the tensor itself. Then `del y`, and `gc.collect()`. Is the memory of "
        "y free?",
        choices=(
            Choice("after `del y`", False, "The node of y still holds what pack returned: y."),
            Choice("after `gc.collect()`", False, "The collector cannot see through the node."),
            Choice("no", True, "y holds its node, the node holds y. Only a backward would end it."),
        ),
    ),
    "captured": Question(
        prompt="What is `layer.weight.grad` after this?",
        code="NaiveCheckpoint.apply(layer, x).sum().backward()",
        choices=(
            Choice("right", False, "Its backward asks for the gradient of x, and of nothing else."),
            Choice("`None`", True, "Nobody asked for it, and nobody raises an error."),
            Choice("an error", False, "The layer runs, x gets its gradient: nothing looks wrong."),
        ),
    ),
    "alive-in-backward": Question(
        prompt="A checkpoint around 32 sines. How many tensors like x are alive at most, in backward?",
        choices=(
            Choice("about 2", False, "That is between forward and backward."),
            Choice("about 6, √32", False, "That takes segments. Here everything is one."),
            Choice("more than 32", True, "All of it is recomputed, with recording on."),
        ),
    ),
    "late-binding": Question(
        prompt="The loop makes three functions: + 1, · 10 and squared. It is over. What do the three "
        "give for 3?",
        choices=(
            Choice("4, 30, 9", False, "So they did while the loop ran."),
            Choice("9, 9, 9", True, "`part` is looked up at the call. By then it is the last one."),
            Choice("an error", False, "`part` still exists after the loop: it is the last one."),
        ),
    ),
    "halves": Question(
        prompt="256 layers in halves of halves: 8 levels. How often does each layer run in a step?",
        choices=(
            Choice("2 times", False, "That is one level of checkpoints."),
            Choice("9 times", True, "Once in forward, and once more for each level around it."),
            Choice("256 times", False, "That is keeping nothing, and starting from x every time."),
        ),
    ),
}

SUSPECTS = Suspects(
    exercise="Checkpoint",
    wrong="the state is taken after fn has run",
    right="the form of the lesson",
    others=("autograd.grad for the arguments only", "the saved tensors are not detached"),
)
