"""Lesson 08, derivatives of other shapes: products, norms, ties, rows by index, pairs."""

from autograder.exercises.patterns.along_a_dimension import AMAX, NORM, PROD
from autograder.exercises.patterns.rows import EMBEDDING, SOFT_RANK

EXERCISES = (PROD, NORM, AMAX, EMBEDDING, SOFT_RANK)
