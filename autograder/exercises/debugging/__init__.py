"""Lesson 10, the clinic: twelve Functions to repair, from one table."""

from autograder.exercises.debugging.clinic import EXERCISES

__all__ = ["EXERCISES"]
