"""Lesson 06, trade compute for memory: measuring what is kept, and keeping less of it."""

from autograder.exercises.checkpointing.checkpoint import CHECKPOINT
from autograder.exercises.checkpointing.checkpoint_sequential import CHECKPOINT_SEQUENTIAL
from autograder.exercises.checkpointing.save_in_bfloat16 import SAVE_IN_BFLOAT16
from autograder.exercises.checkpointing.saved_bytes import SAVED_BYTES

EXERCISES = (SAVED_BYTES, CHECKPOINT, CHECKPOINT_SEQUENTIAL, SAVE_IN_BFLOAT16)
