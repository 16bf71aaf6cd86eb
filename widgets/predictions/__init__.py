"""What each lesson asks before it shows: one module a lesson, called like its quiz.

`PREDICTIONS` maps a name, as `predict` and `outcome` are called with, to a question. `SUSPECTS` names
the two answers, out of the exercise's known mistakes, of which one is wrong (see widgets/suspects.py).
"""
