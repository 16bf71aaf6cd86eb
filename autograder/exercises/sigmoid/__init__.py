"""Lesson 02, save the output, not the input: six activations, element by element."""

from autograder.exercises.sigmoid.log_sigmoid import LOG_SIGMOID
from autograder.exercises.sigmoid.my_gelu import MY_GELU
from autograder.exercises.sigmoid.my_sigmoid import MY_SIGMOID
from autograder.exercises.sigmoid.my_tanh import MY_TANH
from autograder.exercises.sigmoid.scaled_sigmoid import SCALED_SIGMOID
from autograder.exercises.sigmoid.swish import SWISH

EXERCISES = (MY_SIGMOID, MY_TANH, SCALED_SIGMOID, MY_GELU, SWISH, LOG_SIGMOID)
