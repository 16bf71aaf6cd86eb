"""Lesson 03, one gradient per input: linear layers, broadcasting and reductions."""

from autograder.exercises.linear.linear_relu import LINEAR_RELU
from autograder.exercises.linear.log_sum_exp import LOG_SUM_EXP
from autograder.exercises.linear.max import MAX
from autograder.exercises.linear.multiply import MULTIPLY
from autograder.exercises.linear.my_linear import MY_LINEAR
from autograder.exercises.linear.sum_and_mean import MEAN, SUM
from autograder.exercises.linear.unbroadcast import UNBROADCAST

EXERCISES = (MY_LINEAR, UNBROADCAST, MULTIPLY, SUM, MEAN, MAX, LOG_SUM_EXP, LINEAR_RELU)
