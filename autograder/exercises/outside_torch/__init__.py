"""Lesson 11, what torch cannot differentiate: SciPy's values, solutions of equations, fixed points."""

from autograder.exercises.outside_torch.bessel_j0 import BESSEL_J0
from autograder.exercises.outside_torch.fixed_point import FIXED_POINT
from autograder.exercises.outside_torch.lambert_w import LAMBERT_W
from autograder.exercises.outside_torch.solve import SOLVE

EXERCISES = (BESSEL_J0, LAMBERT_W, SOLVE, FIXED_POINT)
