"""Lesson 03, one gradient per input: linear layers, broadcasting and reductions."""

from autograder.exercises.linear.broadcasting import MULTIPLY, UNBROADCAST
from autograder.exercises.linear.linear_layers import LINEAR_RELU, MY_LINEAR
from autograder.exercises.linear.reductions import LOG_SUM_EXP, MAX, MEAN, SUM

EXERCISES = (MY_LINEAR, UNBROADCAST, MULTIPLY, SUM, MEAN, MAX, LOG_SUM_EXP, LINEAR_RELU)
