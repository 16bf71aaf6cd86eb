"""Lesson 04, gradients that are not derivatives: straight-through estimators and their relatives.

The references are surrogates: their values are those of the exercise and their derivatives through
autograd, of every order, are those of the backward that the lesson states.
"""

from autograder.exercises.ste_identity import CLIP_GRADIENT, GRADIENT_REVERSAL
from autograder.exercises.ste_quantize import FAKE_QUANTIZE
from autograder.exercises.ste_relaxed import GUMBEL_SOFTMAX
from autograder.exercises.ste_round import ROUND_STE
from autograder.exercises.ste_steps import BINARIZE, SIGN_STE

EXERCISES = (
    SIGN_STE, BINARIZE, ROUND_STE, FAKE_QUANTIZE, GUMBEL_SOFTMAX, GRADIENT_REVERSAL, CLIP_GRADIENT,
)  # fmt: skip
