"""Lesson 05, gradients of gradients: Functions that can be differentiated again, or say they cannot."""

from autograder.exercises.double_backward.higher_orders import (
    CUBE,
    FIRST_ORDER_ONLY,
    MY_EXP,
    SWISH_TWICE,
)
from autograder.exercises.double_backward.second_passes import GRADIENT_PENALTY, HVP

EXERCISES = (CUBE, MY_EXP, SWISH_TWICE, FIRST_ORDER_ONLY, HVP, GRADIENT_PENALTY)
