"""Lesson 07, the challenge: softmax and attention, from whole matrices to tiles."""

from __future__ import annotations

from autograder.exercises.attention_flash import FLASH_ATTENTION
from autograder.exercises.attention_softmax import SOFTMAX
from autograder.exercises.attention_whole import LEAN_ATTENTION, SCALED_DOT_PRODUCT_ATTENTION

EXERCISES = (SOFTMAX, SCALED_DOT_PRODUCT_ATTENTION, LEAN_ATTENTION, FLASH_ATTENTION)
