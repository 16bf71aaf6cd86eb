"""Lesson 01, anatomy of a Function: what its exercises ask."""

from autograder.exercises.template.elementwise import CLIP, MY_RELU, SQUARE
from autograder.exercises.template.numerical_gradient import NUMERICAL_GRADIENT
from autograder.exercises.template.weighted_sum import WEIGHTED_SUM

EXERCISES = (SQUARE, MY_RELU, WEIGHTED_SUM, CLIP, NUMERICAL_GRADIENT)
