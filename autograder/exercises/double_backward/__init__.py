"""Lesson 05, gradients of gradients: Functions that can be differentiated again, or say they cannot."""

from autograder.exercises.double_backward.first_order_only import FIRST_ORDER_ONLY
from autograder.exercises.double_backward.gradient_penalty import GRADIENT_PENALTY
from autograder.exercises.double_backward.higher_orders import CUBE, MY_EXP
from autograder.exercises.double_backward.hvp import HVP
from autograder.exercises.double_backward.swish_twice import SWISH_TWICE

EXERCISES = (CUBE, MY_EXP, SWISH_TWICE, FIRST_ORDER_ONLY, HVP, GRADIENT_PENALTY)
