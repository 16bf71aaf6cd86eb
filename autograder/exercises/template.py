"""Lesson 01, anatomy of a Function: what its exercises ask."""

from autograder.exercises.beside_numbers import WEIGHTED_SUM
from autograder.exercises.central_differences import NUMERICAL_GRADIENT
from autograder.exercises.clipping import CLIP
from autograder.exercises.first_functions import MY_RELU, SQUARE

EXERCISES = (SQUARE, MY_RELU, WEIGHTED_SUM, CLIP, NUMERICAL_GRADIENT)
