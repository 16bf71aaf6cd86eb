"""Lesson 07, the challenge: softmax and attention, from whole matrices to tiles."""

from autograder.exercises.attention.flash_attention import FLASH_ATTENTION
from autograder.exercises.attention.lean_attention import LEAN_ATTENTION
from autograder.exercises.attention.scaled_dot_product_attention import SCALED_DOT_PRODUCT_ATTENTION
from autograder.exercises.attention.softmax import SOFTMAX

EXERCISES = (SOFTMAX, SCALED_DOT_PRODUCT_ATTENTION, LEAN_ATTENTION, FLASH_ATTENTION)
