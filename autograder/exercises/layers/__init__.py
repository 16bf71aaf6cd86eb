"""Lesson 09, layers you know, from inside: dropout, normalisation and convolution."""

from autograder.exercises.layers.dropout import DROPOUT
from autograder.exercises.layers.learned_layers import BATCH_NORM, CONV1D, LAYER_NORM

EXERCISES = (DROPOUT, BATCH_NORM, LAYER_NORM, CONV1D)
