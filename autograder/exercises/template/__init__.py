"""Lesson 01, anatomy of a Function: what its exercises ask."""

from autograder.exercises.template.clip import CLIP
from autograder.exercises.template.my_relu import MY_RELU
from autograder.exercises.template.numerical_gradient import NUMERICAL_GRADIENT
from autograder.exercises.template.square import SQUARE
from autograder.exercises.template.weighted_sum import WEIGHTED_SUM

EXERCISES = (SQUARE, MY_RELU, WEIGHTED_SUM, CLIP, NUMERICAL_GRADIENT)
