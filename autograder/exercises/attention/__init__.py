"""Lesson 07, the challenge: softmax and attention, from whole matrices to tiles."""

from autograder.exercises.attention.flash_attention import FLASH_ATTENTION
from autograder.exercises.attention.whole_matrices import (
    LEAN_ATTENTION,
    SCALED_DOT_PRODUCT_ATTENTION,
    SOFTMAX,
)

EXERCISES = (SOFTMAX, SCALED_DOT_PRODUCT_ATTENTION, LEAN_ATTENTION, FLASH_ATTENTION)
