"""Lesson 12, in the real stack: torch.func, custom operators, kernels in Triton."""

from autograder.exercises.modern.operators import DUAL_SWISH, SINC_OP
from autograder.exercises.modern.triton_attention import TRITON_ATTENTION
from autograder.exercises.modern.triton_softmax import TRITON_SOFTMAX

EXERCISES = (DUAL_SWISH, SINC_OP, TRITON_SOFTMAX, TRITON_ATTENTION)
