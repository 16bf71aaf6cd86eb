"""Lesson 04: gradients that are not derivatives."""

from widgets.quiz_data import Choice, Question

QUESTIONS = (
    Question(
        prompt="What is the gradient of this loss for `w`?",
        code="w = torch.tensor([0.3, -2.0], requires_grad=True)\n"
        "loss = (torch.sign(w) - 1).pow(2).sum()\n"
        "loss.backward()",
        choices=(
            Choice(
                "`backward` raises: sign is not differentiable.",
                False,
                "torch has a derivative for `sign`, and calls it without complaint.",
            ),
            Choice(
                "`[0., 0.]`: sign is flat on both sides of its jump.",
                True,
                "The true derivative, 0 almost everywhere. Nothing raises, and nothing learns.",
            ),
            Choice(
                "`[0., -4.]`: the upstream gradient 2 · (sign(w) − 1) goes straight through.",
                False,
                "That is what a straight-through estimator would give. `torch.sign` is none.",
            ),
            Choice(
                "`w.grad` is `None`, because the graph is cut.",
                False,
                "The graph is whole. The gradient arrives, and it is zero.",
            ),
        ),
    ),
    Question(
        prompt="A straight-through estimator is biased. What does that mean, and why can it still "
        "train a network?",
        choices=(
            Choice(
                "Its gradient is not that of the loss that was computed, but it usually points "
                "downhill on a smoothed version of it.",
                True,
                "The true gradient is 0 almost everywhere. The latent real-valued weights collect "
                "many small pushes in a useful direction until one of them crosses the jump.",
            ),
            Choice(
                "It adds noise to the gradient, and the noise averages out over many steps.",
                False,
                "Nothing random happens. A bias is what does *not* average out.",
            ),
            Choice(
                "The forward value is slightly wrong, and training corrects it.",
                False,
                "The forward value is exact. Only backward pretends.",
            ),
            Choice(
                "It prefers positive weights, which most networks have anyway.",
                False,
                "Bias is meant in the sense of statistics: the estimate is off in the mean.",
            ),
        ),
    ),
    Question(
        prompt="Which results do you expect from a right `SignSTE`, for inputs away from 0?",
        choices=(
            Choice(
                "gradcheck passes, gradgradcheck passes.",
                False,
                "gradcheck compares with differences of forward, and those are 0.",
            ),
            Choice(
                "gradcheck passes, gradgradcheck fails.",
                False,
                "The other way round: it is the first derivative that is no derivative.",
            ),
            Choice(
                "gradcheck fails, gradgradcheck fails.",
                False,
                "gradgradcheck differentiates backward as it is written, and g ↦ g has a right "
                "derivative.",
            ),
            Choice(
                "gradcheck fails, gradgradcheck passes.",
                True,
                "gradcheck fails by design: it wants zeros. gradgradcheck only asks whether "
                "backward itself is differentiated rightly.",
            ),
        ),
    ),
    Question(
        prompt="How do you test a surrogate gradient, if gradcheck is no help?",
        choices=(
            Choice(
                "Raise gradcheck's `atol` until it passes.",
                False,
                "The difference between 1 and 0 is no rounding error. A tolerance that hides it "
                "hides everything.",
            ),
            Choice(
                "Compare it with the autograd gradient of `s(x) + (f(x) - s(x)).detach()`, for "
                "upstream gradients of both signs.",
                True,
                "That composition has the value of the step f and the derivative of the surrogate "
                "s, which is what you state.",
            ),
            Choice(
                "Train a network and look whether the loss falls.",
                False,
                "Losses fall with many wrong gradients, a factor 2 or a lost mask for example.",
            ),
            Choice(
                "Not at all: there is no right answer to compare with.",
                False,
                "There is: the surrogate that you decided on. Write it down and compare.",
            ),
        ),
    ),
    Question(
        prompt="`LearnedScale` with `scale` = 0.5, `qmin` = −4, `qmax` = 3. One element has x = 1.7, "
        "so x / scale = 3.4. What does its upstream gradient g give, before the division by √(n · qmax)?",
        choices=(
            Choice(
                "g for x, and −0.4 g for the scale: 3.4 rounds to 3.",
                False,
                "So it would be inside. But LSQ asks before rounding, and 3.4 is not below 3.",
            ),
            Choice(
                "0 for x, and 0 for the scale: it was cut off.",
                False,
                "It was, at 3 · scale. A larger scale would make that output larger.",
            ),
            Choice(
                "0 for x, and 3 g for the scale.",
                True,
                "Beyond qmax the output is qmax · scale: it does not follow x, and its slope for "
                "the scale is qmax = 3.",
            ),
            Choice(
                "g for x, and 3 g for the scale.",
                False,
                "Cut off, the output no longer follows x. `FakeQuantize` would let g pass here, "
                "because it looks at the rounded value.",
            ),
        ),
    ),
    Question(
        prompt="Why does `GumbelSoftmax` with `hard=True` not save its output?",
        choices=(
            Choice(
                "The output is one-hot: it knows the winner, but not the probabilities that the "
                "gradient needs.",
                True,
                "The formula p · (g − Σ g·p) / τ wants the soft p. It is computed again from the "
                "logits and the noise.",
            ),
            Choice(
                "Outputs may not be passed to `save_for_backward`.",
                False,
                "They may: the sigmoid of lesson 02 does it.",
            ),
            Choice(
                "The output is random, and saving would freeze the randomness.",
                False,
                "The noise is passed in, so the Function is deterministic.",
            ),
            Choice(
                "A saved output would make the second derivative zero.",
                False,
                "A saved output keeps its history. What loses it is an intermediate.",
            ),
        ),
    ),
    Question(
        prompt="gradcheck passes for `ClipGradient` with `limit` = 2. What follows?",
        choices=(
            Choice(
                "The backward is the derivative of the forward.",
                False,
                "For an upstream gradient of 5 it returns 2, the derivative of the identity 5.",
            ),
            Choice(
                "The input was too small for the limit to matter.",
                False,
                "The limit is one for the gradient. The size of x plays no part.",
            ),
            Choice(
                "gradcheck should be called with `fast_mode=True`.",
                False,
                "Fast mode tries fewer directions, not more.",
            ),
            Choice(
                "Little: gradcheck's upstream gradients are 0 and 1, and 1 is not clipped.",
                True,
                "What backward does to large or negative upstream gradients is invisible to it. "
                "With `limit` = 0.5 it fails.",
            ),
        ),
    ),
    Question(
        prompt="A model with your `SignSTE` inside is trained after one of these steps. Where has "
        "your gradient got lost?",
        choices=(
            Choice(
                "After `torch.compile(model)`.",
                False,
                "torch.compile keeps the backward of a Function.",
            ),
            Choice(
                "After `torch.export.export(model, inputs).module()`.",
                True,
                "Export traces through forward and keeps `sign` with its own derivative, zero.",
            ),
            Choice(
                "After `model.to(torch.bfloat16)`.",
                False,
                "The dtype changes, the backward stays.",
            ),
            Choice(
                "After saving and loading the `state_dict`.",
                False,
                "That holds parameters only. The Function is in the code of the model.",
            ),
        ),
    ),
)
