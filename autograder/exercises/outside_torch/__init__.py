"""Lesson 11, what torch cannot differentiate: SciPy's values, solutions of equations, fixed points."""

from autograder.exercises.outside_torch.fixed_point import FIXED_POINT
from autograder.exercises.outside_torch.solve import SOLVE
from autograder.exercises.outside_torch.values_of_scipy import BESSEL_J0, LAMBERT_W

EXERCISES = (BESSEL_J0, LAMBERT_W, SOLVE, FIXED_POINT)
