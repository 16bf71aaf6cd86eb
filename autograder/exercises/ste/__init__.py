"""Lesson 04, gradients that are not derivatives: straight-through estimators and their relatives.

The references are surrogates: their values are those of the exercise and their derivatives through
autograd, of every order, are those of the backward that the lesson states.
"""

from autograder.exercises.ste.gumbel_softmax import GUMBEL_SOFTMAX
from autograder.exercises.ste.quantisers import FAKE_QUANTIZE, LEARNED_SCALE
from autograder.exercises.ste.straight_through import (
    BINARIZE,
    CLIP_GRADIENT,
    GRADIENT_REVERSAL,
    ROUND_STE,
    SIGN_STE,
)

EXERCISES = (
    ROUND_STE,
    SIGN_STE,
    BINARIZE,
    FAKE_QUANTIZE,
    LEARNED_SCALE,
    GUMBEL_SOFTMAX,
    GRADIENT_REVERSAL,
    CLIP_GRADIENT,
)
