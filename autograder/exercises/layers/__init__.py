"""Lesson 09, layers you know, from inside: dropout, normalisation and convolution."""

from autograder.exercises.layers.conv1d import CONV1D
from autograder.exercises.layers.dropout import DROPOUT
from autograder.exercises.layers.normalisation import BATCH_NORM, LAYER_NORM

EXERCISES = (DROPOUT, BATCH_NORM, LAYER_NORM, CONV1D)
